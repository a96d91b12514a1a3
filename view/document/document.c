#include "view/document/document.h"

#include <stdio.h>
#include <string.h>

#include "analyze/levels/levels.h"
#include "analyze/oom/refused_calls.h"
#include "base/parallel_for.h"
#include "parse/model/sums.h"
#include "view/document/level_calls.h"
#include "viz/core/segment_rows.h"

static uint64_t events_of(const mv_document *d)
{
    uint64_t events = 0;

    for (uint32_t i = 0; i < d->device_count; i++)
        events += d->devices[i].events;
    return events;
}

void mv_document_sketch(mv_document *d, uint64_t least_events)
{
    uint32_t most = d->device_count < MV_OUTLINES ? d->device_count : MV_OUTLINES;

    /* Outlines belong to the level that is shown first. */
    if (*d->level || d->origin || events_of(d) < least_events)
        return;
    d->outlines = mv_push_array(&d->arena, mv_outline, most);
    for (uint32_t i = 0; d->outlines && i < d->device_count && d->outline_count < most; i++)
        if (d->devices[i].events > 0)
            mv_outline_make(d->devices[i].device, &d->trace, &d->outlines[d->outline_count++]);
}

/* ---- reading ----------------------------------------------------------------------------- */

static void set_stage(_Atomic int *stage, int value)
{
    atomic_store_explicit(stage, value, memory_order_release);
}

static void say_why(mv_document *d)
{
    const mv_err *err = &d->failure;
    char place[32] = "";

    if (err->offset != MV_NO_OFFSET)
        snprintf(place, sizeof place, "byte %llu: ", (unsigned long long)err->offset);
    if (err->code == MV_IO && *err->detail)
        snprintf(d->why, sizeof d->why, "%.200s: %s%s", d->name, place, err->detail);
    else
        snprintf(d->why, sizeof d->why, "%.200s: %s%s%s%s", d->name, place, mv_code_text(err->code),
                 *err->detail ? ": " : "", err->detail);
}

static void release_trace(mv_document *d)
{
    if (d->readers)
        mv_live_readers_return(d->readers, &d->arena);
    mv_arena_release(&d->arena);
}

static void fail(mv_document *d)
{
    release_trace(d);
    say_why(d);
    set_stage(&d->stage, MV_DOCUMENT_FAILED);
}

static bool has_segments(const mv_trace *trace, uint32_t device)
{
    for (uint32_t i = 0; i < trace->segments.count; i++)
        if (trace->segments.device[i] == (int32_t)device)
            return true;
    return false;
}

static mv_code find_devices(mv_document *d, mv_budget *budget, mv_err *err)
{
    uint32_t ordinals = d->is_missing_level ? 0 : mv_trace_devices(&d->trace);

    d->devices = mv_push_array(&d->arena, mv_document_device, ordinals);
    if (!d->devices)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "devices");
    for (uint32_t i = 0; i < ordinals; i++) {
        mv_document_device *device = &d->devices[d->device_count];
        uint32_t events = mv_trace_events(&d->trace, i).count;
        if (events == 0 && !has_segments(&d->trace, i))
            continue;
        device->device = i;
        device->events = events;
        mv_arena_init(&device->arena, budget);
        d->device_count++;
    }
    return MV_OK;
}

/* Reads the trace, or uses that of another document, which serves all levels. */
static mv_code read_trace(mv_document *d, const mv_read_opts *opts, mv_err *err)
{
    const mv_document *origin = d->origin;

    if (origin && atomic_load_explicit(&origin->stage, memory_order_acquire) == MV_DOCUMENT_OPENED)
        d->trace = *mv_trace_as_read(&origin->trace);
    else if (mv_trace_read(&d->arena, d->path, opts, &d->trace, err) != MV_OK)
        return err->code;
    if (opts->progress) /* a page can then handle inputs before the next steps */
        opts->progress(opts->user, d->bytes_all, d->bytes_all);
    return MV_OK;
}

/* Selects the level. A file that lacks the level is opened anyway. The document then reports that
 * the level is missing, and which levels exist. */
