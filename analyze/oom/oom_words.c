#include "analyze/oom/oom_words.h"

#include <stdio.h>
#include <string.h>

#include "analyze/code/culprit.h"
#include "analyze/replay/alloc_conf.h"
#include "analyze/replay/release.h"
#include "base/size.h"
#include "base/text.h"

#define SENTENCE 1024

/* ---- why --------------------------------------------------------------------------------- */

/* Whether the request is larger than the whole device or, if the size of the device is unknown,
 * larger than any GPU. */
static bool is_beyond_device(const mv_oom *o)
{
    if (o->total_source == MV_TOTAL_SAMPLED)
        return o->requested > o->total;
    return mv_oom_likely_total(o->requested) == 0;
}

static void write_leak(const mv_oom_case *c, char s[SENTENCE], const mv_oom *o)
{
    char a[MV_SIZE_TEXT], b[MV_SIZE_TEXT], label[256];

    mv_text_append(s, SENTENCE, "a leak filled the memory: %s kept %s a step, %s by then; ",
                   mv_leak_label(c->trace, c->sites->kinds, &o->outlook.leak, label, sizeof label),
                   mv_size_text(a, o->outlook.leak.bytes_per_step),
                   mv_size_text(b, o->outlook.leaked));
}

/* Writes the difference between two figures, which is between `least` and `most`: "at least 3.00
 * MiB" or, if either figure may be the larger one, "within 12.0 MiB". */
static void write_distance(char s[SENTENCE], int64_t least, int64_t most)
{
    char size[MV_SIZE_TEXT];
    uint64_t low = least < 0 ? (uint64_t)-least : (uint64_t)least;
    uint64_t high = most < 0 ? (uint64_t)-most : (uint64_t)most;

    if ((least < 0) != (most < 0))
        mv_text_append(s, SENTENCE, "within %s", mv_size_text(size, low > high ? low : high));
    else
        mv_text_append(s, SENTENCE, "%s%s", least == most ? "" : "at least ",
                       mv_size_text(size, low < high ? low : high));
}

/* Writes whether the forecast is above or below the limit, provided that it is on the same side of
 * both bounds of the limit. */
static void write_forecast(char s[SENTENCE], const mv_oom *o)
{
    const mv_oom_outlook *f = &o->outlook;
    int64_t least = (int64_t)(f->limit_least - f->forecast.peak);
    int64_t most = (int64_t)(f->limit_most - f->forecast.peak);
    char a[MV_SIZE_TEXT];

    mv_text_append(s, SENTENCE, "this step would have peaked at about %s%s, ",
                   mv_size_text(a, f->forecast.peak), f->forecast.is_least ? " or more" : "");
    if (f->course != MV_COURSE_UNTRIED) {
        mv_text_append(s, SENTENCE, "%s%s below the limit; replayed with expandable segments, %s",
                       least < most ? "about " : "", mv_size_text(a, f->limit - f->forecast.peak),
                       f->course == MV_COURSE_ENDS ? "the whole step is served"
                                                   : "a later request of the step fails");
    } else {
        write_distance(s, least, most);
        mv_text_append(s, SENTENCE, "%s",
                       most < 0    ? " above the limit"
                       : least < 0 ? " of the limit, which is only known approximately"
                                   : " below the limit");
    }
    mv_text_append(s, SENTENCE, " (from %s", f->basis);
    if (f->forecast.least < f->forecast.peak)
        mv_text_append(s, SENTENCE, "; %s of it is certain", mv_size_text(a, f->forecast.least));
    mv_text_append(s, SENTENCE, ")");
}

static void write_margin(char s[SENTENCE], const mv_oom *o)
{
    const mv_oom_outlook *f = &o->outlook;
    bool is_open = f->margin_least < 0 && f->margin_most >= 0;
    char share[MV_SIZE_TEXT];

    mv_text_append(s, SENTENCE,
                   "%s of the reserved memory is allocated; if the free memory%s were contiguous, "
                   "%s",
                   mv_percent_text(share, o->bytes.allocated, o->bytes.reserved),
                   o->joinable < o->bytes.free ? " of the request's pool" : "",
                   is_open ? "the request would come " : "");
    write_distance(s, f->margin_least, f->margin_most);
    mv_text_append(s, SENTENCE, "%s",
                   is_open              ? " of the limit, which is only known approximately"
                   : f->margin_most < 0 ? " would still be missing"
                                        : " would be free after this request");
}

