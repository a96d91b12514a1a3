#include "analyze/fragmentation_advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/block_size.h"
#include "analyze/culprit.h"
#include "analyze/size.h"

#define MIB ((uint64_t)1 << 20)

#define WORTH_A_WORD (64 * MIB) /* less is not worth a change */
#define MANY_SIZES   6          /* of requests: shapes vary */
#define OLD_SHARE    10         /* of the events so far: younger blocks come and go */

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_sites *sites;
    mv_fragmentation *f;
    mv_block_rules rules;
    bool failed;
} adviser;

__attribute__((format(printf, 4, 5))) static void advise(adviser *a, const char *setting,
                                                         uint64_t bytes, const char *format, ...)
{
    mv_fragmentation *f = a->f;
    char text[768];
    va_list args;

    if (f->advice_count == MV_MOST_ADVICE)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    f->advice[f->advice_count] =
        (mv_advice){setting, mv_arena_text(a->arena, text, strlen(text)), bytes, MV_NO_STACK};
    a->failed = a->failed || !f->advice[f->advice_count++].text;
}

/* Whether the culprit of a stack is a line that somebody can change. */
static bool has_line(const adviser *a, mv_stack_id stack)
{
    mv_frame_id frame = mv_culprit_frame(a->trace, a->sites->kinds, stack);

    return frame.row != MV_NO_ROW && a->sites->kinds[frame.row] <= MV_FRAME_PACKAGE;
}

static bool is_old(const adviser *a, const mv_pin *line)
{
    return mv_pin_age(line, a->f->at.event) * OLD_SHARE >= (uint64_t)(uint32_t)(a->f->at.event + 1);
}

/* Lines whose old, small blocks strand much: a fair part of all, and of what was taken too much. */
static void about_pins(adviser *a)
{
    const mv_pins *pins = &a->f->pins;
    char stranded[MV_SIZE_TEXT], own[MV_SIZE_TEXT], label[256];

    for (uint32_t i = 0; i < pins->line_count && i < 2; i++) {
        const mv_pin *line = &pins->lines[i];
        if (line->stranded < WORTH_A_WORD / 2 || line->stranded < pins->stranded / 5 ||
            line->stranded < a->f->beyond / 5)
            return;
        if (line->stranded < line->bytes / 2 || !has_line(a, line->stack) || !is_old(a, line))
            continue;
        advise(a, "", line->stranded,
               "%s keeps %s in %u blocks that strand %s in %u segments: allocate them before the "
               "large tensors around them, gather them in one buffer made early, or move them to "
               "the CPU",
               mv_culprit_label(a->trace, a->sites->kinds, line->stack, label, sizeof label),
               mv_size_text(own, line->bytes), line->blocks, mv_size_text(stranded, line->stranded),
               line->segments);
        a->f->advice[a->f->advice_count - 1].stack = line->stack;
    }
}

/* The line with most bytes of segments that were added for `reason`; they are sorted already. */
static const char *line_behind(adviser *a, mv_growth_reason reason, char *label, size_t size)
{
    const mv_segment_growths *g = &a->f->growths;
    uint64_t *bytes = mv_push_array(a->arena, uint64_t, a->sites->groups);
    mv_stack_id stack = MV_NO_STACK;
    uint64_t most = 0;

    a->failed = a->failed || !bytes;
    for (uint32_t i = 0; bytes && i < g->count; i++) {
        uint32_t group = a->sites->group[mv_site_of(a->sites, g->rows[i].stack)];
        if (g->rows[i].reason != reason || !has_line(a, g->rows[i].stack))
            continue;
        bytes[group] += g->rows[i].segment_bytes;
        if (bytes[group] > most) {
            most = bytes[group];
            stack = g->rows[i].stack;
        }
    }
    return most ? mv_culprit_label(a->trace, a->sites->kinds, stack, label, size) : NULL;
}

static void about_segments(adviser *a)
{
    const mv_segment_growths *g = &a->f->growths;
    uint64_t bytes = g->bytes[MV_REASON_NO_HOLE] + a->f->failed;
    uint32_t segments = g->segments[MV_REASON_NO_HOLE] + (a->f->failed > 0);
    char added[MV_SIZE_TEXT], label[256];
    const char *line = line_behind(a, MV_REASON_NO_HOLE, label, sizeof label);

    if (bytes < WORTH_A_WORD || a->rules.expandable)
        return;
    advise(
        a, "expandable_segments:True", bytes,
        "%s in %u segment%s were asked of the device while enough memory was free in pieces%s%s: "
        "with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True the free memory of a stream is "
        "one range that grows instead",
        mv_size_text(added, bytes), segments, segments > 1 ? "s" : "", line ? ", mostly for " : "",
        line ? line : "");
}

static void about_split_limit(adviser *a)
{
    uint64_t bytes = a->f->growths.bytes[MV_REASON_SPLIT_LIMIT];
    char added[MV_SIZE_TEXT], limit[MV_SIZE_TEXT];

    if (bytes < WORTH_A_WORD)
        return;
    advise(a, "max_split_size_mb", bytes,
           "%s were added although a free block was large enough: max_split_size_mb keeps blocks "
           "of %s and more from being split; raise it, or leave it out",
           mv_size_text(added, bytes), mv_size_text(limit, a->rules.max_split));
}

