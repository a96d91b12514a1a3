/* The viewer without a window, in real time. Threads work as they do with a window, a frame is
 * drawn every sixtieth of a second, and no frame waits for unfinished results. */
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/sort.h"
#include "parse/source/same_file.h"
#include "view/chrome/chrome.h"
#include "view/headless/panzoom.h"
#include "view/script.h"
#include "view/viewer.h"
#include "viz/scene/png.h"

enum { WIDTH = 1600, HEIGHT = 900 };
static const double frame_ms = 1000.0 / 60;

typedef struct {
    const mv_viewer_opts *opts;
    mv_raster *raster;
    mv_image image; /* picture of the last frame */
    mv_view *view;
    mv_arena arena;
    uint32_t width, height;
    double begin;        /* seconds */
    double scene_ms, ms; /* times of the last frame */
    mv_viewer_timing *timing;
} player;

static double seconds_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double ms_since(const player *p)
{
    return (seconds_of(CLOCK_MONOTONIC) - p->begin) * 1e3;
}

static void sleep_until(const player *p, double ms)
{
    double left = ms - ms_since(p);
    struct timespec pause = {.tv_nsec = (long)(left * 1e6)};

    if (left > 0)
        nanosleep(&pause, NULL);
}

/* ---- frames ------------------------------------------------------------------------------ */

static mv_code draw_scene(player *p, const mv_scene *scene, mv_err *err)
{
    mv_raster_frame frame;
    mv_code code = mv_raster_next(p->raster, scene, &frame, err);

    p->image = frame.image;
    return code;
}

static mv_code draw_frame(player *p, double start_ms, mv_err *err)
{
    const mv_scene *scene = mv_view_frame(p->view, (float)p->width, (float)p->height, start_ms);
    mv_code code;

    p->scene_ms = ms_since(p) - start_ms;
    code = draw_scene(p, scene, err);
    p->ms = ms_since(p) - start_ms;
    return code;
}

static int stage_of(const _Atomic int *stage)
{
    return atomic_load_explicit(stage, memory_order_acquire);
}

/* Fails if a part of the picture is missing because memory ran out. */
static mv_code check_whole(const player *p, mv_err *err)
{
    return p->view->ui.ran_out_of_memory || p->view->budget->lacked
               ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture")
               : MV_OK;
}

/* Finds the reason why the document has no timeline, or with `is_idle`, why it will never have one.
 * Returns MV_OK if the document may still have a timeline. */
static mv_code find_failure(player *p, bool is_idle, mv_err *err)
{
    const mv_document *d = mv_view_document(p->view);
    bool is_open = d && stage_of(&d->stage) == MV_DOCUMENT_OPENED;

    if (d && stage_of(&d->stage) == MV_DOCUMENT_FAILED)
        *err = d->failure;
    if (is_open && d->is_missing_level)
        mv_fail(err, MV_ABSENT, MV_NO_OFFSET, "%s", d->contents.lines[0]);
    for (uint32_t i = 0; is_idle && is_open && err->code == MV_OK && i < d->device_count; i++)
        if (stage_of(&d->devices[i].stage) == MV_DEVICE_FAILED)
            *err = d->devices[i].failure;
    if (is_idle && err->code == MV_OK)
        mv_fail(err, MV_ABSENT, MV_NO_OFFSET, "%s", "nothing to show: no events");
    if (err->code != MV_OK)
        p->timing->failed_file = p->opts->files[p->view->now->file];
    return err->code;
}

/* Draws frames until the timeline is shown, or, if `settles` is set, until all work is done. */
static mv_code wait_for_timeline(player *p, bool settles, mv_err *err)
{
    *err = (mv_err){.offset = MV_NO_OFFSET};
    for (double due = ms_since(p);; due += frame_ms) {
        bool has_device, has_outline, was_idle;
        const mv_document *document = mv_view_document(p->view);
        mv_viewer_timing *t = p->timing;
        if (document && t->read_ms == 0 && stage_of(&document->stage) == MV_DOCUMENT_OPENED)
            t->read_ms = ms_since(p);
        if (t->index_ms == 0 && mv_view_device(p->view))
            t->index_ms = ms_since(p) - t->read_ms;
        has_device = mv_view_device(p->view) != NULL;
        has_outline = mv_view_outline(p->view) != NULL;
        was_idle = mv_view_is_idle(p->view); /* if the view was idle, this frame shows everything */
        if (draw_frame(p, ms_since(p), err) != MV_OK)
            return err->code;
        if (p->timing->window_ms == 0)
            p->timing->window_ms = ms_since(p);
        if ((has_device || has_outline) && p->timing->first_frame_ms == 0)
            p->timing->first_frame_ms = ms_since(p);
        if (settles && (check_whole(p, err) != MV_OK || (was_idle && mv_view_is_idle(p->view))))
            return err->code;
        if (!settles && has_device)
            return MV_OK;
        if (!settles && find_failure(p, was_idle && !mv_view_device(p->view), err) != MV_OK)
            return err->code;
        sleep_until(p, due + frame_ms);
    }
}

