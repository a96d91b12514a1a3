#include "view/frame/ui.h"

#include <math.h>

#include "viz/scene/distinct_texts.h"
#include "viz/scene/heading.h"

enum { BAR_WIDTH = 8 };

/* ---- boxes ------------------------------------------------------------------------------- */

/* Define the functions that cut a box off at its beginning, and at its end. */
#define CUT_BEGIN(name, at, size)          \
    mv_box name(mv_box *box, float size)   \
    {                                      \
        mv_box cut = *box;                 \
        cut.size = fminf(size, box->size); \
        box->at += cut.size;               \
        box->size -= cut.size;             \
        return cut;                        \
    }
#define CUT_END(name, at, size)            \
    mv_box name(mv_box *box, float size)   \
    {                                      \
        mv_box cut = *box;                 \
        cut.size = fminf(size, box->size); \
        box->size -= cut.size;             \
        cut.at = box->at + box->size;      \
        return cut;                        \
    }
CUT_BEGIN(mv_box_cut_top, y, h)
CUT_END(mv_box_cut_bottom, y, h)
CUT_BEGIN(mv_box_cut_left, x, w)
CUT_END(mv_box_cut_right, x, w)

/* ---- zones ------------------------------------------------------------------------------- */

bool mv_ui_is_hot(const mv_ui *ui, mv_box box)
{
    return mv_box_has(box, ui->pointer_x, ui->pointer_y);
}

void mv_ui_zone(mv_ui *ui, mv_box box, mv_command_id command, uint64_t arg, const char *tip)
{
    if (ui->zone_count == ui->zone_capacity) {
        uint32_t capacity = ui->zone_capacity ? ui->zone_capacity * 2 : 256;
        mv_zone *zones = mv_push_array(ui->frame, mv_zone, capacity);
        if (!zones)
            return;
        if (ui->zone_count)
            memcpy(zones, ui->zones, ui->zone_count * sizeof *zones);
        ui->zones = zones;
        ui->zone_capacity = capacity;
    }
    ui->zones[ui->zone_count++] = (mv_zone){box, command, arg, tip};
}

void mv_ui_list(mv_ui *ui, mv_command_id command, uint32_t count, uint32_t shown)
{
    if (ui->list_count < MV_UI_LISTS)
        ui->lists[ui->list_count++] = (mv_row_list){command, count, shown};
}

const mv_zone *mv_ui_zone_at(const mv_ui *ui, float x, float y)
{
    for (uint32_t i = ui->zone_count; i > 0; i--)
        if (mv_box_has(ui->zones[i - 1].box, x, y))
            return &ui->zones[i - 1];
    return NULL;
}

/* ---- shapes ------------------------------------------------------------------------------ */

float mv_ui_px(const mv_ui *ui, float length)
{
    return roundf(length * ui->scale);
}

void mv_ui_fill(mv_ui *ui, mv_box box, uint32_t colour)
{
    mv_scene_point(&ui->scene, roundf(box.x), roundf(box.y));
    mv_scene_point(&ui->scene, roundf(box.x + box.w), roundf(box.y + box.h));
    mv_scene_add(&ui->scene, (mv_shape){.kind = MV_SHAPE_RECTS, .is_crisp = true, .fill = colour});
}

void mv_ui_frame(mv_ui *ui, mv_box box, uint32_t colour)
{
    float x0 = roundf(box.x), y0 = roundf(box.y), x1 = roundf(box.x + box.w),
          y1 = roundf(box.y + box.h);
    float edges[4][4] = {{x0, y0, x1, y0 + 1},
                         {x0, y1 - 1, x1, y1},
                         {x0, y0 + 1, x0 + 1, y1 - 1},
                         {x1 - 1, y0 + 1, x1, y1 - 1}};

    for (int i = 0; i < 4; i++) {
        mv_scene_point(&ui->scene, edges[i][0], edges[i][1]);
        mv_scene_point(&ui->scene, edges[i][2], edges[i][3]);
    }
    mv_scene_add(&ui->scene, (mv_shape){.kind = MV_SHAPE_RECTS, .is_crisp = true, .fill = colour});
}

/* Paints a light mark with a dark edge, or a dark mark with a light edge, so that the mark is
 * visible on any colour. */
void mv_ui_mark(mv_ui *ui, mv_box box)
{
    mv_ui_frame(ui, box, ui->theme->outline);
    box = (mv_box){box.x + 1, box.y + 1, box.w - 2, box.h - 2};
    mv_ui_frame(ui, box, ui->theme->outline);
    box = (mv_box){box.x + 1, box.y + 1, box.w - 2, box.h - 2};
    mv_ui_frame(ui, box, ui->theme->background);
}

/* ---- text -------------------------------------------------------------------------------- */

float mv_ui_text_width(const mv_ui *ui, float size, const char *text)
{
    return mv_text_width(text, size * ui->scale);
}

const char *mv_ui_longest(const mv_ui *ui, float size, float width, const char *const *texts,
                          uint32_t count)
{
    uint32_t i = 0;

    while (i + 1 < count && mv_ui_text_width(ui, size, texts[i]) > width)
        i++;
    return texts[i];
}

float mv_ui_text(mv_ui *ui, mv_box box, float size, uint32_t colour, mv_anchor anchor,
                 const char *text)
{
    float pixels = size * ui->scale, width, x = box.x,
          y = roundf(box.y + box.h / 2 + pixels * 0.36f);

    text = mv_text_fit(&ui->scene, text, pixels, box.w);
    if (!*text)
        return 0;
    width = mv_text_width(text, pixels);
    if (anchor == MV_ANCHOR_MIDDLE)
        x = box.x + box.w / 2;
    else if (anchor == MV_ANCHOR_END)
        x = box.x + box.w;
    mv_scene_text(&ui->scene, roundf(x), y, pixels, colour, anchor, text);
    return width;
}

