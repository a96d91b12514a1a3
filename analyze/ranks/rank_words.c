#include "analyze/ranks/rank_words.h"

#include "base/size.h"
#include "base/text.h"

#define SENTENCE 1024

typedef struct {
    mv_arena *arena;
    const mv_summary *const *ranks;
    uint32_t count;
    mv_ranks *out;
} speaker;

/* ---- outliers ---------------------------------------------------------------------------- */

/* Writes one of the lines at which a rank differs. The bytes are the sum over all these lines. */
static void write_place(const speaker *s, char text[SENTENCE], const mv_rank_outlier *found)
{
    char part[MV_SIZE_TEXT], label[256];

    if (found->stack.row == MV_NO_ROW)
        return;
    if (found->reason == MV_RANK_LEAK)
        mv_text_append(text, SENTENCE, ", the largest leak");
    else if (found->at_stack == MV_NO_BYTES)
        mv_text_append(text, SENTENCE, ", the largest part");
    else if (found->at_stack != found->bytes)
        mv_text_append(text, SENTENCE, ", %s of it", mv_size_text(part, found->at_stack));
    mv_text_append(
        text, SENTENCE, " at %s",
        mv_culprit_label(s->ranks[found->code_of]->code, NULL, found->stack, label, sizeof label));
}

/* Whether the reason compares sites. Ranks without stacks may have the same sites as other
 * ranks. */
static bool compares_places(mv_rank_reason reason)
{
    return reason == MV_RANK_OWN_SITES || reason == MV_RANK_MISSING_SITES;
}

static const char *write_outlier(const speaker *s, const mv_rank_outlier *found)
{
    uint32_t unplaced = s->out->each[s->out->group[found->rank]].unplaced;
    char text[SENTENCE] = "", bytes[MV_SIZE_TEXT];

    mv_text_append(text, SENTENCE, "%s", mv_rank_reason_text(found->reason));
    if (found->factor != 0)
        mv_text_append(text, SENTENCE, " (%.2f times)", found->factor);
    if (found->bytes)
        mv_text_append(text, SENTENCE, ": %s", mv_size_text(bytes, found->bytes));
    write_place(s, text, found);
    if (unplaced && compares_places(found->reason))
        mv_text_append(text, SENTENCE, " (unknown for %u without stacks)", unplaced);
    return mv_arena_text(s->arena, text, strlen(text));
}

/* ---- the verdict ------------------------------------------------------------------------- */

/* Appends each reason once: ": leak, out of memory". */
static void write_reasons(const speaker *s, char text[SENTENCE])
{
    static const char *const words[MV_RANK_REASON_COUNT] = {
        [MV_RANK_LEAK] = "leak",
        [MV_RANK_OOM] = "out of memory",
        [MV_RANK_LARGER_BATCH] = "larger batch",
        [MV_RANK_SMALLER_BATCH] = "smaller batch",
        [MV_RANK_OWN_SITES] = "memory at other places",
        [MV_RANK_MISSING_SITES] = "missing memory",
        [MV_RANK_LARGER] = "more memory",
        [MV_RANK_SMALLER] = "less memory",
        [MV_RANK_LARGER_UNPLACED] = "more memory",
        [MV_RANK_SMALLER_UNPLACED] = "less memory",
        [MV_RANK_RESERVED] = "more reserved",
        [MV_RANK_DIFFERENT_STACKS] = "other order or code",
    };
    uint32_t seen = 0;

    for (uint32_t i = 0; i < s->out->count; i++) {
        uint32_t bit = 1u << s->out->outliers[i].reason;
        if (!(seen & bit))
            mv_text_append(text, SENTENCE, "%s %s", seen ? "," : ":",
                           words[s->out->outliers[i].reason]);
        seen |= bit;
    }
}

/* If there is exactly one outlier, ends a sentence about `rank` with it. */
static void write_only_outlier(const speaker *s, char text[SENTENCE], uint32_t rank)
{
    const mv_rank_outlier *only = &s->out->outliers[0];

    if (s->out->count == 1)
        mv_text_append(text, SENTENCE, "; %s %s",
                       only->rank == rank ? "it" : s->out->names[only->rank], only->text);
}

/* Counts the ranks whose peak is uncertain: those that have all events, because frees were not
 * recorded or because the events contradict the final heap, or those that have not, because it may
 * have been before their first event. If a window is given (--from, --to), the window's peak is
 * exact, regardless of earlier events. */
static uint32_t count_uncertain(const speaker *s, bool has_all_events, uint32_t *first)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < s->count; i++)
        if (s->ranks[i]->allocated != MV_BOUND_EXACT &&
            (s->ranks[i]->history == MV_HISTORY_COMPLETE) == has_all_events && count++ == 0)
            *first = i;
    return count;
}

static void write_unsure(const speaker *s, char text[SENTENCE])
{
    static const char *const ways[] = {"", "higher", "lower", "higher or lower"};
    uint32_t first = 0, unsure = count_uncertain(s, true, &first);

    if (unsure == 1)
        mv_text_append(text, SENTENCE, "; %s may have peaked %s: memviz stats shows why",
                       s->out->names[first], ways[s->ranks[first]->allocated]);
    else if (unsure > 1)
        mv_text_append(text, SENTENCE, "; %u peaks are not exact: memviz stats shows why", unsure);
}