static bool is_being_read(const mv_document *d)
{
    int stage = stage_of(&d->stage);

    return stage == MV_DOCUMENT_WAITING || stage == MV_DOCUMENT_READING;
}

/* Waits until each file has been read. Files that are not shown must be readable as well. */
static mv_code check_others(player *p, mv_err *err)
{
    for (uint32_t i = 0; i < p->opts->file_count && i < p->view->document_count; i++) {
        while (is_being_read(p->view->documents[i]) && !mv_view_is_idle(p->view)) {
            double start = ms_since(p);
            if (draw_frame(p, start, err) != MV_OK)
                return err->code;
            sleep_until(p, start + frame_ms);
        }
        if (stage_of(&p->view->documents[i]->stage) != MV_DOCUMENT_FAILED)
            continue;
        p->timing->failed_file = p->opts->files[i];
        *err = p->view->documents[i]->failure;
        return err->code;
    }
    return MV_OK;
}

/* ---- the path ---------------------------------------------------------------------------- */

/* Returns the smallest of the sorted values such that at least the fraction `part` of the values is
 * not larger. */
static double part_of(const double *sorted, uint32_t count, double part)
{
    uint32_t at = (uint32_t)ceil(part * count);

    return sorted[at > 0 ? at - 1 : 0];
}

/* The duration of each frame in milliseconds, as measured in several ways. */
typedef struct {
    double *whole, *cpu, *scene; /* [frames] */
} frame_times;

static void take_percentiles(mv_viewer_timing *t, const frame_times *times, uint32_t frames)
{
    mv_sort_rows(NULL, times->whole, frames, MV_RISING_VALUES(double));
    mv_sort_rows(NULL, times->cpu, frames, MV_RISING_VALUES(double));
    mv_sort_rows(NULL, times->scene, frames, MV_RISING_VALUES(double));
    t->frames = frames;
    t->p50_ms = part_of(times->whole, frames, 0.5);
    t->p90_ms = part_of(times->whole, frames, 0.9);
    t->p99_ms = part_of(times->whole, frames, 0.99);
    t->max_ms = times->whole[frames - 1];
    t->cpu_p50_ms = part_of(times->cpu, frames, 0.5);
    t->cpu_p99_ms = part_of(times->cpu, frames, 0.99);
    t->scene_p50_ms = part_of(times->scene, frames, 0.5);
    t->scene_p99_ms = part_of(times->scene, frames, 0.99);
}

static mv_code play_path(player *p, uint32_t frames, mv_err *err)
{
    frame_times times = {.whole = mv_push_array(&p->arena, double, frames),
                         .cpu = mv_push_array(&p->arena, double, frames),
                         .scene = mv_push_array(&p->arena, double, frames)};
    double due = ms_since(p);

    if (!times.whole || !times.cpu || !times.scene)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "frames");
    for (uint32_t i = 0; i < frames; i++) {
        double start = ms_since(p), cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
        mv_panzoom_step(p->view, i, frames);
        if (draw_frame(p, start, err) != MV_OK)
            return err->code;
        times.whole[i] = p->ms;
        times.scene[i] = p->scene_ms;
        times.cpu[i] = (seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu) * 1e3;
        due = fmax(due + frame_ms, start);
        sleep_until(p, due);
    }
    take_percentiles(p->timing, &times, frames);
    return MV_OK;
}

/* ---- the whole run ----------------------------------------------------------------------- */

static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file) {
        if (fscanf(file, "%llu %llu", &pages, &resident) != 2)
            resident = 0;
        fclose(file);
    }
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static mv_code write_picture(player *p, const char *path, mv_err *err)
{
    mv_sink sink = {0};
    mv_code code;

    for (uint32_t i = 0; i < p->view->document_count; i++)
        if (mv_is_same_file(p->view->documents[i]->path, path))
            return mv_fail(err, MV_IO, MV_NO_OFFSET,
                           "%s is one of the open files: choose another name", path);
    code = mv_sink_open(&sink, path, err);
    if (code == MV_OK)
        code = mv_png_write(p->opts->budget, &p->image, &sink, err);
    if (code == MV_OK)
        code = mv_sink_commit(&sink, err);
    mv_sink_abort(&sink);
    return code;
}