static mv_code take_level(mv_document *d, mv_err *err)
{
    mv_code code;

    d->levels = mv_levels_of(&d->trace);
    code = mv_level_take_named(&d->arena, &d->trace, d->level, err);
    if (code != MV_ABSENT)
        return code;
    d->is_missing_level = true;
    d->contents.count = 1;
    d->contents.lines[0] = mv_arena_text(&d->arena, err->detail, strlen(err->detail));
    *err = (mv_err){.offset = MV_NO_OFFSET};
    return d->contents.lines[0] ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "level");
}

void mv_document_read(mv_document *d, mv_budget *budget, mv_read_opts opts)
{
    mv_err *err = &d->failure;

    set_stage(&d->stage, MV_DOCUMENT_READING);
    mv_arena_init(&d->arena, budget);
    *err = (mv_err){.offset = MV_NO_OFFSET};
    d->readers = opts.readers;
    if (read_trace(d, &opts, err) != MV_OK || take_level(d, err) != MV_OK ||
        mv_sums_check(&d->trace, err) != MV_OK ||
        mv_sites_find(&d->arena, &d->trace, &d->sites, err) != MV_OK ||
        find_devices(d, budget, err) != MV_OK)
        return fail(d);
    if (d->device_count == 0 && !d->is_missing_level &&
        mv_recording_describe(&d->arena, &d->trace, d->path, &d->contents, err) != MV_OK)
        return fail(d);
    mv_document_sketch(d, MV_LONG_EVENTS);
    set_stage(&d->stage, MV_DOCUMENT_OPENED);
}

mv_code mv_document_borrow(mv_document *d, const mv_trace *trace, const mv_lives *lives,
                           mv_budget *budget, mv_err *err)
{
    mv_arena_init(&d->arena, budget);
    d->trace = *trace;
    d->levels = mv_levels_of(mv_trace_as_read(trace));
    d->level = "";
    d->devices = mv_push_struct(&d->arena, mv_document_device);
    set_stage(&d->stage, MV_DOCUMENT_OPENED);
    if (!d->devices)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "devices");
    d->devices->device = lives->device;
    d->devices->events = lives->events.count;
    d->devices->lives = *lives;
    d->devices->has_lives = true;
    mv_arena_init(&d->devices->arena, budget);
    d->device_count = 1;
    return mv_sites_find(&d->arena, &d->trace, &d->sites, err);
}

/* ---- data for a picture ------------------------------------------------------------------ */

/* Work on a device is done in pieces that are short even for a long trace. A piece that is not
 * finished sets *again. */
static uint32_t piece_events(const mv_document *d)
{
    enum { SOME_EVENTS = 1 << 17 };         /* take at most 20 ms in a browser */
    bool is_prepared = d->reported != NULL; /* nobody waits for single pieces */

    return is_prepared ? UINT32_MAX : SOME_EVENTS;
}

typedef mv_code piece_fn(const mv_document *d, mv_document_device *v, bool *again, mv_err *err);

static void end_lives(mv_document_device *v)
{
    if (v->lives_search)
        mv_lives_search_end(v->lives_search);
    v->lives_search = NULL;
}

static mv_code find_lives(const mv_document *d, mv_document_device *v, bool *again, mv_err *err)
{
    mv_code code;

    if (!v->lives_search)
        v->lives_search = mv_lives_search_begin(&v->arena, &d->trace, v->device, &v->lives);
    code = v->lives_search ? mv_lives_search_some(v->lives_search, piece_events(d), again, err)
                           : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "lives");
    if (code != MV_OK || !*again)
        end_lives(v);
    return code;
}

static mv_code find_pyramid(const mv_document *d, mv_document_device *v, bool *again, mv_err *err)
{
    mv_pyramid_reader reader;
    mv_extent all;

    if (!v->pyramid.lives && mv_pyramid_begin(&v->arena, &v->lives, &v->pyramid, err) != MV_OK)
        return err->code;
    *again = mv_pyramid_some(&v->pyramid, piece_events(d));
    if (*again)
        return MV_OK;
    v->pyramid.of_level = d->trace.origin.level != NULL;
    mv_pyramid_reader_init(&reader, &v->pyramid);
    all = mv_pyramid_range(&reader, MV_BEFORE, v->lives.events.count);
    v->peak = all.most.allocated;
    v->peak_event = all.allocated_event;
    return MV_OK;
}

enum { OF_PICTURE = 7 };

