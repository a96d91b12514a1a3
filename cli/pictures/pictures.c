#include "cli/pictures/pictures.h"

#include "analyze/ranks/summary.h"
#include "cli/complain.h"
#include "cli/input/filter_option.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/input/pieces.h"
#include "cli/input/window.h"
#include "cli/report/device_rest.h"

const mv_picture mv_pictures[MV_PICTURE_COUNT] = {
    [MV_PICTURE_ACTIVE] = {.main = MV_MAIN_TIMELINE,
                           .figures = MV_FIGURES(EVENTS) | MV_FIGURES(DRAWN) | MV_FIGURES(MATCHES),
                           .paint = mv_paint_active},
    [MV_PICTURE_SEGMENTS] = {.main = MV_MAIN_SEGMENTS,
                             .shows_segments = true,
                             .figures = MV_FIGURES(EVENTS) | MV_FIGURES(DRAWN),
                             .paint = mv_paint_segments},
    [MV_PICTURE_STATE] = {.main = MV_MAIN_STATE,
                          .is_of_moment = true,
                          .figures = MV_FIGURES(EVENTS) | MV_FIGURES(DRAWN),
                          .paint = mv_paint_state},
    [MV_PICTURE_POOLS] = {.main = MV_MAIN_POOLS,
                          .figures = MV_FIGURES(EVENTS) | MV_FIGURES(DRAWN) | MV_FIGURES(MATCHES),
                          .paint = mv_paint_pools},
    [MV_PICTURE_STACKS] = {.is_of_moment = true,
                           .draws_idle_devices = true,
                           .figures = MV_FIGURES(STACKS) | MV_FIGURES(BYTES) | MV_FIGURES(DRAWN),
                           .paint = mv_paint_flame,
                           .flame = mv_flame_of_memory},
    [MV_PICTURE_SEGMENT_STACKS] = {.main = MV_MAIN_SEGMENTS,
                                   .is_of_moment = true,
                                   .draws_idle_devices = true,
                                   .figures =
                                       MV_FIGURES(STACKS) | MV_FIGURES(BYTES) | MV_FIGURES(DRAWN),
                                   .paint = mv_paint_flame,
                                   .flame = mv_flame_of_segments},
};

mv_picture_view mv_picture_wanted(const mv_cli *cli)
{
    if (cli->command->run != mv_cmd_segment_plot || mv_option_given(&cli->options, MV_HAS(VIEW)))
        return cli->options.view;
    return cli->options.at ? MV_PICTURE_STATE : MV_PICTURE_SEGMENTS;
}

mv_code mv_drawing_filter(mv_drawing *d, mv_arena *arena, const mv_lives *lives,
                          const mv_leaks *leaks, const mv_filter_bits **kept, mv_err *err)
{
    mv_filter_bits *bits;

    *kept = NULL;
    if (!d->cli->options.filter)
        return MV_OK;
    *kept = bits = mv_push_struct(arena, mv_filter_bits);
    if (!bits)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "filter");
    if (d->picture->shows_segments)
        return mv_filter_segments(arena, d->trace, lives, &d->filter, bits, err);
    return mv_filter_allocs(arena, d->trace, lives, leaks, &d->filter, bits, err);
}

/* ---- devices ----------------------------------------------------------------------------- */

/* Finds the device's memory that is not part of the picture, and prints a sentence about it.
 * Returns false, with a message, if memory runs out. */
static bool find_rest(mv_drawing *d, uint32_t device, const mv_moment *at)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    const char *text;

    if (mv_rest_find(d->cli, device, at->time_us, at->bytes.reserved, &d->rest, &err) != MV_OK) {
        mv_complain(mv_input_name(d->cli), &err);
        return false;
    }
    text = mv_rest_text(d->cli, &d->rest);
    if (text && !mv_option_given(&d->cli->options, MV_HAS(QUIET)))
        mv_complain_of(mv_input_name(d->cli), "device %u: %s", device, text);
    return true;
}

/* Finds the part of the device to draw. Returns false, with a message, if an option names a time or
 * window that the device does not have. *is_shown is false if the window is empty on this device,
 * but not on others. */
static bool find_place(mv_drawing *d, const mv_lives *lives, mv_place *place, bool *is_shown)
{
    mv_moment at;

    *is_shown = true;
    if (d->picture->is_of_moment || d->cli->options.at) {
        if (!mv_at_find(d->cli, d->trace, lives, "end", &at))
            return false;
        place->event = at.event;
    }
    if (d->picture->is_of_moment)
        return find_rest(d, lives->device, &at);
    if (!mv_window_find(d->cli, d->trace, lives->device, &place->window))
        return false;
    *is_shown = place->window.end > place->window.first || lives->events.count == 0;
    return true;
}

/* Adds the devices to the picture. Releases the results for one device before starting the next.
 * Returns false, with a message, on failure. */
