/* Reports and pictures whose lives are joined from pieces are the same as those of a file without
 * LIVING chunks, which is read as a whole. */
#include <unistd.h>

#include "analyze/lives/digests.h"
#include "parse/model/tables.h"
#include "parse/pieces.h"
#include "parse/writers.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_program.h"
#include "tests/fixture/in_process.h"
#include "view/page/page_file.h"
#include "view/page/viewer_page.h"

enum { PIECE_EVENTS = 100 };

static const char *const names[] = {"gc_limit", "expandable_empty", "frag_pinned_by_small",
                                    "leak_cycle"};
static const char *const reports[] = {
    "fragmentation --json",
    "fragmentation --limit 0",
    "fragmentation --json --fail-on any",
    "whatif --json",
    "whatif --json --capacity 64MiB",
    "whatif --json --conf expandable_segments:True",
    "whatif --json --conf max_split_size_mb:32 --conf garbage_collection_threshold:0.8",
    "whatif --json --target 32MiB",
    "leaks --json",
    "peak --json",
    "floor --json",
    "triage"};
static const char *const pictures[] = {"trace_plot -o x.svg",
                                       "trace_plot --view pools -o x.svg",
                                       "trace_plot --view segments -o x.svg",
                                       "trace_plot --view state -o x.svg",
                                       "segment_plot -o x.png",
                                       "trace_plot --most-events 250 -o x.html",
                                       "convert --most-events 70 -o x.html",
                                       "convert --most-events 0 -o x.html"};

/* Writes the trace as x.bin. Returns whether the file has pieces. */
static bool write_file(const mv_trace *trace, bool in_pieces)
{
    const mv_spans *spans = NULL;
    mv_write_opts opts = {.chunk_rows = in_pieces ? PIECE_EVENTS : 0};
    mv_trace tables;
    const char *path = mvt_format("%s/x.bin", mvt_folder_path());
    mv_sink sink;

    opts.digests = mv_digests_make(mvt_memory(), trace, &spans, mvt_err());
    opts.spans = spans;
    unlink(path);
    mvt_ok(mv_sink_open(&sink, path, mvt_err()));
    mvt_ok(mv_snapshot_write(mvt_memory(), trace, &opts, &sink, mvt_err()));
    mvt_ok(mv_sink_commit(&sink, mvt_err()));
    mv_pieces *pieces = mv_pieces_open(mvt_memory(), path, &tables);
    bool is_apart = pieces && mv_pieces_count(pieces, 0) > 1;
    mv_pieces_close(pieces);
    return is_apart;
}

/* Returns the report after the file's size, which is in the first line of triage. */
static const char *after_size(const char *text, const char *report)
{
    const char *line = strcmp(report, "triage") == 0 ? strstr(text, "iB, ") : NULL;

    return line ? line : text;
}

static void check_report(const mv_trace *trace, const char *report, const char *name)
{
    write_file(trace, false);
    mvt_run whole = mvt_here("$MEMVIZ %s x.bin", report);
    write_file(trace, true);
    mvt_run is = mvt_here("$MEMVIZ %s x.bin", report);

    cr_expect_eq(is.status, whole.status, "%s %s: %s", name, report, is.err);
    mvt_same_text(after_size(whole.out, report), after_size(is.out, report), "%s %s", name, report);
}

static void check_picture(const mv_trace *trace, const char *picture, const char *name)
{
    const char *file = strstr(picture, "x.");
    size_t whole_bytes, bytes;

    write_file(trace, false);
    mvt_here("$MEMVIZ %s x.bin", picture);
    char *whole = mvt_take(file, &whole_bytes);
    write_file(trace, true);
    mvt_run r = mvt_here("$MEMVIZ %s x.bin", picture);
    char *is = mvt_take(file, &bytes);
    cr_assert(whole && is, "%s %s: %s", name, picture, r.err);
    cr_expect(bytes == whole_bytes && memcmp(whole, is, bytes) == 0, "%s %s", name, picture);
}

Test(joined, reports_and_pictures_are_those_of_the_whole_file)
{
    uint32_t joined = 0;

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        mv_trace trace = mvt_load(mvt_memory(), names[i]);
        if (!write_file(&trace, true))
            continue;
        joined++;
        for (unsigned k = 0; k < sizeof reports / sizeof *reports; k++)
            check_report(&trace, reports[k], names[i]);
        for (unsigned k = 0; k < sizeof pictures / sizeof *pictures; k++)
            check_picture(&trace, pictures[k], names[i]);
    }
    cr_expect_geq(joined, 2);
}

/* The overview runs all reports, and a page has all columns. */
static void check_all(const mv_trace *trace, const char *name)
{
    if (!write_file(trace, true))
        return;
    check_report(trace, "triage", name);
    check_report(trace, "floor --json", name);
    check_picture(trace, "convert --most-events 100 -o x.html", name);
}

EachSnapshot(joined, each_overview_and_page_is_that_of_the_whole_file, check_all);

