/* The lines above a pane on paper. Lines are broken between figures, or between words. */
#include <math.h>
#include <string.h>

#include "view/paper/paper.h"

enum {
    MARGIN = 20,
    TITLE = 17,
    TITLE_LINE = 28,
    TEXT = 13,
    LINE = 20,
    BELOW = 4,
    VERDICT_LINES = 2
};

typedef struct {
    mv_ui *ui;
    mv_box rest; /* below what is painted */
} page;

static void line(page *p, float size, float high, uint32_t colour, bool is_bold, const char *text)
{
    float pixels = size * p->ui->scale;
    mv_box box = mv_box_cut_top(&p->rest, mv_ui_px(p->ui, high));
    mv_scene *scene = &p->ui->scene;

    mv_scene_point(scene, box.x, roundf(box.y + box.h / 2 + pixels * 0.36f));
    mv_scene_add(
        scene, (mv_shape){.kind = MV_SHAPE_TEXT,
                          .is_bold = is_bold,
                          .fill = colour,
                          .width = pixels,
                          .text = mv_text_fit(scene, text, pixels * (is_bold ? 1.1f : 1), box.w)});
}

static float width_of(const page *p, const char *text, bool is_bold)
{
    return mv_ui_text_width(p->ui, TEXT * (is_bold ? 1.1f : 1), text);
}

/* Bytes of `text` that fit a line: to the end, or to before a break, which is `gap`; at least the
 * part before the first. */
static size_t fitting(page *p, const char *text, const char *gap, bool is_bold)
{
    const char *end = strstr(text, gap);
    size_t kept = end ? (size_t)(end - text) : strlen(text);

    while (end) {
        const char *next = strstr(end + strlen(gap), gap);
        size_t more = next ? (size_t)(next - text) : strlen(text);
        if (width_of(p, mv_scene_format(&p->ui->scene, "%.*s", (int)more, text), is_bold) >
            p->rest.w)
            break;
        kept = more;
        end = next;
    }
    return kept;
}

/* At most `most` lines; the last has what is left, cut with an ellipsis. */
static void paragraph(page *p, const char *text, const char *gap, uint32_t most, uint32_t colour,
                      bool is_bold)
{
    for (uint32_t i = 0; i < most && *text; i++) {
        size_t bytes = i + 1 == most ? strlen(text) : fitting(p, text, gap, is_bold);
        line(p, TEXT, LINE, colour, is_bold,
             mv_scene_format(&p->ui->scene, "%.*s", (int)bytes, text));
        text += bytes;
        if (strncmp(text, gap, strlen(gap)) == 0)
            text += strlen(gap);
    }
}

void mv_paper_heading_add(mv_paper_heading *heading, const char *figure)
{
    if (*figure && heading->figure_count < MV_PAPER_FIGURES)
        heading->figure[heading->figure_count++] = figure;
}

static void figures(page *p, const mv_paper_heading *heading)
{
    static const char gap[] = " \xc2\xb7 ";
    const char *text = "";

    for (uint32_t i = 0; i < heading->figure_count; i++)
        text = mv_scene_format(&p->ui->scene, "%s%s%s", text, i ? gap : "", heading->figure[i]);
    paragraph(p, text, gap, MV_PAPER_FIGURES, p->ui->theme->faint_text, false);
}

mv_box mv_paper_heading_paint(mv_ui *ui, mv_box paper, const mv_paper_heading *heading)
{
    float margin = mv_ui_px(ui, MARGIN);
    page p = {ui, paper};

    mv_box_cut_left(&p.rest, margin);
    mv_box_cut_right(&p.rest, margin);
    mv_box_cut_top(&p.rest, mv_ui_px(ui, MARGIN - TITLE_LINE / 2));
    mv_box_cut_bottom(&p.rest, mv_ui_px(ui, MARGIN / 2));
    line(&p, TITLE, TITLE_LINE, ui->theme->text, true, heading->title);
    figures(&p, heading);
    if (heading->part)
        paragraph(&p, heading->part, " ", VERDICT_LINES, ui->theme->text, true);
    for (uint32_t i = 0; i < heading->verdict_count; i++)
        paragraph(&p, heading->verdict[i].text, " ", VERDICT_LINES,
                  heading->verdict[i].is_alarm ? ui->theme->alarm : ui->theme->text,
                  heading->verdict[i].is_alarm);
    mv_box_cut_top(&p.rest, mv_ui_px(ui, BELOW));
    return p.rest;
}