static mv_code show(const mv_document *d, mv_document_device *v, bool *again, mv_err *err)
{
    mv_arena *arena = &v->arena;

    switch (v->pieces) {
    case 0:
        return v->has_lives ? MV_OK : find_lives(d, v, again, err);
    case 1:
        return mv_index_make(arena, &v->lives, MV_INDEX_ALLOCATED, &v->index, err);
    case 2:
        return find_pyramid(d, v, again, err);
    case 3:
        return mv_segment_lives_as_allocs(arena, &v->lives, &v->segment_lives, err);
    case 4:
        return mv_index_make(arena, &v->segment_lives, MV_INDEX_ALLOCATED, &v->segment_index, err);
    case 5:
        v->calls = mv_level_reserves(&d->trace) ? 0 : mv_call_count(&d->trace, &v->lives.events);
        return mv_trace_marks_find(arena, &d->trace, &v->lives, &v->trace_marks, err);
    default:
        return mv_site_colours_find(arena, &d->trace, d->sites.kinds, &v->index, v->peak_event,
                                    &v->site_colours, err);
    }
}

bool mv_document_show(mv_document *d, uint32_t device_row, mv_budget *budget)
{
    mv_document_device *v = &d->devices[device_row];
    bool again = false;

    set_stage(&v->stage, MV_DEVICE_BUILDING_LIFETIMES);
    if (show(d, v, &again, &v->failure) != MV_OK) {
        mv_arena_release(&v->arena);
        mv_arena_init(&v->arena, budget);
        set_stage(&v->stage, MV_DEVICE_FAILED);
        return false;
    }
    if (again || ++v->pieces < OF_PICTURE)
        return true;
    v->pieces = 0;
    set_stage(&v->stage, MV_DEVICE_SHOWN);
    return false;
}

/* ---- reports ----------------------------------------------------------------------------- */

static void *copy_of(mv_arena *arena, const void *rows, uint64_t count, uint64_t size)
{
    void *copy = mv_arena_push(arena, count, size);

    if (copy && count)
        memcpy(copy, rows, count * size);
    return copy;
}

/* Copies the parts of an attribution that panes read. The curve, which refers to the lives, is
 * dropped. */
static bool keep_attribution(mv_arena *arena, uint32_t allocs, const mv_attribution *found,
                             mv_attribution *out)
{
    const mv_categories *c = &found->categories;

    *out = *found;
    out->curve = (mv_curve){0};
    out->parts = NULL;
    out->sites = copy_of(arena, found->sites, found->count, sizeof *found->sites);
    out->ranges = copy_of(arena, found->ranges, found->range_count, sizeof *found->ranges);
    out->category_bytes =
        copy_of(arena, found->category_bytes, c->count, sizeof *found->category_bytes);
    out->categories.name = copy_of(arena, c->name, c->count, sizeof *c->name);
    /* The names of rules and libraries must be copied too, because these strings are in the scratch
     * arena. */
    for (uint32_t i = MV_CATEGORY_COUNT; out->categories.name && i < c->count; i++)
        if (!(out->categories.name[i] = mv_arena_text(arena, c->name[i], strlen(c->name[i]))))
            return false;
    out->categories.of_alloc = copy_of(arena, c->of_alloc, allocs, sizeof *c->of_alloc);
    return out->sites && out->ranges && out->category_bytes && out->categories.name &&
           out->categories.of_alloc;
}

mv_reports mv_document_reports(const mv_document *document, const mv_document_device *device)
{
    return (mv_reports){.trace = &document->trace,
                        .sites = &document->sites,
                        .lives = &device->lives,
                        .leaks = &device->leaks,
                        .ooms = &device->ooms,
                        .fragmentation = &device->fragmentation,
                        .peak = &device->attribution};
}

static mv_code find_headline(const mv_document *d, mv_document_device *v, mv_err *err)
{
    const mv_reports reports = mv_document_reports(d, v);
    mv_code code = mv_headline_find(&v->arena, &reports, &v->headline, err);

    if (code != MV_OK)
        return code;
    v->badge = mv_headline_badge(&v->arena, &reports, &v->headline);
    return v->badge ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "badge");
}

static void end_leaks(mv_document_device *v)
{
    mv_leak_search_end(v->leak_search);
    v->leak_search = NULL;
}

