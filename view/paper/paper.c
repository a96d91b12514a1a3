#include "view/paper/paper.h"

#include <math.h>

#include "view/intents/intents.h"

enum {
    HOVER_BYTES = 1400000,
    MARGIN = 20 /* space below the last shape of a cropped picture */
};

/* Returns the scale of text and padding. The scale suits a screen of that size, like a window's,
 * but is always an integer, so that lines stay sharp. */
static float scale_of(const mv_scene *scene, bool has_height)
{
    float x = scene->width / MV_PAPER_WIDTH, y = has_height ? scene->height / MV_PAPER_HEIGHT : 1;

    return fmaxf(1, floorf(fminf(x, y)));
}

/* ---- the view ---------------------------------------------------------------------------- */

static bool has_document(mv_view *view, const mv_trace *trace, const mv_lives *lives)
{
    mv_document *document = mv_loader_borrow(view->loader, view->sheet->opts.title, trace, lives);

    if (!document)
        return false;
    view->documents[view->document_count++] = document;
    mv_view_begin_paper(view);
    return mv_view_device(view) != NULL;
}

/* ---- the scene --------------------------------------------------------------------------- */

/* Copies a string from the frame, whose memory is released when the view is closed. */
static const char *keep(mv_scene *scene, const char *text)
{
    const char *copy = text ? mv_arena_text(scene->arena, text, strlen(text)) : NULL;

    scene->failed = scene->failed || (text && !copy);
    return copy;
}

static void copy_scene(const mv_scene *frame, mv_scene *out)
{
    for (uint32_t i = 0; i < frame->shape_count && !out->failed; i++) {
        mv_shape shape = frame->shapes[i];
        for (uint32_t k = 0; k < shape.count; k++)
            mv_scene_point(out, frame->points[shape.first + k].x, frame->points[shape.first + k].y);
        shape.text = keep(out, shape.text);
        shape.title = keep(out, shape.title);
        mv_scene_add(out, shape);
    }
    out->failed = out->failed || frame->failed;
}

/* Cuts off the space below the last shape. */
static void crop(mv_scene *scene)
{
    float bottom = MV_PAPER_LEAST_HEIGHT;

    for (uint32_t i = 0; i < scene->point_count; i++)
        bottom = fmaxf(bottom, scene->points[i].y + MARGIN);
    scene->height = fminf(scene->height, ceilf(bottom));
    scene->shown_height = fminf(scene->shown_height, scene->height);
}

static void paint(mv_view *view, const mv_paper_kind *kind, mv_scene *out)
{
    mv_ui *ui = &view->ui;
    mv_paper_heading heading = {.title = view->sheet->opts.title};
    mv_box box;

    mv_view_frame_begin(view, out->width, out->height, 0);
    kind->describe(view, &heading);
    box = mv_paper_heading_paint(ui, (mv_box){0, 0, out->width, out->height}, &heading);
    if (box.w >= 1 && box.h >= 1)
        kind->paint(view, box);
    copy_scene(&ui->scene, out);
    if (kind->is_cropped && view->sheet->opts.height == 0)
        crop(out);
    out->failed = out->failed || ui->ran_out_of_memory;
}

mv_code mv_paper_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                      const mv_paper_kind *kind, const mv_paper_opts *opts, mv_paper *out,
                      mv_err *err)
{
    mv_paper_sheet sheet = {.opts = *opts, .hover_bytes = HOVER_BYTES};
    uint32_t height = kind->height ? kind->height(opts) : MV_PAPER_HEIGHT;
    mv_view *view;

    if (lives && (sheet.opts.window.end == 0 || sheet.opts.window.end > lives->events.count))
        sheet.opts.window.end = lives->events.count;

    *out = (mv_paper){0};
    mv_scene_init_shown(&out->scene, arena, opts->width ? opts->width : MV_PAPER_WIDTH,
                        opts->height ? opts->height : height, MV_PAPER_LEAST_WIDTH,
                        MV_PAPER_LEAST_HEIGHT, mv_theme_of(opts->is_dark)->background);
    view = mv_view_open(arena->budget,
                        &(mv_view_opts){.is_dark = opts->is_dark,
                                        .scale = scale_of(&out->scene, opts->height > 0)});
    out->scene.failed = !view;
    if (view) {
        view->sheet = &sheet;
        sheet.main = kind->main;
        sheet.is_of_moment = kind->is_of_moment;
        out->scene.failed = trace && !has_document(view, trace, lives);
        if (!out->scene.failed)
            paint(view, kind, &out->scene);
        mv_view_close(view);
    }
    if (out->scene.failed)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    out->events = sheet.events;
    out->matches = sheet.matches;
    out->drawn = sheet.drawn;
    return MV_OK;
}
