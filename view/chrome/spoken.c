#include "view/chrome/spoken.h"

#include "view/panes/panes.h"

enum { MOST_WORDS = 24, MOST_TEXT = 600 };

typedef struct {
    float x, y;   /* position of its first letter */
    bool is_over; /* whether it belongs to the overlay */
    const char *text;
} word;

/* All strings of a frame. */
typedef struct {
    mv_view *view;
    uint32_t count;
    word *words;
} spoken;

/* ---- the strings in a box ---------------------------------------------------------------- */

static bool find_words(spoken *s)
{
    const mv_scene *scene = &s->view->ui.scene;

    s->words = mv_push_array(s->view->ui.frame, word, (uint64_t)scene->shape_count + 1);
    for (uint32_t i = 0; s->words && i < scene->shape_count; i++)
        if (scene->shapes[i].kind == MV_SHAPE_TEXT && *scene->shapes[i].text) {
            const mv_shape *shape = &scene->shapes[i];
            mv_point at = scene->points[shape->first];
            float width = mv_text_width(shape->text, shape->width);
            if (shape->anchor == MV_ANCHOR_END)
                at.x -= width;
            else if (shape->anchor == MV_ANCHOR_MIDDLE)
                at.x -= width / 2;
            s->words[s->count] = (word){.x = at.x, .y = at.y, .text = shape->text};
            s->words[s->count++].is_over = i >= s->view->chrome->overlay_shape;
        }
    return s->words;
}

static bool is_before(const word *a, const word *b)
{
    return a->y < b->y - 2 || (a->y < b->y + 2 && a->x < b->x);
}

/* Finds the strings of the overlay, or of the panes that it covers, in reading order. Returns at
 * most MOST_WORDS. */
static uint32_t words_in(const spoken *s, mv_box box, bool is_over, word words[MOST_WORDS])
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < s->count && count < MOST_WORDS; i++) {
        uint32_t at = count;
        if (s->words[i].is_over != is_over || !mv_box_has(box, s->words[i].x, s->words[i].y))
            continue;
        for (; at > 0 && is_before(&s->words[i], &words[at - 1]); at--)
            words[at] = words[at - 1];
        words[at] = s->words[i];
        count++;
    }
    return count;
}

/* Returns a string such as "train.py:62 forward, 24.0 MiB"; "" for a box without text. */
static const char *text_in(const spoken *s, mv_box box, bool is_over, char text[MOST_TEXT])
{
    word words[MOST_WORDS];
    uint32_t count = words_in(s, box, is_over, words);

    *text = '\0';
    for (uint32_t i = 0; i < count; i++)
        mv_text_append(text, MOST_TEXT, "%s%s", i ? ", " : "", words[i].text);
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
    return text;
}

/* ---- parts ------------------------------------------------------------------------------- */

static const char *group_of(const mv_view *view, const mv_zone *zone)
{
    const mv_view_layout *l = &view->chrome->layout;
    float x = zone->box.x + 1, y = zone->box.y + zone->box.h / 2;

    if (zone->command == MV_DO_legend_row)
        return "legend";
    if (zone->command == MV_DO_table_sort)
        return "heading";
    if (mv_box_has(l->toolbar, x, y))
        return "toolbar";
    if (mv_box_has(l->tabs, x, y))
        return "tab";
    return mv_box_has(l->lower, x, y) ? "row" : "picture";
}

static bool is_chosen(const mv_view *view, const mv_zone *zone)
{
    static const mv_command_id mains[MV_MAIN_COUNT] = {[MV_MAIN_TIMELINE] = MV_DO_show_timeline,
                                                       [MV_MAIN_SEGMENTS] = MV_DO_show_segments,
                                                       [MV_MAIN_STATE] = MV_DO_show_state,
                                                       [MV_MAIN_POOLS] = MV_DO_show_pools,
                                                       [MV_MAIN_RANKS] = MV_DO_show_ranks};
    static const mv_command_id tabs[MV_TAB_COUNT] = {
        [MV_TAB_FLAME] = MV_DO_show_flame,     [MV_TAB_TABLES] = MV_DO_show_tables,
        [MV_TAB_DETAILS] = MV_DO_show_details, [MV_TAB_REPORTS] = MV_DO_show_reports,
        [MV_TAB_WHATIF] = MV_DO_show_whatif,   [MV_TAB_LEDGER] = MV_DO_show_ledger};
    const mv_view_state *now = view->now;

    if (zone->command == mains[now->main] || zone->command == tabs[now->tab])
        return true;
    switch (zone->command) {
    case MV_DO_whatif_toggle:
        return mv_whatif_has(now->whatif, mv_whatif_item(view, zone->arg));
    case MV_DO_report_row:
        return zone->arg == now->report_row;
    case MV_DO_table_kind:
        return zone->arg == now->table_kind;
    case MV_DO_flame_source:
        return zone->arg == now->flame_source;
    default:
        return false;
    }
}

/* Returns the line of a zone; NULL if the zone does nothing or is covered, or if memory ran out. */
static char *line_of(const spoken *s, const mv_zone *zone)
{
    mv_view *view = s->view;
    float x = zone->box.x + zone->box.w / 2, y = zone->box.y + zone->box.h / 2;
    char text[MOST_TEXT];

    if (zone->command == MV_DO_NOTHING || mv_ui_zone_at(&view->ui, x, y) != zone)
        return NULL;
    if (!*text_in(s, zone->box, zone >= view->ui.zones + view->chrome->overlay_zone, text))
        mv_text_append(text, sizeof text, "%s", mv_view_commands[zone->command].title);
    return mv_arena_printf(view->ui.frame, "%s\t%d\t%.0f\t%.0f\t%s\n", group_of(view, zone),
                           is_chosen(view, zone), (double)x, (double)y, text);
}

/* Returns the text that is read aloud whenever it changes, which is the event at the cursor or the
 * step of the tour. */
static const char *status_in(const spoken *s, char text[MOST_TEXT])
{
    const mv_chrome *c = s->view->chrome;
    bool is_tour = s->view->desk->tour > 0;

    return text_in(s, is_tour ? c->tour_box : c->layout.status, is_tour, text);
}

const char *mv_view_spoken(mv_view *view)
{
    uint32_t count = view->ui.zone_count;
    char **lines = mv_push_array(view->ui.frame, char *, (uint64_t)count + 1), *all, *at;
    spoken s = {.view = view};
    char text[MOST_TEXT];
    uint64_t bytes = 1;

    if (!mv_view_device(view) || !lines || !find_words(&s))
        return "";
    for (uint32_t i = 0; i < count; i++)
        lines[i] = line_of(&s, &view->ui.zones[i]);
    lines[count] = mv_arena_printf(view->ui.frame, "status\t0\t0\t0\t%s\n", status_in(&s, text));
    for (uint32_t i = 0; i <= count; i++)
        bytes += lines[i] ? strlen(lines[i]) : 0;
    all = at = mv_arena_push(view->ui.frame, bytes, 1);
    if (!all)
        return "";
    for (uint32_t i = 0; i <= count; i++) {
        size_t length = lines[i] ? strlen(lines[i]) : 0;
        if (length)
            memcpy(at, lines[i], length);
        at += length;
    }
    *at = '\0';
    return all;
}