static mv_code evaluate_leaks(const mv_document *d, mv_document_device *v, bool *again, mv_err *err)
{
    mv_code code;

    if (!v->leak_search)
        v->leak_search = mv_leak_search_begin(&v->arena, &d->trace, &v->lives, &v->leaks);
    code = v->leak_search ? mv_leak_search_some(v->leak_search, again, err)
                          : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "leaks");
    if (code != MV_OK || !*again)
        end_leaks(v);
    return code;
}

static mv_code evaluate_outlook(const mv_document *d, mv_document_device *v, bool *again,
                                mv_err *err)
{
    (void)again;
    return mv_leaks_outlook(&v->arena, &d->trace, &v->lives, &v->leaks, MV_NO_BYTES, &v->outlook,
                            err);
}

static mv_code evaluate_growths(const mv_document *d, mv_document_device *v, bool *again,
                                mv_err *err)
{
    if (!v->growth_search)
        v->growth_search = mv_growth_search_begin(&v->arena, &d->trace, &v->lives, MV_ALL_EVENTS,
                                                  &v->growths, err);
    if (!v->growth_search)
        return err->code;
    *again = mv_growth_search_some(v->growth_search, piece_events(d));
    return MV_OK;
}

static mv_code evaluate_fragmentation(const mv_document *d, mv_document_device *v, bool *again,
                                      mv_err *err)
{
    /* A printed picture shows the verdict without the advice, because finding the advice needs
     * replays. */
    mv_fragmentation_opts opts = {
        .window = MV_ALL_EVENTS, .growths = &v->growths, .no_advice = v->has_lives};

    (void)again;
    mv_growth_search_end(v->growth_search);
    v->growth_search = NULL;
    return mv_fragmentation_find(&v->arena, &d->trace, &v->lives, &d->sites, opts,
                                 &v->fragmentation, err);
}

static mv_code evaluate_ooms(const mv_document *d, mv_document_device *v, bool *again, mv_err *err)
{
    (void)again;
    if (mv_ooms_are_of_calls(&d->trace))
        return mv_refused_calls_find(&v->arena, mv_trace_as_read(&d->trace), &v->lives, &d->sites,
                                     MV_ALL_EVENTS, &v->ooms, err);
    return mv_ooms_find(&v->arena, &d->trace, &v->lives, &d->sites, MV_ALL_EVENTS, &v->ooms, err);
}

static mv_code begin_peak(const mv_document *d, mv_document_device *v, mv_err *err)
{
    mv_moment_query ask = {.kind = MV_MOMENT_PEAK, .window = {0, v->lives.events.count}};
    mv_peak_opts opts = {.window = ask.window, .kinds = d->sites.kinds};
    mv_moment peak;

    mv_arena_init(&v->peak_arena, v->arena.budget);
    if (mv_moment_find(&v->peak_arena, &v->lives, ask, &peak, err) != MV_OK)
        return err->code;
    v->peak_search =
        mv_peak_search_begin(&v->peak_arena, &d->trace, &v->lives, peak, opts, &v->peak_found);
    return v->peak_search ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "peak");
}

static void end_peak(mv_document_device *v)
{
    if (v->peak_search)
        mv_peak_search_end(v->peak_search);
    v->peak_search = NULL;
    if (v->peak_arena.budget)
        mv_arena_release(&v->peak_arena);
}

static mv_code evaluate_peak(const mv_document *d, mv_document_device *v, bool *again, mv_err *err)
{
    mv_code code;

    if (v->has_lives) /* a printed picture has no categories */
        return MV_OK;
    *again = !v->peak_search;
    code = *again ? begin_peak(d, v, err) : mv_peak_search_some(v->peak_search, again, err);
    if (code == MV_OK && !*again &&
        !keep_attribution(&v->arena, v->lives.allocs.count, &v->peak_found, &v->attribution))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "peak");
    if (code != MV_OK || !*again)
        end_peak(v);
    return code;
}

static mv_code evaluate_all(const mv_document *d, mv_document_device *v, bool *again, mv_err *err)
{
    (void)again;
    return find_headline(d, v, err);
}

static piece_fn *const of_reports[] = {
    evaluate_leaks, evaluate_outlook, evaluate_growths, evaluate_fragmentation,
    evaluate_ooms,  evaluate_peak,    evaluate_all};
enum { OF_REPORTS = sizeof of_reports / sizeof *of_reports, FIRST_OF_HEAP = 2 };