/* Writes the first sentence for a device that had room. */
static void write_limit(char s[SENTENCE], const mv_oom *o)
{
    char a[MV_SIZE_TEXT], b[MV_SIZE_TEXT], c[MV_SIZE_TEXT];

    mv_text_append(
        s, SENTENCE,
        "the device did not run out of memory: it has %s left, and a limit refused %s beyond "
        "the %s that PyTorch holds",
        mv_size_text(b, o->device_free), mv_size_text(a, o->segment),
        mv_size_text(c, o->bytes.reserved));
}

/* Writes what used the device when it was full. */
static void write_full(char s[SENTENCE], const mv_oom *o)
{
    char a[MV_SIZE_TEXT], b[MV_SIZE_TEXT];

    mv_text_append(s, SENTENCE, "%s is in use and the device has %s left",
                   mv_size_text(a, o->bytes.allocated),
                   o->device_free == MV_NO_BYTES ? "?" : mv_size_text(b, o->device_free));
}

/* Writes why a hole that was large enough was not used. */
static void write_hole(char s[SENTENCE], const mv_oom *o)
{
    static const char *const about[] = {
        [MV_HOLE_LATE] = "became free while the request waited, too late for it",
        [MV_HOLE_UNCUT] = "is free, but max_split_size_mb prevents splitting it",
        [MV_HOLE_OTHER_POOL] =
            "would fit if the request was for the default pool, which the file does not record",
        [MV_HOLE_UNEXPLAINED] = "is large enough, and the file does not show why it was not used",
    };
    char size[MV_SIZE_TEXT];

    mv_text_append(s, SENTENCE, "a hole of %s %s", mv_size_text(size, o->largest_hole),
                   about[o->hole]);
}

/* Writes how much memory was free, and why it did not serve the request. */
static void write_free(char s[SENTENCE], const mv_oom *o)
{
    char a[MV_SIZE_TEXT], b[MV_SIZE_TEXT];

    if (o->hole != MV_HOLE_NONE)
        write_hole(s, o);
    else if (o->suspect == MV_OOM_STREAM_OR_POOL)
        mv_text_append(s, SENTENCE,
                       "%s is free, but only %s of it in the pool and stream of the request",
                       mv_size_text(a, o->bytes.free), mv_size_text(b, o->usable));
    else if (o->suspect == MV_OOM_PENDING_FREE)
        mv_text_append(s, SENTENCE, "%s was freed%s, but other streams may still use it",
                       mv_size_text(a, o->bytes.pending),
                       o->waits_elsewhere ? " in other pools or streams than the request's" : "");
    else
        mv_text_append(s, SENTENCE,
                       "%s is free in the right pool and stream, but the largest hole is %s",
                       mv_size_text(a, o->usable), mv_size_text(b, o->largest_hole));
}

static void write_capacity(char s[SENTENCE], const mv_oom *o)
{
    const mv_oom_outlook *f = &o->outlook;
    char a[MV_SIZE_TEXT];

    if (is_beyond_device(o)) {
        if (o->total_source == MV_TOTAL_SAMPLED)
            mv_text_append(s, SENTENCE, "the request alone is more than the device's %s",
                           mv_size_text(a, o->total));
        else
            mv_text_append(s, SENTENCE, "no GPU has %s", mv_size_text(a, o->requested));
        return;
    }
    if (f->forecast.peak && mv_oom_is_above_limit(o)) {
        write_forecast(s, o);
        return;
    }
    if (o->suspect == MV_OOM_PENDING_FREE) {
        write_free(s, o);
    } else if (o->bytes.free == 0) {
        if (o->refused_by != MV_REFUSED_LIMIT)
            write_full(s, o);
        return;
    } else {
        write_margin(s, o);
    }
    if (o->decided_by == MV_OOM_BY_GROWTH && f->most > f->limit)
        mv_text_append(s, SENTENCE, ", but the run needed %s earlier", mv_size_text(a, f->most));
    else if (o->decided_by == MV_OOM_BY_REPLAY)
        mv_text_append(s, SENTENCE, "; replayed with %s within %s, the request fails as well",
                       o->suspect == MV_OOM_STREAM_OR_POOL ? "one pool and one stream for all"
                                                           : "expandable segments",
                       mv_size_text(a, f->limit));
    else if (o->decided_by == MV_OOM_BY_GROWTH && f->rise)
        mv_text_append(s, SENTENCE,
                       ", while the need had risen by %s over the second half of the events",
                       mv_size_text(a, f->rise));
    if (o->decided_by == MV_OOM_BY_FIGURES && o->refused_by != MV_REFUSED_LIMIT) {
        mv_text_append(s, SENTENCE, "; ");
        write_full(s, o);
    }
}