static mv_code write_shot(player *p, const char *path, mv_err *err)
{
    mv_code code = wait_for_timeline(p, true, err);

    return code == MV_OK ? write_picture(p, path, err) : code;
}

/* ---- scripts ----------------------------------------------------------------------------- */

static bool shoot(void *user, const char *name, const mv_scene *scene, char *why, size_t size)
{
    player *p = user;
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_code code = check_whole(p, &err);

    if (!mv_text_has_ending(name, ".png")) {
        snprintf(why, size, "%.200s: the output is a PNG: use a name ending in .png", name);
        return false;
    }
    p->width = (uint32_t)scene->width;
    p->height = (uint32_t)scene->height;
    if (code == MV_OK)
        code = draw_scene(p, scene, &err);
    if (code == MV_OK)
        code = write_picture(p, name, &err);
    if (code != MV_OK)
        snprintf(why, size, "%s: %s", mv_code_text(code), err.detail);
    return code == MV_OK;
}

static mv_code run_script(player *p, const mv_viewer_play_opts *play, mv_err *err)
{
    mv_script_opts opts = {.width = (float)p->width,
                           .height = (float)p->height,
                           .shot = shoot,
                           .user = p,
                           .dump = play->dump};
    mv_script_result result;

    if (mv_script_run(p->view, play->script, &opts, &result))
        return MV_OK;
    p->timing->script_line = result.line;
    return mv_fail(err, MV_RANGE, MV_NO_OFFSET, "%s", result.why);
}

/* ---- opening ----------------------------------------------------------------------------- */

static mv_code open_all(player *p, mv_err *err)
{
    const mv_viewer_opts *o = p->opts;
    mv_view_opts opts = {.is_dark = o->is_dark,
                         .tries_settings = true,
                         .is_threaded = true,
                         .scale = o->scale,
                         .tile_bytes = o->tile_bytes,
                         .keys = o->keys};

    p->width = o->width ? o->width : WIDTH;
    p->height = o->height ? o->height : HEIGHT;
    p->raster = mv_raster_open(o->budget, &(mv_raster_opts){0});
    p->view = mv_view_open(o->budget, &opts);
    if (!p->view || !p->raster)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "viewer");
    mv_view_begin_at(p->view, &o->start); /* this must come before files are added, because a small
                                             file is ready at once */
    for (uint32_t i = 0; i < o->file_count; i++)
        mv_view_add(p->view, o->files[i]);
    return MV_OK;
}

static void close_all(player *p)
{
    mv_raster_close(p->raster);
    mv_view_close(p->view);
    mv_arena_release(&p->arena);
}

mv_code mv_viewer_play(const mv_viewer_opts *opts, const mv_viewer_play_opts *play,
                       mv_viewer_timing *out, mv_err *err)
{
    player p = {.opts = opts, .begin = seconds_of(CLOCK_MONOTONIC), .timing = out};
    struct rusage usage;
    mv_code code;

    *out = (mv_viewer_timing){0};
    mv_arena_init(&p.arena, opts->budget);
    code = open_all(&p, err);
    if (code == MV_OK && opts->file_count > 0)
        code = wait_for_timeline(&p, false, err);
    if (code == MV_OK && p.view->chrome->has_bad_start) {
        out->failed_file = opts->files[p.view->now->file];
        code = mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", p.view->message);
    }
    if (code == MV_OK)
        code = check_others(&p, err); /* this must come before the picture, because no picture may
                                         be written after an error */
    if (code == MV_OK && play->script)
        code = run_script(&p, play, err);
    if (code == MV_OK && play->bench_frames)
        code = play_path(&p, play->bench_frames, err);
    if (code == MV_OK && play->shot)
        code = write_shot(&p, play->shot, err);
    if (code == MV_OK) {
        const mv_document_device *device = mv_view_device(p.view);
        out->events = device ? device->events : 0;
        out->rss_bytes = resident_bytes();
        if (getrusage(RUSAGE_SELF, &usage) == 0)
            out->peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
        if (out->peak_rss_bytes < out->rss_bytes) /* the kernel does not update its peak often */
            out->peak_rss_bytes = out->rss_bytes;
    }
    close_all(&p);
    return code;
}