static bool run_reports(const mv_document *d, mv_document_device *v)
{
    bool again = false;
    mv_code code = of_reports[v->pieces](d, v, &again, &v->failure);

    if (code == MV_OK && (again || ++v->pieces < OF_REPORTS))
        return true;
    if (code == MV_OK)
        set_stage(&v->stage, MV_DEVICE_REPORTED);
    else
        atomic_store_explicit(&v->is_unevaluated, true, memory_order_release);
    return false;
}

bool mv_document_run_reports(mv_document *d, uint32_t device_row)
{
    return run_reports(d, &d->devices[device_row]);
}

/* ---- picture and reports at the same time ------------------------------------------------ */

/* The reports except the last, in two parts. Each part has a copy of the device with its own
 * arena. */
enum { OF_LEAKS, OF_HEAP, COPIES };

typedef struct {
    mv_document *document;
    mv_budget *budget;
} preparation;

static void run_part(const mv_document *d, mv_document_device *v, uint32_t first, uint32_t end)
{
    for (v->pieces = first; v->pieces < end && run_reports(d, v);)
        ;
}

static void prepare_part(void *user, uint32_t part)
{
    const preparation *p = user;
    mv_document *d = p->document;

    if (part == 0)
        run_part(d, &d->reported[OF_LEAKS], 0, FIRST_OF_HEAP);
    else if (part == 2)
        run_part(d, &d->reported[OF_HEAP], FIRST_OF_HEAP, OF_REPORTS - 1);
    else
        while (mv_document_show(d, 0, p->budget))
            ;
}

static bool push_copies(mv_document *d, mv_budget *budget)
{
    const mv_document_device *v = d->devices;

    d->reported = mv_push_array(&d->arena, mv_document_device, COPIES);
    for (uint32_t i = 0; d->reported && i < COPIES; i++) {
        mv_document_device *copy = &d->reported[i];
        copy->device = v->device;
        copy->events = v->events;
        copy->lives = v->lives;
        copy->has_lives = true;
        mv_arena_init(&copy->arena, budget);
    }
    return d->reported;
}

/* Moves the reports from the copies, which remain, because reports may point into them. */
static void take_reports(mv_document_device *v, const mv_document_device *reported)
{
    v->leaks = reported[OF_LEAKS].leaks;
    v->outlook = reported[OF_LEAKS].outlook;
    v->fragmentation = reported[OF_HEAP].fragmentation;
    v->ooms = reported[OF_HEAP].ooms;
    v->growths = reported[OF_HEAP].growths;
}

bool mv_document_prepare(mv_document *d, mv_budget *budget)
{
    mv_document_device *v = d->devices;
    preparation p = {d, budget};

    if (!push_copies(d, budget))
        return false;
    mv_parallel_for(3, 0, prepare_part, &p);
    if (v->stage != MV_DEVICE_SHOWN || d->reported[OF_LEAKS].is_unevaluated ||
        d->reported[OF_HEAP].is_unevaluated)
        return false;
    take_reports(v, d->reported);
    run_part(d, v, OF_REPORTS - 1, OF_REPORTS);
    return v->stage == MV_DEVICE_REPORTED;
}

/* ---- moving data out of memory ----------------------------------------------------------- */

static void file(mv_arena *arena)
{
    mv_arena_file(arena);
    mv_arena_forget(arena);
}

void mv_document_file(mv_document *d, uint32_t device_row, uint64_t least_events)
{
    if (events_of(d) < least_events)
        return;
    if (d->readers)
        mv_live_readers_file(d->readers);
    file(&d->arena);
    file(&d->devices[device_row].arena);
}

static void release_device(mv_document_device *v)
{
    end_lives(v);
    end_leaks(v);
    mv_growth_search_end(v->growth_search);
    end_peak(v);
    mv_arena_release(&v->arena);
}

void mv_document_release(mv_document *d)
{
    int stage = atomic_load_explicit(&d->stage, memory_order_acquire);

    if (stage == MV_DOCUMENT_WAITING || stage == MV_DOCUMENT_FAILED)
        return;
    for (uint32_t i = 0; i < d->device_count; i++)
        release_device(&d->devices[i]);
    for (uint32_t i = 0; d->reported && i < COPIES; i++)
        release_device(&d->reported[i]);
    release_trace(d);
}