/* In some formats, each event has its own call. */
Test(joined, calls_are_those_of_few_events)
{
    mv_trace trace = mvt_load(mvt_memory(), "gc_limit");
    mv_events *e = &trace.devices[0].events;

    for (uint32_t i = 0; i < e->count; i++)
        e->call[i] = i;
    trace.calls = e->count;
    cr_assert(write_file(&trace, true));
    check_report(&trace, "fragmentation --json", "calls");
    check_report(&trace, "whatif --json", "calls");
    check_picture(&trace, pictures[0], "calls");
}

/* Pictures of files with several levels, or with samples of the whole device, show the verdicts of
 * all reports, which find the lives again. */
Test(joined, pictures_with_verdicts_read_the_whole_file)
{
    mv_trace trace = mvt_load(mvt_memory(), "gc_limit"), more = trace;
    int32_t device[] = {0};
    int64_t time_us[] = {trace.devices[0].events.time_us[0] + 1};
    uint64_t used[] = {1 << 20}, total[] = {1 << 30}, process[] = {MV_NO_BYTES};

    more.samples = (mv_samples){1, device, time_us, used, total, process};
    cr_assert(write_file(&more, true));
    check_picture(&more, pictures[0], "samples");
    more = trace;
    more.host_events = trace.devices[0].events;
    cr_assert(write_file(&more, true));
    check_picture(&more, pictures[0], "levels");
}

/* A device may be in use although it has no events. A page also has the events of the other. */
Test(joined, a_page_of_a_device_without_events_has_all_devices)
{
    mv_trace trace = mvt_load(mvt_memory(), "gc_limit"), more = trace;
    mv_segments *s = &more.segments;

    cr_assert(mv_table_copy(mvt_memory(), mv_table_find(MV_WIRE_SEGMENTS), &trace.segments, 1, s));
    s->address[s->count] = 0x7f0000000000;
    s->total_size[s->count++] = 2 << 20;
    more.device_count = 2;
    for (int idle = 0; idle < 2; idle++) {
        more.devices = mv_push_array(mvt_memory(), mv_device, 2);
        more.devices[1 - idle] = trace.devices[0];
        for (uint32_t i = 0; i < s->count; i++)
            s->device[i] = i + 1 < s->count ? 1 - idle : idle;
        check_picture(&more, "trace_plot --device 0 --most-events 250 -o x.html", "first");
        check_picture(&more, "trace_plot --device 1 --most-events 250 -o x.html", "second");
        check_picture(&more, "convert --most-events 250 -o x.html", "both");
    }
}

static mv_code read_kept(void *user, mv_arena *arena, uint32_t device, const mv_bitmap *kept,
                         mv_events *out, mv_err *err)
{
    mv_events from = mv_trace_events(user, device);

    cr_assert(mv_kept_events_push(arena, kept, out));
    mv_kept_events_copy(kept, 0, from.count, &from, 0, out);
    return err->code;
}

/* Writes a page that has no room for 500 events as x.html, and returns it. */
static char *write_full_page(const mv_trace *trace, bool is_joined, size_t *bytes)
{
    mv_thinned thinned;
    mv_lives lives;
    mv_sink sink;
    mv_page_gap gap;
    mv_viewer_page_opts opts = {
        .thinned = &thinned, .read_kept = read_kept, .reader = (void *)trace};
    char path[4096];

    mvt_ok(mv_lives_find(mvt_memory(), trace, 0, &lives, mvt_err()));
    mvt_ok(mv_downsample_begin(mvt_memory(), trace, 500, &thinned, mvt_err()));
    mvt_ok(mv_downsample_device(mvt_memory(), trace, &lives, &thinned, mvt_err()));
    opts.joined = is_joined ? &lives : NULL;
    snprintf(path, sizeof path, "%s/x.html", mvt_folder_path());
    mvt_ok(mv_sink_open(&sink, path, mvt_err()));
    mvt_ok(mv_viewer_page_write(mvt_memory(), trace, &opts, &sink, &gap, mvt_err()));
    mvt_ok(mv_sink_commit(&sink, mvt_err()));
    cr_expect_gt(gap.events, thinned.left_out);
    return mvt_take("x.html", bytes);
}

/* If a page is too large, more events are left out, and the rest is read again. */
Test(joined, a_page_that_is_too_large_is_made_from_fewer_events)
{
    mv_trace trace = mvt_load(mvt_memory(), "gc_limit");
    size_t whole_bytes, bytes;
    mv_span page = {0};
    uint8_t *large = mv_arena_push(mvt_memory(), MV_PAGE_BYTES, 1);
    char path[4096];

    mvt_ok(mv_page_file_read(mvt_memory(), &page, mvt_err()));
    memcpy(large, page.data, page.length);
    mvt_folder_put("page.html", (mv_span){large, MV_PAGE_BYTES - 105000});
    snprintf(path, sizeof path, "%s/page.html", mvt_folder_path());
    setenv("MEMVIZ_PAGE", path, 1);
    char *whole = write_full_page(&trace, false, &whole_bytes);
    char *is = write_full_page(&trace, true, &bytes);
    cr_assert(whole && is);
    cr_expect(bytes == whole_bytes && memcmp(whole, is, bytes) == 0);
}