static bool add_device(mv_drawing *d, uint32_t device)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    bool is_named = true, is_shown;
    mv_place place = {0};
    mv_arena work;
    mv_lives lives;

    mv_arena_init(&work, &d->cli->budget);
    if (mv_input_lives(d->cli, &work, d->trace, device, &lives, &err) == MV_OK) {
        is_named = find_place(d, &lives, &place, &is_shown);
        if (is_named && is_shown && d->format->add(d, &lives, &place, &work, &err) == MV_OK)
            d->devices++;
    }
    mv_arena_release(&work);
    if (err.code != MV_OK)
        mv_input_failed(d->cli, &err);
    return is_named && err.code == MV_OK;
}

static bool add_devices(mv_drawing *d)
{
    bool draws_idle = d->picture->draws_idle_devices && !d->format->leaves_idle_devices;

    for (uint32_t i = d->first; i < d->end; i++) {
        if (!draws_idle && !mv_device_is_used(d->trace, i))
            continue;
        if (!mv_at_is_elsewhere(d->cli, d->trace, i) && !add_device(d, i))
            return false;
    }
    if (d->devices > 0 || d->format->may_be_empty)
        return true;
    mv_complain_of(mv_input_name(d->cli), "nothing to draw: no %s",
                   draws_idle ? "device" : "events and no memory there");
    return false;
}

/* ---- all --------------------------------------------------------------------------------- */

/* Writes the complete file. On failure, prints a message and leaves no file. */
static bool write_file(mv_drawing *d)
{
    mv_err err = {.offset = MV_NO_OFFSET};

    if (mv_sink_open(&d->sink, d->path, &err) == MV_OK) {
        if (!add_devices(d)) {
            mv_sink_abort(&d->sink);
            return false;
        }
        if (d->format->finish(d, &err) == MV_OK && d->cli->budget.lacked)
            mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
        if (err.code == MV_OK)
            mv_sink_commit(&d->sink, &err);
        else
            mv_sink_abort(&d->sink);
    }
    if (err.code != MV_OK && !d->cli->reads_whole)
        mv_complain(NULL, &err);
    return err.code == MV_OK;
}

static mv_value figure(const mv_drawing *d, mv_figure which)
{
    uint32_t figures = d->format->figures ? d->format->figures : d->picture->figures;

    if (which == MV_FIGURE_MATCHES && !d->cli->options.filter)
        return mv_value_of(MV_VALUE_ABSENT);
    return mv_value_if(figures & 1u << which, mv_value_u64(d->figure[which]));
}

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)       \
    MEMBER("written", mv_value_text(d->path))     \
    MEMBER("events", figure(d, MV_FIGURE_EVENTS)) \
    MEMBER("stacks", figure(d, MV_FIGURE_STACKS)) \
    MEMBER("bytes", figure(d, MV_FIGURE_BYTES))   \
    MEMBER("drawn", figure(d, MV_FIGURE_DRAWN))   \
    MEMBER("matches", figure(d, MV_FIGURE_MATCHES))

MV_LIST_REPORT(list_report, mv_drawing, d, REPORT_FIELDS)

const mv_table mv_report_pictures = {MV_TABLE(REPORT_FIELDS, list_report)};

static bool check_usage(mv_drawing *d, const char *ending)
{
    const char *command = d->cli->command->name;

    if (!mv_picture_choose_format(d, ending) || !mv_filter_option_read(d->cli, &d->filter))
        return false;
    if (!d->picture->is_of_moment && d->cli->options.at && !d->format->opens_at_moment) {
        mv_complain_usage(command,
                          "--at names a moment, but this picture shows a time range: use --from "
                          "and --to, or --view state; a page (-o X.html) opens on the moment");
        return false;
    }
    if (d->picture->shows_segments && (d->filter.has_leaks || d->filter.has_categories)) {
        mv_complain_usage(command, "--filter: leak and cat: select blocks, but this view shows "
                                   "segments: use --view state");
        return false;
    }
    return true;
}

static int run(mv_drawing *d, const char *ending)
{
    if (!check_usage(d, ending))
        return d->cli->budget.lacked ? MV_EXIT_FAILED : MV_EXIT_USAGE;
    if (d->format->reads)
        d->format->reads(d->cli);
    if (!mv_input_read(d->cli, d->trace) ||
        !mv_input_devices(d->cli, d->trace, &d->first, &d->end) || !write_file(d))
        return MV_EXIT_FAILED;
    return mv_table_put_written(d->cli, d->path, &mv_report_pictures, d);
}

int mv_picture_run(mv_cli *cli, mv_picture_view view, const char *ending)
{
    mv_trace trace;
    mv_drawing d = {.cli = cli, .picture = &mv_pictures[view], .trace = &trace};

    return run(&d, ending);
}
