/* The lines above a pane in a printed picture. They are broken between figures or between words. */
#include "view/paper/paper.h"

enum { MARGIN = 20, TITLE = 17, TITLE_LINE = 28, TEXT = 13, LINE = 20, BELOW = 6 };

static const char between[] = " \xc2\xb7 ";

void mv_paper_heading_add(mv_paper_heading *heading, const char *figure)
{
    if (*figure && heading->figure_count < MV_PAPER_FIGURES)
        heading->figure[heading->figure_count++] = figure;
}

static const char *join(mv_scene *scene, const mv_paper_heading *heading)
{
    const char *text = "";

    for (uint32_t i = 0; i < heading->figure_count; i++)
        text = mv_scene_format(scene, "%s%s%s", text, i ? between : "", heading->figure[i]);
    return text;
}

mv_box mv_paper_heading_paint(mv_ui *ui, mv_box paper, const mv_paper_heading *heading)
{
    const mv_theme *theme = ui->theme;
    float margin = mv_ui_px(ui, MARGIN);
    mv_ui_lines title = {TITLE, TITLE_LINE, theme->text, true, 1, " "};
    mv_ui_lines figures = {TEXT, LINE, theme->faint_text, false, MV_PAPER_FIGURES, between};
    mv_ui_lines part = {TEXT, LINE, theme->text, true, 2, " "};

    mv_box_cut_left(&paper, margin);
    mv_box_cut_right(&paper, margin);
    mv_box_cut_top(&paper, mv_ui_px(ui, MARGIN) - mv_ui_px(ui, TITLE_LINE) / 2);
    mv_box_cut_bottom(&paper, margin / 2);
    paper = mv_ui_paragraph(ui, paper, &title, heading->title);
    paper = mv_ui_paragraph(ui, paper, &figures, join(&ui->scene, heading));
    if (heading->part)
        paper = mv_ui_paragraph(ui, paper, &part, heading->part);
    for (uint32_t i = 0; i < heading->verdict_count; i++) {
        bool is_alarm = heading->verdict[i].is_alarm;
        mv_ui_lines verdict = {TEXT, LINE, is_alarm ? theme->alarm : theme->text, is_alarm, 2, " "};
        paper = mv_ui_paragraph(ui, paper, &verdict, heading->verdict[i].text);
    }
    mv_box_cut_top(&paper, mv_ui_px(ui, BELOW));
    return paper;
}