/* ---- lines ------------------------------------------------------------------------------- */

static float line_size(const mv_ui *ui, const mv_ui_lines *l)
{
    return l->size * ui->scale * (l->is_bold ? 1.1f : 1); /* bold letters are wider */
}

/* Returns the number of bytes of `text` that fit on a line. They end at a gap or at the end of the
 * text, and contain at least the first part. */
static size_t fitting(mv_ui *ui, const mv_ui_lines *l, float width, const char *text)
{
    const char *end = strstr(text, l->gap);
    size_t kept = end ? (size_t)(end - text) : strlen(text);

    while (end) {
        const char *next = strstr(end + strlen(l->gap), l->gap);
        size_t more = next ? (size_t)(next - text) : strlen(text);
        const char *longer = mv_scene_format(&ui->scene, "%.*s", (int)more, text);
        if (mv_text_width(longer, line_size(ui, l)) > width)
            break;
        kept = more;
        end = next;
    }
    return kept;
}

static void paint_line(mv_ui *ui, mv_box box, const mv_ui_lines *l, const char *text)
{
    float pixels = l->size * ui->scale;

    mv_scene_point(&ui->scene, roundf(box.x), roundf(box.y + box.h / 2 + pixels * 0.36f));
    mv_scene_add(&ui->scene,
                 (mv_shape){.kind = MV_SHAPE_TEXT,
                            .is_bold = l->is_bold,
                            .fill = l->colour,
                            .width = pixels,
                            .text = mv_text_fit(&ui->scene, text, line_size(ui, l), box.w)});
}

/* Returns the number of bytes of the next line, of which there are at most `left` more, and moves
 * *text to the line after it. */
static size_t next_line(mv_ui *ui, const mv_ui_lines *l, float width, uint32_t left,
                        const char **text)
{
    size_t bytes = left == 1 ? strlen(*text) : fitting(ui, l, width, *text);

    *text += bytes;
    if (strncmp(*text, l->gap, strlen(l->gap)) == 0)
        *text += strlen(l->gap);
    return bytes;
}

uint32_t mv_ui_line_count(mv_ui *ui, float width, const mv_ui_lines *l, const char *text)
{
    uint32_t count = 0;

    for (; count < l->most && *text; count++)
        next_line(ui, l, width, l->most - count, &text);
    return count;
}

mv_box mv_ui_paragraph(mv_ui *ui, mv_box box, const mv_ui_lines *l, const char *text)
{
    for (uint32_t i = 0; i < l->most && *text; i++) {
        const char *line = text;
        size_t bytes = next_line(ui, l, box.w, l->most - i, &text);
        paint_line(ui, mv_box_cut_top(&box, mv_ui_px(ui, l->line)), l,
                   mv_scene_format(&ui->scene, "%.*s", (int)bytes, line));
    }
    return box;
}

const char *mv_ui_broken(mv_ui *ui, const char *text, uint32_t letters)
{
    char *copy = mv_arena_text(ui->frame, text, strlen(text)), *blank = NULL;
    uint32_t count = 0;

    for (char *at = copy; at && *at; at++) {
        count += ((uint8_t)*at & 0xc0) != 0x80;
        if (count > letters && blank) {
            *blank = '\n';
            count = (uint32_t)(at - blank);
            blank = NULL;
        }
        if (*at == ' ')
            blank = at;
        if (*at == '\n') {
            count = 0;
            blank = NULL;
        }
    }
    return copy ? copy : "";
}

/* ---- parts ------------------------------------------------------------------------------- */

void mv_ui_button(mv_ui *ui, mv_box box, bool is_on, mv_command_id command, uint64_t arg,
                  const char *text)
{
    const mv_theme *theme = ui->theme;
    uint32_t fill = is_on ? mv_site_colour(0) : mv_ui_is_hot(ui, box) ? theme->grid : 0;
    float pad = fminf(mv_ui_px(ui, MV_UI_PAD), box.w / 4);
    mv_box inner = {box.x + pad, box.y, box.w - 2 * pad, box.h};

    if (ui->has_no_buttons) {
        if (is_on)
            mv_ui_text(ui, inner, MV_UI_TEXT, theme->text, MV_ANCHOR_MIDDLE, text);
        return;
    }
    if (fill)
        mv_ui_fill(ui, box, fill);
    mv_ui_text(ui, inner, MV_UI_TEXT, is_on ? mv_text_on(fill) : theme->text, MV_ANCHOR_MIDDLE,
               text);
    mv_ui_zone(ui, box, command, arg, NULL);
}

void mv_ui_scroll(mv_ui *ui, mv_box box, uint32_t rows, uint32_t shown, uint32_t *first)
{
    uint32_t most = rows > shown ? rows - shown : 0;
    mv_box bar = mv_box_cut_right(&box, mv_ui_px(ui, BAR_WIDTH)), thumb = bar;

    if (*first > most)
        *first = most;
    if (most == 0)
        return;
    thumb.h = fmaxf(bar.h * (float)((double)shown / rows), fminf(bar.h, mv_ui_px(ui, 16)));
    thumb.y = bar.y + (bar.h - thumb.h) * (float)((double)*first / most);
    mv_ui_fill(ui, bar, ui->theme->plot);
    mv_ui_fill(ui, thumb, mv_ui_is_hot(ui, bar) ? ui->theme->faint_text : ui->theme->grid);
}