/* Whether there is a suspect, but the trace does not show the time before the failure. */
static bool is_undecided(const mv_oom *o)
{
    return o->verdict == MV_OOM_UNKNOWN && o->suspect != MV_OOM_UNKNOWN;
}

/* Writes how many bytes would remain if the free memory were contiguous. */
static void write_joined(char s[SENTENCE], const mv_oom *o)
{
    const mv_oom_outlook *f = &o->outlook;
    bool is_open = f->margin_least < 0;
    char limit[MV_SIZE_TEXT];

    mv_text_append(s, SENTENCE, "; if it were contiguous, %s",
                   is_open ? "the request would come " : "");
    write_distance(s, f->margin_least, f->margin_most);
    if (is_open)
        mv_text_append(s, SENTENCE, " of the limit, which is only known approximately");
    else if (o->refused_by == MV_REFUSED_LIMIT)
        mv_text_append(s, SENTENCE, " of the limit would be free after this request");
    else
        mv_text_append(s, SENTENCE, " of the %s available would be free after this request",
                       mv_size_text(limit, f->limit));
}

static void write_holes(const mv_oom_case *c, char s[SENTENCE], const mv_oom *o)
{
    char size[MV_SIZE_TEXT], peak[MV_SIZE_TEXT];

    write_free(s, o);
    if (o->outlook.forecast.peak && !mv_oom_is_unsure(o)) {
        mv_text_append(s, SENTENCE, "; ");
        write_forecast(s, o);
    } else if (o->suspect == MV_OOM_STREAM_OR_POOL && o->outlook.joined_serves) {
        bool surely = o->outlook.joined_surely;

        mv_text_append(s, SENTENCE,
                       "; replayed with one pool and one stream for all, the request is served "
                       "within %s%s",
                       mv_size_text(size, surely ? o->outlook.limit_least : o->outlook.limit),
                       surely && o->outlook.limit_least < o->outlook.limit
                           ? ", which was reserved anyway"
                           : "");
    } else if (o->outlook.margin_most >= 0 && o->hole == MV_HOLE_NONE &&
               o->suspect != MV_OOM_PENDING_FREE) {
        write_joined(s, o);
    }
    if (o->outlook.forecast.peak && mv_oom_is_unsure(o))
        mv_text_append(s, SENTENCE,
                       "; this step would have peaked at %s or more; the forecast of %s (from %s) "
                       "is above the limit only because of guessed sizes",
                       mv_size_text(size, o->outlook.forecast.least),
                       mv_size_text(peak, o->outlook.forecast.peak), o->outlook.basis);
    if (is_undecided(o))
        mv_text_append(s, SENTENCE,
                       "; whether the run would have run out of memory anyway is unknown: %s",
                       c->heap->lives->history_why);
}

static void write_rest(const mv_oom_case *c, char s[SENTENCE], const mv_oom *o)
{
    char a[MV_SIZE_TEXT], b[MV_SIZE_TEXT], d[MV_SIZE_TEXT];

    if (o->verdict == MV_OOM_CAPACITY)
        write_capacity(s, o);
    else if (o->verdict == MV_OOM_OUTSIDE)
        mv_text_append(s, SENTENCE,
                       "PyTorch holds %s and the device has %s left: others hold the rest, %s%s",
                       mv_size_text(a, o->bytes.reserved), mv_size_text(b, o->device_free),
                       mv_size_text(d, o->outside),
                       o->total_source == MV_TOTAL_GUESSED
                           ? " or more (where device and host share memory, as on GB10 and Jetson, "
                             "this may be the host's page cache)"
                           : "");
    else
        write_holes(c, s, o);
}