static void about_streams(adviser *a)
{
    const mv_segment_growths *g = &a->f->growths;
    char added[MV_SIZE_TEXT];

    if (g->bytes[MV_REASON_PENDING] >= WORTH_A_WORD)
        advise(a, "", g->bytes[MV_REASON_PENDING],
               "%s were added while freed blocks waited for another stream (record_stream): "
               "synchronise the streams before the tensors are dropped, or allocate on the stream "
               "that uses them",
               mv_size_text(added, g->bytes[MV_REASON_PENDING]));
    if (g->bytes[MV_REASON_STREAM] >= WORTH_A_WORD)
        advise(a, "", g->bytes[MV_REASON_STREAM],
               "%s were added while memory of another stream was free: a block serves the stream "
               "that it was made on alone, so let one stream do the large allocations",
               mv_size_text(added, g->bytes[MV_REASON_STREAM]));
    if (g->bytes[MV_REASON_POOL] >= WORTH_A_WORD)
        advise(a, "", g->bytes[MV_REASON_POOL],
               "%s were added while memory of another pool was free: CUDA graphs and MemPools "
               "share memory only when they share a pool",
               mv_size_text(added, g->bytes[MV_REASON_POOL]));
}

static bool is_private(const adviser *a)
{
    uint64_t whole = 0;

    for (uint32_t i = 0; i < a->f->domain_count; i++)
        if (a->f->domains[i].pool.row != MV_DEFAULT_POOL.row)
            whole += a->f->domains[i].whole;
    return whole > a->f->whole / 2;
}

static void about_whole(adviser *a)
{
    uint64_t whole = a->f->whole;
    char size[MV_SIZE_TEXT];

    if (whole < WORTH_A_WORD || whole < a->f->bytes.reserved / 4)
        return;
    if (is_private(a))
        advise(a, "torch.cuda.empty_cache()", whole,
               "%s are free in private pools: they go back once the CUDA graphs or MemPools that "
               "own them are deleted and torch.cuda.empty_cache() is called",
               mv_size_text(size, whole));
    else if (mv_setting_is_on(a->trace, "garbage_collection_threshold"))
        advise(a, "torch.cuda.empty_cache()", whole,
               "%s lie in segments that nothing uses: torch.cuda.empty_cache() gives them back",
               mv_size_text(size, whole));
    else
        advise(
            a, "garbage_collection_threshold:0.8", whole,
            "%s lie in segments that nothing uses: torch.cuda.empty_cache() gives them back now, "
            "garbage_collection_threshold:0.8 with a memory limit as it becomes scarce",
            mv_size_text(size, whole));
}

static int by_request(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Requests that did not fit come in many sizes: padding them to a few lets them share blocks. */
static void about_sizes(adviser *a)
{
    const mv_segment_growths *g = &a->f->growths;
    uint64_t *sizes = mv_push_array(a->arena, uint64_t, g->count);
    uint32_t count = 0, distinct = 0;
    char least[MV_SIZE_TEXT], most[MV_SIZE_TEXT];

    a->failed = a->failed || !sizes;
    for (uint32_t i = 0; sizes && i < g->count; i++)
        if (g->rows[i].reason == MV_REASON_NO_HOLE && g->rows[i].request > MV_SMALL_REQUEST)
            sizes[count++] = g->rows[i].request;
    if (count < 8 || g->bytes[MV_REASON_NO_HOLE] < WORTH_A_WORD)
        return;
    qsort(sizes, count, sizeof *sizes, by_request);
    for (uint32_t i = 0; i < count; i++)
        distinct += i == 0 || sizes[i] != sizes[i - 1];
    if (distinct < MANY_SIZES || a->rules.divisions[10] > 1)
        return;
    advise(a, "roundup_power2_divisions:8", g->bytes[MV_REASON_NO_HOLE] / 2,
           "the %u large requests that found no hole have %u sizes from %s to %s: pad batches and "
           "lengths to a few shapes, or round with roundup_power2_divisions:8, so that freed "
           "blocks fit again",
           count, distinct, mv_size_text(least, sizes[0]), mv_size_text(most, sizes[count - 1]));
}

static void about_rounding(adviser *a)
{
    uint64_t rounding = a->f->bytes.rounding;
    char size[MV_SIZE_TEXT];

    if (rounding < WORTH_A_WORD || rounding < (a->f->bytes.allocated + a->f->bytes.pending) / 10)
        return;
    advise(a, "roundup_power2_divisions", rounding,
           "%s of the blocks in use are rounding: use more divisions in roundup_power2_divisions, "
           "or allocate fewer tensors just above a step",
           mv_size_text(size, rounding));
}

static int by_bytes(const void *a, const void *b)
{
    const mv_advice *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return strcmp(x->setting, y->setting);
}

mv_code mv_fragmentation_advise(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                                const mv_sites *sites, mv_fragmentation *out, mv_err *err)
{
    adviser a = {.arena = arena, .trace = trace, .lives = lives, .sites = sites, .f = out};
    uint32_t lines = 0;

    a.rules = mv_block_rules_of(trace);
    if (out->fragmented) {
        about_pins(&a);
        lines = out->advice_count;
        about_segments(&a);
        about_sizes(&a);
        about_split_limit(&a);
        about_streams(&a);
    }
    about_rounding(&a);
    qsort(out->advice + lines, out->advice_count - lines, sizeof *out->advice, by_bytes);
    if (out->fragmented)
        about_whole(&a);
    return a.failed ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "advice") : MV_OK;
}
