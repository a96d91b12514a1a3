/* memviz trace_plot: the memory timeline as a picture. */
#include <stdio.h>

#include "analyze/leaks.h"
#include "cli/complain.h"
#include "cli/input.h"
#include "cli/report.h"
#include "cli/window.h"
#include "viz/timeline.h"

typedef struct {
    mv_cli *cli;
    const mv_trace *trace;
    uint32_t first, end; /* devices */
    mv_scene scene;      /* one panel a device, one below the other */
    uint64_t events, drawn;
    bool drew; /* at least one panel */
} plot;

/* ---- where to ---------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);

    return length > tail && strcmp(text + length - tail, ending) == 0;
}

/* The picture's path; NULL, with a message, when the usage is wrong. */
static const char *choose_path(mv_cli *cli)
{
    const char *path = cli->options.output, *file = mv_input_name(cli);
    char *named;
    size_t size;

    if (path && strcmp(path, "-") == 0 && !mv_option_given(&cli->options, MV_HAS(JSON)))
        return path;
    if (path && !ends_with(path, ".svg")) {
        mv_complain_usage("trace_plot", "%s: only .svg is written", path);
        return NULL;
    }
    if (path)
        return path;
    if (strcmp(file, "-") == 0) {
        mv_complain_usage("trace_plot", "standard input has no name: say where with -o X.svg");
        return NULL;
    }
    size = strlen(file) + sizeof ".svg";
    named = mv_arena_push(&cli->arena, size, 1);
    if (!named) {
        mv_complain_of(file, "%s", mv_code_text(MV_NOMEM));
        return NULL;
    }
    snprintf(named, size, "%s.svg", file);
    return named;
}

/* ---- panels ------------------------------------------------------------------------------ */

static const char *title_of(const plot *p)
{
    const char *file = mv_input_name(p->cli), *slash = strrchr(file, '/');

    if (strcmp(file, "-") == 0)
        return "standard input";
    return slash && slash[1] ? slash + 1 : file;
}

/* Puts a panel below those that are there. Its texts stay in the arena they were made in. */
static void append_panel(mv_scene *scene, const mv_scene *panel)
{
    float below = scene->height;

    for (uint32_t i = 0; i < panel->shape_count; i++) {
        const mv_shape *shape = &panel->shapes[i];
        for (uint32_t j = 0; j < shape->count; j++) {
            mv_point at = panel->points[shape->first + j];
            mv_scene_point(scene, at.x, at.y + below);
        }
        mv_scene_add(scene, *shape);
    }
    scene->height += panel->height;
    scene->width = panel->width > scene->width ? panel->width : scene->width;
    scene->background = panel->background;
}

static mv_code draw_window(plot *p, uint32_t device, mv_window window, mv_arena *work, mv_err *err)
{
    mv_timeline_opts opts = {.from = window.first, .to = window.end, .title = title_of(p)};
    mv_timeline timeline;
    mv_lives lives;
    mv_leaks leaks;
    mv_code code = mv_lives_find(work, p->trace, device, &lives, err);

    if (code == MV_OK)
        code = mv_leaks_find(work, p->trace, &lives, &leaks, err);
    if (code != MV_OK)
        return code;
    opts.leaks = &leaks;
    code = mv_timeline_find(&p->cli->arena, p->trace, &lives, &opts, &timeline, err);
    if (code != MV_OK)
        return code;
    append_panel(&p->scene, &timeline.scene);
    if (p->scene.failed)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    p->events += timeline.events;
    p->drawn += timeline.drawn;
    p->drew = true;
    return MV_OK;
}

/* What is found of a device goes before the next one is looked at. */
static mv_code draw_device(plot *p, uint32_t device, mv_window window, mv_err *err)
{
    mv_arena work;
    mv_code code;

    mv_arena_init(&work, &p->cli->budget);
    code = draw_window(p, device, window, &work, err);
    mv_arena_release(&work);
    return code;
}

/* Whether a device did or holds anything. */
static bool is_idle(const mv_trace *trace, uint32_t device)
{
    if (mv_trace_events(trace, device).count > 0)
        return false;
    for (uint32_t i = 0; i < trace->segments.count; i++)
        if (trace->segments.device[i] == (int32_t)device)
            return false;
    return true;
}

/* False, with a message, when a panel fails or there is nothing to draw. */
static bool draw_devices(plot *p)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_window window;

    mv_scene_init(&p->scene, &p->cli->arena, 0, 0, 0);
    for (uint32_t i = p->first; i < p->end; i++) {
        if (is_idle(p->trace, i))
            continue;
        if (!mv_window_find(p->cli, p->trace, i, &window))
            return false;
        if (window.end == window.first && mv_trace_events(p->trace, i).count > 0)
            continue;
        if (draw_device(p, i, window, &err) != MV_OK) {
            mv_complain(mv_input_name(p->cli), &err);
            return false;
        }
    }
    if (!p->drew)
        mv_complain_of(mv_input_name(p->cli), "nothing to draw: no events and no memory there");
    return p->drew;
}

/* ---- out --------------------------------------------------------------------------------- */

static bool write_picture(plot *p, const char *path)
{
    mv_sink sink;
    mv_err err = {.offset = MV_NO_OFFSET};

    if (mv_sink_open(&sink, path, &err) == MV_OK) {
        if (mv_svg_write(&p->scene, &sink, &err) == MV_OK)
            mv_sink_commit(&sink, &err);
        else
            mv_sink_abort(&sink);
    }
    if (err.code != MV_OK)
        mv_complain(NULL, &err);
    return err.code == MV_OK;
}

static int report(plot *p, const char *path)
{
    mv_span name = {(const uint8_t *)path, strlen(path)};
    mv_report r;

    if (!mv_option_given(&p->cli->options, MV_HAS(JSON))) {
        if (strcmp(path, "-") != 0) {
            mv_out_bytes(&p->cli->out, name.data, name.length);
            mv_out_char(&p->cli->out, '\n');
        }
        return MV_EXIT_DONE;
    }
    mv_report_open(&r, p->cli);
    mv_report_member(&r, "written", mv_json_span(&r, name));
    mv_report_member(&r, "events", mv_json_u64(p->events));
    mv_report_member(&r, "drawn", mv_json_u64(p->drawn));
    return mv_report_close(&r);
}

int mv_cmd_trace_plot(mv_cli *cli)
{
    const char *path = choose_path(cli);
    mv_trace trace;
    plot p = {.cli = cli, .trace = &trace};

    if (!path)
        return MV_EXIT_USAGE;
    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &p.first, &p.end) ||
        !draw_devices(&p) || !write_picture(&p, path))
        return MV_EXIT_FAILED;
    return report(&p, path);
}