static const char *why(const mv_oom_case *c, const mv_oom *o)
{
    bool is_limited = o->refused_by == MV_REFUSED_LIMIT && !is_beyond_device(o);
    char s[SENTENCE] = "", rest[SENTENCE] = "";

    write_rest(c, rest, o);
    if (o->outlook.has_leak)
        write_leak(c, s, o);
    if (is_limited)
        write_limit(s, o);
    mv_text_append(s, SENTENCE, "%s%s", is_limited && *rest ? "; " : "", rest);
    return mv_arena_text(c->arena, s, strlen(s));
}

/* ---- advice ------------------------------------------------------------------------------ */

/* Writes the setting that served the request in a replay. */
static void advise_setting(const mv_oom_case *c, char s[SENTENCE], const mv_oom *o)
{
    const mv_oom_outlook *f = &o->outlook;
    char a[MV_SIZE_TEXT], b[MV_SIZE_TEXT];

    mv_text_append(
        s, SENTENCE, "set %s=%s: replayed within %s%s, it serves the request and leaves %s; or ",
        mv_release_conf(c->trace), f->conf, mv_size_text(a, f->surely ? f->limit_least : f->limit),
        f->limit_least == f->limit ? ""
        : f->surely                ? ", the most that was reserved"
                                   : " (the middle between the bounds of the limit)",
        mv_size_text(b, f->surely ? f->sure_spare : f->spare));
}

static void advise_joining(const mv_oom_case *c, char s[SENTENCE], const mv_oom *o)
{
    const mv_oom_outlook *f = &o->outlook;

    if (o->hole == MV_HOLE_UNCUT) {
        mv_text_append(s, SENTENCE, "raise max_split_size_mb, or leave it out");
    } else if (c->rules->expandable) {
        mv_text_append(s, SENTENCE,
                       "free or move the blocks that pin the holes before the large request");
    } else if (f->serves) {
        advise_setting(c, s, o);
        mv_text_append(s, SENTENCE, "free the blocks that pin the holes first");
    } else {
        mv_text_append(s, SENTENCE,
                       "free or move the blocks that pin the holes before the large request; %s",
                       f->tried ? "expandable_segments:True does not help: replayed, the request "
                                  "fails as well"
                                : "whether expandable_segments:True would help cannot be replayed "
                                  "from this file");
    }
}

/* Writes how to share the memory of other streams and pools. If a single pool would not be enough,
 * only the setting is advised. */
static void advise_sharing(const mv_oom_case *c, char s[SENTENCE], const mv_oom *o)
{
    uint64_t available = mv_oom_unreserved(o, o->outlook.limit_least);
    char size[MV_SIZE_TEXT];

    if (o->unused && o->unused + available >= o->segment)
        mv_text_append(
            s, SENTENCE,
            "call torch.cuda.empty_cache() before the capture of a CUDA graph: %s of the "
            "default pool was in unused segments, which PyTorch returns to the device "
            "before a request fails, but not during a capture; or ",
            mv_size_text(size, o->unused));
    if (o->outlook.serves && o->outlook.joined && !o->outlook.joined_serves) {
        advise_setting(c, s, o);
        mv_text_append(
            s, SENTENCE,
            "free the blocks that pin the holes first, which one pool and one stream for "
            "all would have as well (replayed)");
        return;
    }
    if (o->outlook.serves && !o->outlook.joined_serves)
        advise_setting(c, s, o);
    mv_text_append(s, SENTENCE,
                   "make the large allocations on one stream and in one pool; delete CUDA graphs "
                   "and MemPools that are no longer needed, then call torch.cuda.empty_cache()");
}

/* Writes the command that shows which lines hold the memory. A refused call can be specified only
 * by its event number. */
static void write_holders(char s[SENTENCE], const mv_oom *o)
{
    char at[MV_OOM_AT_TEXT];

    mv_oom_at_text(at, o->number);
    if (o->number == 0 && mv_oom_moment(o) == MV_BEFORE)
        return;
    if (o->number == 0)
        snprintf(at, sizeof at, "%u", mv_oom_moment(o));
    mv_text_append(s, SENTENCE, "; memviz peak --at %s shows who holds the memory", at);
}