static void write_open(const speaker *s, char text[SENTENCE])
{
    uint32_t first = 0, open = count_uncertain(s, false, &first);

    if (open == 0)
        return;
    if (open == 1)
        mv_text_append(text, SENTENCE, "; %s may have peaked higher: history %s",
                       s->out->names[first], mv_history_name(s->ranks[first]->history));
    else if (open == s->count)
        mv_text_append(text, SENTENCE, "; %s may have peaked higher: no history is complete",
                       open == 2 ? "both" : "all");
    else
        mv_text_append(text, SENTENCE,
                       "; %u of them may have peaked higher: their histories are not complete",
                       open);
}

/* Writes the verdict on two ranks, which names the larger one. Either rank may be the correct
 * one. */
static void write_two(const speaker *s, char text[SENTENCE])
{
    uint32_t small = mv_rank_reference(s->out, 0), large = 1 - small, first;
    uint64_t low = s->ranks[small]->peak_allocated, high = s->ranks[large]->peak_allocated;
    char bytes[MV_SIZE_TEXT];

    bool is_known = !count_uncertain(s, true, &first) && !count_uncertain(s, false, &first);
    const char *known = is_known ? "" : " by the recorded events";

    if (low == high) {
        mv_text_append(text, SENTENCE, "both peak at %s%s", mv_size_text(bytes, low), known);
        write_only_outlier(s, text, MV_NO_ROW);
        return;
    }
    mv_text_append(text, SENTENCE, "%s peaks %s above %s%s", s->out->names[large],
                   mv_size_text(bytes, high - low), s->out->names[small], known);
    write_only_outlier(s, text, large);
}

static void write_several(const speaker *s, char text[SENTENCE])
{
    uint64_t least = UINT64_MAX, most = 0;
    char a[MV_SIZE_TEXT], b[MV_SIZE_TEXT];
    uint32_t off = 0;

    for (uint32_t i = 0; i < s->out->count; i++)
        off += i == 0 || s->out->outliers[i].rank != s->out->outliers[i - 1].rank;
    if (s->out->groups == s->count)
        mv_text_append(text, SENTENCE, "each rank is a group of its own: sizes are not compared");
    else if (off)
        mv_text_append(text, SENTENCE, "%u of %u ranks %s%s", off, s->count,
                       off == 1 ? "differs" : "differ",
                       s->out->groups == 1 ? ""
                       : off == 1          ? " from the others in its group"
                                           : " from the others in their groups");
    if (s->out->count == 1)
        write_only_outlier(s, text, MV_NO_ROW);
    else if (off)
        write_reasons(s, text);
    if (off || s->out->groups == s->count)
        return;
    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t peak = s->ranks[i]->peak_allocated;
        least = peak < least ? peak : least;
        most = peak > most ? peak : most;
    }
    if (s->out->groups > 1)
        mv_text_append(text, SENTENCE, "%u groups of ranks that hold the same; ", s->out->groups);
    mv_text_append(text, SENTENCE, "no outlier among peaks of %s to %s", mv_size_text(a, least),
                   mv_size_text(b, most));
}

static const char *find_verdict(const speaker *s)
{
    char text[SENTENCE] = "";

    if (s->count == 1)
        return "one rank: nothing to compare it with";
    if (s->count == 2 && s->out->groups == 1)
        write_two(s, text);
    else
        write_several(s, text);
    write_open(s, text);
    write_unsure(s, text);
    return mv_arena_text(s->arena, text, strlen(text));
}

/* Notes that most ranks of a group leak, in which case a leak does not make a rank an outlier. */
static const char *find_leak_note(const speaker *s)
{
    uint32_t leaks = 0;

    for (uint32_t i = 0; i < s->out->groups; i++) {
        const mv_rank_group *group = &s->out->each[i];
        if (group->leaks > 1 && 2 * group->leaks > group->ranks)
            leaks += group->leaks;
    }
    if (leaks == 0)
        return "";
    if (s->out->groups > 1 && leaks < s->count)
        return mv_arena_printf(s->arena,
                               "%u ranks leak, as most of their groups do; memviz leaks FILE shows "
                               "where",
                               leaks);
    return mv_arena_printf(s->arena, "%s %u ranks leak; memviz leaks FILE shows where",
                           leaks == s->count ? "all" : "most:", leaks);
}

bool mv_ranks_words(mv_arena *arena, const mv_summary *const *ranks, uint32_t count, mv_ranks *out)
{
    const speaker s = {arena, ranks, count, out};
    mv_rank_place *places = mv_summary_places(arena, ranks, count);
    const char **names = places ? mv_rank_names(arena, places, count) : NULL;

    out->names = names;
    for (uint32_t i = 0; names && i < out->count; i++)
        if (!(out->outliers[i].text = write_outlier(&s, &out->outliers[i])))
            return false;
    out->verdict = names ? find_verdict(&s) : NULL;
    out->leak_note = find_leak_note(&s);
    return names && out->verdict && out->leak_note;
}
