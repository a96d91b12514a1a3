#include <ctype.h>
#include <stdlib.h>

#include "base/sort.h"
#include "view/chrome/chrome.h"

enum { ROW = 22 };

/* "go to event 1200": the words, and the number after them. */
typedef struct {
    char words[MV_FIELD_TEXT];
    bool has_number;
    uint64_t number;
} query;

typedef struct {
    mv_command_id id;
    int score; /* higher: better */
} hit;

/* How well `text` contains the letters of `words` in this order; -1: not at all. Beginnings of
 * words and adjacent letters count more. */
static int match(const char *words, const char *text)
{
    int score = 0, run = 0;
    const char *start = text;

    for (; *words; words++) {
        if (*words == ' ')
            continue;
        while (*text && tolower((unsigned char)*text) != tolower((unsigned char)*words)) {
            text++;
            run = 0;
        }
        if (!*text)
            return -1;
        run++;
        score += run + (text == start || text[-1] == ' ' || text[-1] == '_' ? 8 : 0);
        text++;
    }
    return score;
}

static query read_query(const mv_view *view)
{
    query q = {0};
    size_t length;

    memcpy(q.words, view->chrome->palette.text, sizeof q.words);
    length = strlen(q.words);
    while (length > 0 && isdigit((unsigned char)q.words[length - 1]))
        length--;
    q.has_number = q.words[length] != '\0';
    q.number = strtoull(q.words + length, NULL, 10);
    q.words[length] = '\0';
    return q;
}

/* Whether it is useless without a number: such commands have no key, either. */
static bool needs_number(const mv_view_command *command)
{
    return !*command->keys && strchr(command->help, ';');
}

/* Best first: commands that can run now come before the others. */
static uint32_t find(const mv_view *view, const query *q, hit hits[MV_DO_COUNT])
{
    const char *words = q->words;
    uint32_t count = 0;

    for (int i = MV_DO_NOTHING + 1; i < MV_DO_COUNT; i++) {
        const mv_view_command *command = &mv_view_commands[i];
        int title = match(words, command->title), name = match(words, command->name);
        if (needs_number(command) != q->has_number || (title < 0 && name < 0) || i == MV_DO_palette)
            continue;
        hits[count].id = (mv_command_id)i;
        hits[count].score = (title > name ? title : name) +
                            (mv_view_command_is_enabled(view, (mv_command_id)i) ? 1000 : 0);
        count++;
    }
    mv_sort_rows(NULL, hits, count, MV_FALLING(hit, score)); /* ties: in table order */
    return count;
}

mv_command_id mv_command_list_chosen(const mv_view *view, uint64_t *arg, uint32_t *count)
{
    hit hits[MV_DO_COUNT];
    query q = read_query(view);

    *count = find(view, &q, hits);
    *arg = q.number;
    return view->chrome->row < *count ? hits[view->chrome->row].id : MV_DO_NOTHING;
}

static void paint_row(mv_view *view, mv_box box, mv_command_id id, uint64_t arg, bool is_chosen)
{
    mv_ui *ui = &view->ui;
    const mv_view_command *command = &mv_view_commands[id];
    const char *lack = mv_view_command_unavailable_reason(view, id);
    mv_box keys, title;

    if (is_chosen || mv_ui_is_hot(ui, box))
        mv_ui_fill(ui, box, is_chosen ? ui->theme->grid : ui->theme->plot);
    mv_ui_zone(ui, box, id, arg, "");
    mv_box_cut_left(&box, mv_ui_px(ui, 8));
    keys = mv_box_cut_right(&box, mv_ui_px(ui, 130));
    mv_box_cut_right(&keys, mv_ui_px(ui, 8));
    title = mv_box_cut_left(&box, mv_ui_px(ui, 190));
    mv_ui_text(ui, title, MV_UI_TEXT, lack ? ui->theme->faint_text : ui->theme->text,
               MV_ANCHOR_START, command->title);
    mv_ui_text(ui, box, MV_UI_TEXT, ui->theme->faint_text, MV_ANCHOR_START,
               lack ? mv_scene_format(&ui->scene, "not now: %s", lack) : command->help);
    mv_ui_text(ui, keys, MV_UI_TEXT, ui->theme->faint_text, MV_ANCHOR_END,
               view->keymap.keys[command - mv_view_commands]);
}

void mv_command_list_paint(mv_view *view, mv_box box)
{
    mv_ui *ui = &view->ui;
    mv_chrome *c = view->chrome;
    hit hits[MV_DO_COUNT];
    query q = read_query(view);
    uint32_t count = find(view, &q, hits), shown;
    float row = mv_ui_px(ui, ROW);
    mv_box sheet = mv_chrome_sheet(view, box, 1100, 60 + 34 + MV_COMMANDS_SHOWN * ROW, "Commands");

    mv_field_paint(ui, mv_box_cut_top(&sheet, mv_ui_px(ui, 26)), &c->palette, true, "");
    mv_box_cut_top(&sheet, mv_ui_px(ui, 6));
    shown = (uint32_t)(sheet.h / row);
    mv_chrome_list_follow(view, count, shown);
    mv_ui_scroll(ui, sheet, count, shown, &c->first);
    mv_box_cut_right(&sheet, mv_ui_px(ui, 12));
    for (uint32_t i = c->first; i < count && i < c->first + shown; i++)
        paint_row(view, mv_box_cut_top(&sheet, row), hits[i].id, q.number, i == c->row);
    if (count == 0)
        mv_ui_text(ui, mv_box_cut_top(&sheet, row), MV_UI_TEXT, ui->theme->faint_text,
                   MV_ANCHOR_START, "no command matches");
}