/* Writes the advice to use less memory. A snapshot does not contain the device's size, and without a
 * failure near it, other processes look like a smaller device. */
static void write_less(char s[SENTENCE], const mv_oom *o)
{
    char size[MV_SIZE_TEXT];

    mv_text_append(
        s, SENTENCE,
        "use less memory: a smaller batch, activation checkpointing, sharded or offloaded "
        "state");
    if (o->total_source == MV_TOTAL_GUESSED && o->refused_by == MV_REFUSED_DEVICE)
        mv_text_append(
            s, SENTENCE,
            "; if the device has more than %s, other processes use the rest (nvidia-smi)",
            mv_size_text(size, o->total));
}

/* Writes that expandable segments would serve the request, within the limit that the replay had. If
 * the real limit may be lower, this is a condition. */
static void write_expandable(char s[SENTENCE], const mv_oom *o)
{
    char limit[MV_SIZE_TEXT];

    mv_text_append(s, SENTENCE, ". Expandable segments alone would serve this request");
    if (!o->outlook.surely)
        mv_text_append(s, SENTENCE, " if the limit is %s, the middle between its bounds",
                       mv_size_text(limit, o->outlook.limit));
    mv_text_append(s, SENTENCE, "%s",
                   o->decided_by == MV_OOM_BY_FORECAST
                       ? ", but not later ones"
                       : "; whether they would serve later requests is unknown");
}

/* Writes which limits can refuse memory although the device has enough. The file contains only the
 * limit in the allocator's settings. */
static void advise_limit(const mv_oom_case *c, char s[SENTENCE])
{
    mv_alloc_conf conf = mv_alloc_conf_of(c->trace);

    if (conf.fraction < 1)
        mv_text_append(s, SENTENCE,
                       "raise the limit, or stay below it: the settings have "
                       "per_process_memory_fraction:%g",
                       conf.fraction);
    else
        mv_text_append(
            s, SENTENCE,
            "find the limit and raise it, or stay below it: "
            "torch.cuda.set_per_process_memory_fraction(), a limit of MPS or of a container's GPU "
            "sharing, ulimit -v, on Windows and WSL the page file");
}

static void advise_recording(const mv_oom_case *c, char s[SENTENCE], const mv_oom *o)
{
    const mv_oom_outlook *f = &o->outlook;
    char size[MV_SIZE_TEXT];

    if (o->suspect == MV_OOM_FRAGMENTATION && f->serves)
        mv_text_append(s, SENTENCE,
                       "%s=%s serves this request, replayed within %s; whether later requests "
                       "would fit is unknown. ",
                       mv_release_conf(c->trace), f->conf,
                       mv_size_text(size, f->surely ? f->limit_least : f->limit));
    mv_text_append(s, SENTENCE,
                   "%secord from the start of the program, with a larger max_entries, to learn the "
                   "reason",
                   *s ? "R" : "r");
    write_holders(s, o);
}

static const char *advice(const mv_oom_case *c, const mv_oom *o)
{
    char s[SENTENCE] = "";

    if (o->outlook.has_leak && !is_beyond_device(o))
        mv_text_append(s, SENTENCE, "fix the leak first (memviz leaks shows it)");
    else if (is_undecided(o))
        advise_recording(c, s, o);
    else if (o->verdict == MV_OOM_FRAGMENTATION)
        advise_joining(c, s, o);
    else if (o->verdict == MV_OOM_STREAM_OR_POOL)
        advise_sharing(c, s, o);
    else if (o->verdict == MV_OOM_PENDING_FREE && o->waits_elsewhere)
        mv_text_append(s, SENTENCE,
                       "free memory on the stream that uses it, or synchronise the streams "
                       "(record_stream) before the capture of a CUDA graph begins: during a "
                       "capture, PyTorch does not wait for them");
    else if (o->verdict == MV_OOM_PENDING_FREE)
        mv_text_append(s, SENTENCE,
                       "synchronise the streams that use the tensors (record_stream) before "
                       "requesting more memory, or try the request again");
    else if (o->verdict == MV_OOM_OUTSIDE)
        mv_text_append(s, SENTENCE,
                       "look for other processes (nvidia-smi) and for libraries that allocate "
                       "outside PyTorch (memviz run, then memviz ledger)");
    else if (is_beyond_device(o))
        mv_text_append(
            s, SENTENCE,
            "check the shape requested there: freeing other memory cannot make enough room");
    else {
        if (o->refused_by == MV_REFUSED_LIMIT)
            advise_limit(c, s);
        else
            write_less(s, o);
        write_holders(s, o);
        if (o->outlook.serves)
            write_expandable(s, o);
    }
    return mv_arena_text(c->arena, s, strlen(s));
}

