#include "analyze/oom_text/oom_text.h"
#include "base/names.h"

#define MIB (UINT64_C(1) << 20)

static const mv_printed_size unknown = {MV_NO_BYTES, 0, MV_NO_BYTES};

MV_NAMES(mv_text_verdict_name, mv_text_verdict, MV_TEXT_VERDICT_LIST, MV_SECOND, "")

const char *mv_text_refuser(const mv_oom_text *t)
{
    return t->over_limit == MV_ANSWER_YES || t->had_room == MV_ANSWER_YES ? "limit"
           : t->had_room == MV_ANSWER_NO                                  ? "device"
                                                                          : "unknown";
}

/* ---- sizes with bounds ------------------------------------------------------------------------
 */

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > MV_NO_BYTES - 1 - b ? MV_NO_BYTES - 1 : a + b;
}

static uint64_t subtract(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static mv_printed_size plus(mv_printed_size a, mv_printed_size b)
{
    if (!mv_size_is_printed(a) || !mv_size_is_printed(b))
        return unknown;
    return (mv_printed_size){add(a.bytes, b.bytes), add(a.least, b.least), add(a.most, b.most)};
}

/* Returns a difference that is at least 0; unknown if the two sizes contradict this. */
static mv_printed_size minus(mv_printed_size a, mv_printed_size b)
{
    if (!mv_size_is_printed(a) || !mv_size_is_printed(b) || a.most < b.least)
        return unknown;
    return (mv_printed_size){subtract(a.bytes, b.bytes), subtract(a.least, b.most),
                             a.most - b.least};
}

/* Whether a >= b. */
static mv_answer is_enough(mv_printed_size a, mv_printed_size b)
{
    if (!mv_size_is_printed(a) || !mv_size_is_printed(b))
        return MV_ANSWER_OPEN;
    return a.least >= b.most ? MV_ANSWER_YES : a.most < b.least ? MV_ANSWER_NO : MV_ANSWER_OPEN;
}

/* ---- figures -------------------------------------------------------------------------------- */

/* Returns the size of the program's request, derived from the segment that PyTorch requested. */
static mv_printed_size tensor_of(const mv_error_text *e)
{
    mv_printed_size tensor = e->size[MV_ERROR_REQUESTED];

    if (!mv_size_is_printed(tensor) || e->is_async || e->is_of_host)
        return tensor;
    if (tensor.least <= 2 * MIB && tensor.most >= 2 * MIB)
        tensor.least = 1;
    else if (tensor.least <= 20 * MIB && tensor.most >= 20 * MIB)
        tensor.least = MIB + 1;
    else
        tensor.least = subtract(tensor.least, 2 * MIB) + 1;
    return tensor;
}

/* Finds this process in the message's list of processes. In a container, a process has a number
 * different from the one that NVML reports, so the message lists it among the other processes. This
 * process must be on the list if the listed memory plus the memory reserved by PyTorch exceeds the
 * memory in use on the device. It is then identified if only one process has as much memory as
 * PyTorch reserved. */
static void find_own(mv_oom_text *t)
{
    const mv_error_text *e = t->text;
    mv_printed_size reserved = e->size[MV_ERROR_RESERVED];
    mv_printed_size held = mv_size_is_printed(reserved) ? reserved : e->size[MV_ERROR_ALLOCATED];
    mv_printed_size used = minus(e->size[MV_ERROR_CAPACITY], e->size[MV_ERROR_FREE]);
    uint32_t own = MV_ERROR_PROCESSES, count = 0;

    t->own_pid = MV_NO_BYTES;
    t->process = e->size[MV_ERROR_PROCESS];
    if (mv_size_is_printed(t->process) || e->hides_processes || e->process_count == 0 ||
        e->process_count > MV_ERROR_PROCESSES || !mv_size_is_printed(held) ||
        is_enough(used, plus(e->listed, held)) != MV_ANSWER_NO)
        return;
    for (uint32_t i = 0; i < e->process_count; i++)
        if (is_enough(e->processes[i].size, held) != MV_ANSWER_NO) {
            own = i;
            count++;
        }
    if (count == 1) {
        t->process = e->processes[own].size;
        t->own_pid = e->processes[own].pid;
    }
}

static void find_figures(mv_oom_text *t)
{
    const mv_printed_size *s = t->text->size;

    t->tensor = tensor_of(t->text);
    find_own(t);
    t->not_pytorch = minus(t->process, s[MV_ERROR_RESERVED]);
    t->others = minus(minus(s[MV_ERROR_CAPACITY], s[MV_ERROR_FREE]), t->process);
    t->outside = minus(minus(s[MV_ERROR_CAPACITY], s[MV_ERROR_FREE]), s[MV_ERROR_RESERVED]);
    t->pending = minus(s[MV_ERROR_ACTIVE], s[MV_ERROR_ALLOCATED]);
    t->releasable = minus(minus(s[MV_ERROR_RESERVED], s[MV_ERROR_ACTIVE]), s[MV_ERROR_SPLIT]);
}

/* ---- conclusions ---------------------------------------------------------------------------- */

static mv_answer negate(mv_answer answer)
{
    return answer == MV_ANSWER_OPEN ? answer
           : answer == MV_ANSWER_NO ? MV_ANSWER_YES
                                    : MV_ANSWER_NO;
}

static mv_answer over_limit(const mv_error_text *e)
{
    const mv_printed_size *s = e->size;
    mv_printed_size held = e->is_async ? s[MV_ERROR_ALLOCATED] : s[MV_ERROR_RESERVED];

    if (!mv_size_is_printed(s[MV_ERROR_LIMIT]))
        return e->mentions_limit ? MV_ANSWER_NO : MV_ANSWER_OPEN;
    return negate(is_enough(s[MV_ERROR_LIMIT], plus(held, s[MV_ERROR_REQUESTED])));
}

static mv_printed_size lesser(mv_printed_size a, mv_printed_size b)
{
    if (!mv_size_is_printed(a) || !mv_size_is_printed(b))
        return mv_size_is_printed(a) ? a : b;
    return (mv_printed_size){a.bytes < b.bytes ? a.bytes : b.bytes,
                             a.least < b.least ? a.least : b.least,
                             a.most < b.most ? a.most : b.most};
}

/* Whether the unallocated memory, plus the memory left on the device or within the limit, is enough
 * for the tensor. Without a limit, a device that refused memory although it had room adds
 * nothing. */
static mv_answer holes_do(const mv_oom_text *t)
{
    const mv_printed_size *s = t->text->size;
    mv_printed_size left = s[MV_ERROR_FREE];

    if (mv_size_is_printed(s[MV_ERROR_LIMIT]))
        left = lesser(left, minus(s[MV_ERROR_LIMIT], s[MV_ERROR_RESERVED]));
    else if (t->had_room == MV_ANSWER_YES)
        left = (mv_printed_size){0};
    return is_enough(plus(s[MV_ERROR_UNALLOCATED], left), t->tensor);
}

static mv_answer too_large(const mv_oom_text *t)
{
    const mv_printed_size *s = t->text->size;
    mv_printed_size needed = plus(s[MV_ERROR_ALLOCATED], t->tensor);

    if (mv_size_is_printed(t->not_pytorch))
        needed = plus(needed, t->not_pytorch);
    return negate(is_enough(s[MV_ERROR_CAPACITY], needed));
}

static void sort_out(mv_oom_text *t, mv_answer answer, const char *cause)
{
    if (answer == MV_ANSWER_NO)
        t->excluded[t->excluded_count++] = cause;
    else
        t->possible[t->possible_count++] = cause;
}

/* Lists the possible and the excluded causes. A device that has room refuses memory because of some
 * limit, which may not be PyTorch's. */
static void list_causes(mv_oom_text *t)
{
    bool had_room = t->had_room == MV_ANSWER_YES, is_large = t->too_large == MV_ANSWER_YES;
    mv_answer holes = is_large ? MV_ANSWER_NO : t->holes_do;

    sort_out(t, had_room ? MV_ANSWER_OPEN : t->over_limit, "limit");
    sort_out(t, had_room ? MV_ANSWER_NO : t->too_large, "capacity");
    sort_out(t, holes, "fragmentation");
    if (!t->text->is_async) { /* cudaMallocAsync has a single pool for everything */
        sort_out(t, holes, "stream_or_pool");
        sort_out(t, holes, "pending_free");
    }
    sort_out(t, had_room || is_large ? MV_ANSWER_NO : t->others_do, "outside_pytorch");
}

static void conclude(mv_oom_text *t)
{
    const mv_printed_size *s = t->text->size;

    find_figures(t);
    t->verdict = MV_TEXT_UNKNOWN;
    if (t->text->is_summary || t->text->is_of_host || !mv_size_is_printed(s[MV_ERROR_REQUESTED]))
        return;
    t->had_room = is_enough(s[MV_ERROR_FREE], s[MV_ERROR_REQUESTED]);
    t->over_limit = over_limit(t->text);
    t->holes_do = holes_do(t);
    t->others_do = is_enough(plus(t->others, s[MV_ERROR_FREE]), s[MV_ERROR_REQUESTED]);
    t->too_large = too_large(t);
    list_causes(t);
    if (t->had_room != MV_ANSWER_YES && t->too_large == MV_ANSWER_YES)
        t->verdict = MV_TEXT_CAPACITY;
    else if (t->over_limit == MV_ANSWER_YES)
        t->verdict = MV_TEXT_LIMIT;
    else if (t->had_room == MV_ANSWER_NO && t->over_limit == MV_ANSWER_NO &&
             t->holes_do == MV_ANSWER_NO && t->others_do == MV_ANSWER_YES)
        t->verdict = MV_TEXT_OUTSIDE;
}

mv_code mv_oom_text_find(mv_arena *arena, const mv_error_text *text, mv_oom_text *out, mv_err *err)
{
    *out = (mv_oom_text){.text = text, .why = "", .advice = ""};
    conclude(out);
    return mv_oom_text_write(arena, out)
               ? MV_OK
               : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "an error message");
}
