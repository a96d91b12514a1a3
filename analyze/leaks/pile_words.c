#include "analyze/leaks/pile_words.h"

#include <stdio.h>

#include "base/numbers.h"
#include "base/size.h"
#include "base/text.h"

#define CYCLE                                                                                   \
    "break the reference cycle that holds it (an object that refers to itself, a closure, a "   \
    "stored exception; torch.utils.viz._cycles.warn_tensor_cycles() shows them), make one "     \
    "reference of it weak (weakref), or call gc.collect() more often (cheap after gc.freeze() " \
    "at the end of the setup)"

static const char *every_of(mv_arena *arena, const mv_pile *pile)
{
    char least[MV_COUNT_TEXT], most[MV_COUNT_TEXT], times[MV_COUNT_TEXT];

    mv_count_text(least, pile->least_steps);
    mv_count_text(most, pile->most_steps);
    mv_count_text(times, pile->times);
    if (pile->times == 1)
        return mv_arena_printf(arena, "all at once, once so far, after %s steps", most);
    if (pile->least_steps == pile->most_steps)
        return mv_arena_printf(arena, "all at once every %s steps, %s times", most, times);
    return mv_arena_printf(arena, "all at once every %s to %s steps, %s times", least, most, times);
}

/* Names the place where the blocks were freed: the innermost Python frame or, without Python, the
 * label of the whole stack. */
static const char *place_of(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                            char *out, size_t size)
{
    mv_frame_id leaf = mv_python_leaf(trace, kinds, stack);

    return leaf.row == MV_NO_ROW ? mv_culprit_label(trace, kinds, stack, out, size)
                                 : mv_frame_label(trace, leaf, out, size);
}

static const char *evidence_of(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds,
                               const mv_pile *pile)
{
    char place[160], others[64] = "";

    place_of(trace, kinds, pile->freed_at, place, sizeof place);
    if (pile->places > 1)
        snprintf(others, sizeof others, " and %u other place%s", pile->places - 1,
                 mv_plural(pile->places - 1));
    switch (pile->proof) {
    case MV_PILE_BY_COLLECTOR:
        return mv_arena_printf(
            arena, "the garbage collector is on the stacks of the frees, at %s%s", place, others);
    case MV_PILE_IN_PASSING:
        return mv_arena_printf(arena,
                               "they were freed at %s%s, which runs in most steps and rarely frees "
                               "any: the garbage collector ran there",
                               place, others);
    case MV_PILE_ANYWHERE:
        return mv_arena_printf(arena,
                               "they were freed at %u places of the program, as the garbage "
                               "collector does",
                               pile->places);
    case MV_PILE_ONE_PLACE:
        return mv_arena_printf(arena,
                               "they were freed at %s%s, where a list is emptied or the garbage "
                               "collector runs",
                               place, others);
    default:
        return "the stacks of the frees are not in the file, so either a list is emptied or the "
               "garbage collector runs";
    }
}

static const char *advice_of(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds,
                             const mv_pile *pile)
{
    char label[160];

    mv_culprit_label(trace, kinds, pile->stack, label, sizeof label);
    if (pile->cause == MV_PILE_OF_CYCLES)
        return mv_arena_printf(
            arena, "objects created at %s wait for Python's garbage collector: " CYCLE, label);
    return mv_arena_printf(
        arena,
        "if a list holds the objects created at %s, keep numbers or copies on the CPU, "
        "or empty it more often; if none does, " CYCLE,
        label);
}

const char *mv_pile_cause_name(mv_pile_cause cause)
{
    return cause == MV_PILE_OF_CYCLES ? mv_leak_kind_name(MV_LEAK_CYCLE)
                                      : mv_leak_kind_name(MV_LEAK_UNKNOWN);
}

bool mv_pile_report(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds, mv_pile *pile)
{
    pile->every = every_of(arena, pile);
    pile->evidence = evidence_of(arena, trace, kinds, pile);
    pile->advice = advice_of(arena, trace, kinds, pile);
    return pile->every && pile->evidence && pile->advice;
}

const char *mv_pile_text(const mv_pile *pile, char *out, size_t size)
{
    char at_peak[MV_SIZE_TEXT], peak[MV_SIZE_TEXT];

    snprintf(out, size, "at the peak %s of %s, %.0f %%; freed %s",
             mv_size_text(at_peak, pile->at_peak), mv_size_text(peak, pile->peak),
             pile->peak ? 100.0 * (double)pile->at_peak / (double)pile->peak : 0, pile->every);
    return out;
}