const char *mv_oom_at_text(char text[MV_OOM_AT_TEXT], uint32_t number)
{
    if (number > 1)
        snprintf(text, MV_OOM_AT_TEXT, "oom#%u", number);
    else
        snprintf(text, MV_OOM_AT_TEXT, "oom");
    return text;
}

bool mv_oom_words(const mv_oom_case *c, mv_oom *o)
{
    o->why = why(c, o);
    o->advice = advice(c, o);
    return o->why && o->advice;
}

/* ---- sufficient changes --------------------------------------------------------- */

bool mv_oom_change_words(const mv_oom_case *c, mv_oom *o)
{
    const mv_oom_change *change = &o->change;
    char s[SENTENCE] = "", size[MV_SIZE_TEXT], label[256];
    const char *next = "would have fitted with ";

    if (change->free_bytes) {
        mv_stack_id stack = c->heap->lives->allocs.stack[change->biggest];
        mv_text_append(s, SENTENCE, "%s%s less in use (%u block%s, the largest of %s)", next,
                       mv_size_text(size, change->free_bytes), change->free_blocks,
                       mv_plural(change->free_blocks),
                       mv_culprit_label(c->trace, c->sites->kinds, stack, label, sizeof label));
        next = ", or ";
    }
    if (change->smaller_by) {
        mv_text_append(s, SENTENCE, "%sa request %s smaller", next,
                       mv_size_text(size, change->smaller_by));
        next = ", or ";
    }
    if (change->more_memory)
        mv_text_append(s, SENTENCE, "%s%s more memory", next,
                       mv_size_text(size, change->more_memory));
    o->enough = mv_arena_text(c->arena, s, strlen(s));
    return o->enough != NULL;
}

/* ---- all failures ------------------------------------------------------------------------ */

static bool find_verdict(mv_arena *arena, const mv_lives *lives, mv_window window, mv_ooms *out)
{
    bool is_complete = lives->history == MV_HISTORY_COMPLETE;

    out->is_known =
        out->count > 0 || (is_complete && window.first == 0 && window.end >= lives->events.count);
    out->why = "";
    if (out->count > 0) {
        out->verdict =
            mv_arena_printf(arena, "%u request%s failed", out->count, mv_plural(out->count));
    } else if (out->is_known) {
        out->verdict = "no request failed";
        out->why = "every request for memory was served";
    } else {
        out->verdict = "failed requests: none recorded";
        out->why = is_complete ? "only part of the events was selected" : lives->history_why;
    }
    return out->verdict != NULL;
}

bool mv_ooms_words(mv_arena *arena, const mv_lives *lives, mv_window window, mv_ooms *out)
{
    char size[MV_SIZE_TEXT];

    out->retried = out->collecting = out->unlooked = "";
    if (out->untried)
        out->unlooked = mv_arena_printf(
            arena,
            "to bound the time, only the first %u failures, the last and some between "
            "them were forecast and replayed: %u were not",
            MV_MOST_OOM_TRIALS, out->untried);
    if (out->retries)
        out->retried = mv_arena_printf(
            arena, "%u request%s succeeded only after PyTorch freed %s of cache", out->retries,
            mv_plural(out->retries), mv_size_text(size, out->released));
    if (out->collections)
        out->collecting = mv_arena_printf(
            arena, "garbage_collection_threshold released %s in %u collection%s",
            mv_size_text(size, out->collected), out->collections, mv_plural(out->collections));
    return find_verdict(arena, lives, window, out) && out->retried && out->collecting &&
           out->unlooked;
}
