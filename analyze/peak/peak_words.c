#include "analyze/peak/peak_words.h"

#include <stdio.h>

#include "base/size.h"
#include "base/text.h"

/* Adds a doubt, unless it is "". Returns false if `text` is NULL, which means out of memory. */
static bool add(mv_peak_doubts *out, const char *text)
{
    if (text && *text)
        out->text[out->count++] = text;
    return text != NULL;
}

/* Returns "history is late: the true peak may be earlier and higher"; "" if the history is
 * complete, NULL when out of memory. */
static const char *history_doubt(mv_arena *arena, mv_history_kind history)
{
    if (history == MV_HISTORY_COMPLETE)
        return "";
    if (history == MV_HISTORY_NONE)
        return "no events: only the memory alive when the file was written is known";
    return mv_arena_printf(arena, "history is %s: the true peak may be earlier and higher",
                           mv_history_name(history));
}

/* Returns the doubt about inexact block sizes. Returns NULL when out of memory. */
static const char *inexact_text(mv_arena *arena, uint64_t blocks)
{
    if (blocks == 0)
        return "";
    if (blocks == 1)
        return "1 block size from before the events is a lower bound";
    return mv_arena_printf(arena, "%llu block sizes from before the events are lower bounds",
                           (unsigned long long)blocks);
}

bool mv_peak_doubts_find(mv_arena *arena, const mv_lives *lives, mv_doubted about,
                         mv_peak_doubts *out)
{
    *out = (mv_peak_doubts){0};
    if (about == MV_DOUBTED_PEAK && !add(out, history_doubt(arena, lives->history)))
        return false;
    if (about == MV_DOUBTED_PEAK && lives->has_no_heap)
        add(out, "the file has no final heap: blocks from before the events may be missing");
    if (about != MV_DOUBTED_END && !add(out, inexact_text(arena, lives->doubts.inexact_blocks)))
        return false;
    if (about != MV_DOUBTED_END && lives->is_missing_segment_events)
        add(out,
            "the file contains no segment events: memory reserved before the end is uncertain");
    return add(out, mv_residual_text(arena, lives));
}

bool mv_peak_doubts_add_known(mv_arena *arena, const mv_trace *trace, uint32_t device,
                              uint64_t peak, mv_peak_doubts *out)
{
    uint64_t known = mv_fact_of_device(trace, MV_FACT_PEAK, device);
    char size[MV_SIZE_TEXT];

    return known <= peak ||
           add(out, mv_arena_printf(
                        arena, "the allocator reports a peak of %s, which is not in these events",
                        mv_size_text(size, known)));
}

const char *mv_category_advice(uint16_t category)
{
    switch ((mv_category)category) {
    case MV_CATEGORY_PARAMETER:
        return "parameters in a narrower type, or sharded over more devices, take less memory";
    case MV_CATEGORY_GRADIENT:
        return "gradients can be sharded, or freed by zero_grad(set_to_none=True) before the peak";
    case MV_CATEGORY_OPTIMIZER_STATE:
        return "the optimizer's state can be sharded, offloaded, or kept in a narrower type";
    case MV_CATEGORY_ACTIVATION:
        return "activation checkpointing, a smaller batch or a narrower type reduce it";
    case MV_CATEGORY_TEMPORARY:
        return "chunked, in-place or fused work needs smaller temporaries";
    case MV_CATEGORY_INPUT:
        return "a smaller batch or fewer prefetched batches reduce it";
    case MV_CATEGORY_WORKSPACE:
        return "configure smaller workspaces for the library that allocates them";
    case MV_CATEGORY_COMMUNICATION:
        return "smaller communication buckets reduce it";
    case MV_CATEGORY_EXECUTABLE:
        return "jax.clear_caches() drops compiled programs; fewer shapes and static arguments "
               "create fewer of them, and arrays passed as arguments do not become constants of a "
               "program";
    default:
        return "see its stack and lifetime in the picture";
    }
}

const char *mv_peak_target_text(const mv_peak_target *target, char *out, size_t size)
{
    static const char *const doubts[] = {"", "; the true one may be higher",
                                         "; the true one may be lower",
                                         "; the true one may be higher or lower"};
    char bytes[MV_SIZE_TEXT], peak[MV_SIZE_TEXT], these[24] = "this one";

    mv_size_text(bytes, target->bytes);
    if (target->count != 1)
        snprintf(these, sizeof these, "these %u", target->count);
    if (target->count == 0 && target->reaches)
        snprintf(out, size, "target %s: %sthe peak is not above it%s", bytes,
                 target->is_known ? "" : "as far as recorded ",
                 target->is_known ? "" : "; the true one may be");
    else
        snprintf(out, size, "target %s%s: without %s%s the %speak is %s%s", bytes,
                 target->reaches ? "" : " is out of reach", these,
                 target->is_least && target->count > 1 ? " (fewer are not enough)" : "",
                 target->bound == MV_BOUND_EXACT ? "" : "recorded ",
                 mv_size_text(peak, target->peak), doubts[target->bound]);
    return out;
}
