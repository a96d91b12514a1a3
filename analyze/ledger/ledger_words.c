#include "analyze/ledger/ledger_words.h"

#include <string.h>

#include "analyze/code/libraries.h"
#include "base/size.h"
#include "base/text.h"

enum { SENTENCE = 640, MOST_NAMES = 4 };

/* The libraries that hold most, by name, and the sum of all others. */
static void add_names(const mv_trace *trace, const mv_ledger *ledger, char text[SENTENCE])
{
    char names[MOST_NAMES][MV_LIBRARY_NAME], name[MV_LIBRARY_NAME], size[MV_SIZE_TEXT];
    uint64_t sums[MOST_NAMES] = {0}, named = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < ledger->count; i++) {
        uint32_t k = 0;
        mv_library_name(mv_string_text(trace, ledger->by[i].library), name);
        while (k < count && strcmp(names[k], name) != 0)
            k++;
        if (k == MOST_NAMES)
            continue;
        if (k == count)
            memcpy(names[count++], name, sizeof name);
        sums[k] += ledger->by[i].bytes;
    }
    for (uint32_t k = 0; k < count; k++) {
        mv_text_append(text, SENTENCE, "%s%s %s", k ? ", " : "", names[k],
                       mv_size_text(size, sums[k]));
        named += sums[k];
    }
    if (ledger->by_sum > named)
        mv_text_append(text, SENTENCE, ", others %s", mv_size_text(size, ledger->by_sum - named));
    if (ledger->by_sum == 0)
        mv_text_append(text, SENTENCE, "nothing held by calls");
}

static const char *find_verdict(mv_arena *arena, const mv_trace *trace, const mv_ledger *ledger)
{
    bool is_known = ledger->used != MV_NO_BYTES;
    char size[MV_SIZE_TEXT], text[SENTENCE] = "";

    if (ledger->is_missing_calls)
        return mv_arena_printf(arena, "%s used; who holds it is unknown: %s",
                               is_known ? mv_size_text(size, ledger->used) : "unknown",
                               ledger->why);
    mv_text_append(text, SENTENCE,
                   "%s %s: ", mv_size_text(size, is_known ? ledger->used : ledger->by_sum),
                   is_known ? "used" : "requested");
    add_names(trace, ledger, text);
    if (is_known) {
        mv_text_append(text, SENTENCE, ", context and code %s",
                       mv_size_signed_text(size, ledger->context_estimate));
        mv_text_append(text, SENTENCE, ", unexplained %s",
                       mv_size_signed_text(size, ledger->unexplained));
        if (ledger->used > 0)
            mv_text_append(text, SENTENCE, " (%.0f %%)",
                           (double)ledger->unexplained / (double)ledger->used * 100);
    }
    return mv_arena_text(arena, text, strlen(text));
}

static const char *find_basis(mv_arena *arena, const mv_ledger *ledger)
{
    char total[MV_SIZE_TEXT], others[MV_SIZE_TEXT];
    bool has_others = ledger->others != MV_NO_BYTES;

    if (ledger->why && !ledger->is_missing_calls) /* the verdict includes it */
        return mv_arena_printf(arena, "use of the device is unknown: %s", ledger->why);
    if (ledger->total == MV_NO_BYTES)
        return "";
    return mv_arena_printf(
        arena, "the device has %s%s%s%s; use is %s", mv_size_text(total, ledger->total),
        has_others ? ", " : "", has_others ? mv_size_text(others, ledger->others) : "",
        has_others ? " of it in use by others" : "",
        ledger->is_process ? "this process's own" : "the device's, less what was in use before");
}

static const char *find_check(mv_arena *arena, const mv_ledger *ledger)
{
    char says[MV_SIZE_TEXT], holds[MV_SIZE_TEXT];
    uint64_t framework = 0;

    for (uint32_t i = 0; i < ledger->count; i++)
        framework += ledger->by[i].is_framework ? ledger->by[i].bytes : 0;
    mv_size_text(says, ledger->framework_reserved);
    if (ledger->framework_reserved != framework)
        return mv_arena_printf(arena, "PyTorch's allocator reports %s reserved; its calls hold %s",
                               says, mv_size_text(holds, framework));
    return framework
               ? mv_arena_printf(arena, "PyTorch's allocator reports the same: %s reserved", says)
               : "nothing is reserved by PyTorch's allocator";
}

static uint64_t managed_bytes(const mv_trace *trace, const mv_ledger *ledger)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < ledger->count; i++)
        if (strstr(mv_string_text(trace, ledger->by[i].api), "Managed"))
            bytes += ledger->by[i].bytes;
    return bytes;
}

/* The real parts never add up to more than the device's use, so one of them is too high. */
static const char *find_residue(mv_arena *arena, const mv_trace *trace, const mv_ledger *ledger)
{
    char excess[MV_SIZE_TEXT], size[MV_SIZE_TEXT];
    uint64_t managed = managed_bytes(trace, ledger);

    if (ledger->used == MV_NO_BYTES || ledger->unexplained >= 0 || ledger->is_missing_calls)
        return "";
    mv_size_text(excess, -(uint64_t)ledger->unexplained);
    if (ledger->by_sum > ledger->held_at_sample)
        return mv_arena_printf(arena,
                               "the parts are %s more than the use: the sample is older than this "
                               "moment, and calls hold %s more since then",
                               excess, mv_size_text(size, ledger->by_sum - ledger->held_at_sample));
    if (managed > 0)
        return mv_arena_printf(arena,
                               "the parts are %s more than the use: %s is managed memory, which "
                               "need not be on the device",
                               excess, mv_size_text(size, managed));
    return mv_arena_printf(arena,
                           "the parts are %s more than the use: the estimate of context and code "
                           "is too high, or memory was freed without a recorded call",
                           excess);
}

static const char *find_pools(mv_arena *arena, const mv_ledger *ledger)
{
    char size[MV_SIZE_TEXT];

    if (ledger->context_pools == 0)
        return "";
    return mv_arena_printf(
        arena,
        "pools (cudaMallocAsync, graphs) keep freed memory, and no call shows how "
        "much: at most %s of context and code, and part of the unexplained rest",
        mv_size_text(size, ledger->context_pools));
}

bool mv_ledger_words(mv_arena *arena, const mv_trace *trace, mv_ledger *ledger)
{
    ledger->verdict = find_verdict(arena, trace, ledger);
    ledger->basis = find_basis(arena, ledger);
    ledger->check = find_check(arena, ledger);
    ledger->residue = find_residue(arena, trace, ledger);
    ledger->pools = find_pools(arena, ledger);
    return ledger->verdict && ledger->basis && ledger->check && ledger->residue && ledger->pools;
}
