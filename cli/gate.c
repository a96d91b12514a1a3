#include "cli/gate.h"
#include "analyze/levels/levels.h"

#include "analyze/events/recorder.h"
#include "base/size.h"
#include "base/text.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"

static const struct {
    const char *word;
    bool has_bound;
    const char *meaning;
} gates_table[MV_GATE_COUNT] = {
#define MV_GATE_ROW(id, word, has_bound, text) {word, has_bound, text},
    MV_GATE_LIST(MV_GATE_ROW)
#undef MV_GATE_ROW
};

static bool is_growth(mv_gate gate, uint32_t allowed)
{
    return gate == MV_GATE_DELTA || (gate == MV_GATE_RESERVED && (allowed & MV_GATES(DELTA)));
}

const char *mv_gate_meaning(mv_gate gate, uint32_t allowed)
{
    if (gate == MV_GATE_RESERVED && is_growth(gate, allowed))
        return "reserved memory grew by more than BYTES";
    return gates_table[gate].meaning;
}

uint32_t mv_gates_without_bound(uint32_t allowed)
{
    uint32_t bits = 0;

    for (uint32_t i = 0; i < MV_GATE_COUNT; i++)
        bits |= gates_table[i].has_bound ? 0 : allowed & (1u << i);
    return bits;
}

const char *mv_gates_text(uint32_t allowed, char *out, uint32_t size)
{
    uint32_t at = 0;

    out[0] = 0;
    for (uint32_t i = 0; i < MV_GATE_COUNT && at < size; i++)
        if (allowed & (1u << i))
            at += (uint32_t)snprintf(out + at, size - at, "%s%s%s", at ? " " : "",
                                     gates_table[i].word, gates_table[i].has_bound ? ">BYTES" : "");
    if (mv_gates_without_bound(allowed) && at < size)
        snprintf(out + at, size - at, "%sany", at ? " " : "");
    return out;
}

/* Returns the gate with this name, or MV_GATE_COUNT if there is none. */
static uint32_t gate_of(const char *word, size_t length)
{
    uint32_t i = 0;

    while (i < MV_GATE_COUNT && (strlen(gates_table[i].word) != length ||
                                 memcmp(gates_table[i].word, word, length) != 0))
        i++;
    return i;
}

const char *mv_gate_text(const mv_gates *gates, mv_gate gate, char text[MV_GATE_TEXT])
{
    char size[MV_SIZE_TEXT];

    if (!gates_table[gate].has_bound)
        snprintf(text, MV_GATE_TEXT, "%s", gates_table[gate].word);
    else if (gates->percent[gate] > 0)
        snprintf(text, MV_GATE_TEXT, "%s>%g%%", gates_table[gate].word, gates->percent[gate]);
    else
        snprintf(text, MV_GATE_TEXT, "%s>%s", gates_table[gate].word,
                 mv_size_text(size, gates->bound[gate]));
    return text;
}

static bool refuse_word(const char *word, const char *command, uint32_t allowed, char *why,
                        uint32_t size)
{
    char words[160];

    snprintf(why, size, "--fail-on %s: not a gate of %s; expected one of: %s", word, command,
             mv_gates_text(allowed, words, sizeof words));
    return false;
}

/* Reads a bound such as "10%", which is a percentage of the memory before, for gates about
 * growth. */
static bool read_percent(const char *text, mv_gate gate, uint32_t allowed, mv_gates *out)
{
    char number[32];
    size_t length = strlen(text);

    if (!is_growth(gate, allowed) || length < 2 || length > sizeof number ||
        text[length - 1] != '%')
        return false;
    snprintf(number, sizeof number, "%.*s", (int)length - 1, text);
    if (!mv_number_read_double(number, &out->percent[gate]) || !(out->percent[gate] >= 0))
        return false;
    out->bound[gate] = 0;
    return true;
}

static bool read_bound(const char *text, mv_gate gate, uint32_t allowed, mv_gates *out)
{
    if (read_percent(text, gate, allowed, out))
        return true;
    out->percent[gate] = 0;
    return mv_size_parse(text, &out->bound[gate]);
}

/* Reads one word, or a word and a bound. */
static bool read_word(const char *word, const char *command, uint32_t allowed, mv_gates *out,
                      char *why, uint32_t size)
{
    const char *sign = strchr(word, '>');
    uint32_t gate = gate_of(word, sign ? (size_t)(sign - word) : strlen(word));

    if (strcmp(word, "known") == 0) {
        out->known = true;
        return true;
    }
    if (strcmp(word, "any") == 0 && mv_gates_without_bound(allowed)) {
        out->asked |= mv_gates_without_bound(allowed);
        out->any = true;
        return true;
    }
    if (gate == MV_GATE_COUNT || !(allowed & (1u << gate)) ||
        (sign && !gates_table[gate].has_bound))
        return refuse_word(word, command, allowed, why, size);
    if (gates_table[gate].has_bound && (!sign || !sign[1])) {
        snprintf(why, size,
                 "--fail-on %s: the bound is missing; quote the gate, because the shell treats > "
                 "as redirection: --fail-on '%s>70GiB'",
                 word, gates_table[gate].word);
        return false;
    }
    if (sign && !read_bound(sign + 1, gate, allowed, out)) {
        snprintf(why, size,
                 "--fail-on %s: '%s' is not a size; expected %s>BYTES%s%s%s, such as %s>70GiB",
                 word, sign + 1, gates_table[gate].word, is_growth(gate, allowed) ? " or " : "",
                 is_growth(gate, allowed) ? gates_table[gate].word : "",
                 is_growth(gate, allowed) ? ">PERCENT%" : "", gates_table[gate].word);
        return false;
    }
    out->asked |= 1u << gate;
    return true;
}

bool mv_gates_read(const char *text, const char *command, uint32_t allowed, mv_gates *out,
                   char *why, uint32_t why_size)
{
    char word[80];
    size_t length, used;

    do {
        length = strcspn(text, ",");
        used = 0;
        for (size_t i = 0; i < length && used + 1 < sizeof word; i++)
            if (text[i] != ' ')
                word[used++] = text[i];
        word[used] = 0;
        if (!read_word(word, command, allowed, out, why, why_size))
            return false;
        text += length;
    } while (*text++ == ',');
    if (out->any && out->known)
        out->asked &= ~MV_GATES(UNKNOWN);
    if (out->asked)
        return true;
    snprintf(why, why_size, "--fail-on known: name a gate before it, such as %s,known",
             gates_table[__builtin_ctz(allowed)].word);
    return false;
}

/* ---- answers ----------------------------------------------------------------------------- */

void mv_gate_next(mv_gates *gates, const char *file)
{
    gates->file = file;
    memset(gates->printed, 0, sizeof gates->printed);
}

static void add_outcome(mv_gates *gates, mv_gate gate, mv_gate_outcome_kind kind,
                        const char *reason)
{
    mv_gate_outcome *outcomes = gates->arena ? mv_push_struct(gates->arena, mv_gate_outcome) : NULL;

    if (!outcomes)
        return;
    *outcomes = (mv_gate_outcome){.gate = gate, .kind = kind};
    outcomes->text = gates->file ? mv_arena_printf(gates->arena, "%s: %s", gates->file, reason)
                                 : mv_arena_text(gates->arena, reason, strlen(reason));
    *(gates->last ? &gates->last->next : &gates->outcomes) = outcomes;
    gates->last = outcomes;
}

static void fail(mv_gates *gates, mv_gate gate, bool is_unknown, const char *reason,
                 const char *more)
{
    uint32_t before = gates->printed[false] | (is_unknown ? gates->printed[true] : 0);

    if (before & (1u << gate))
        return;
    gates->printed[is_unknown] |= 1u << gate;
    *(is_unknown ? &gates->is_unknown : &gates->is_found) = true;
    add_outcome(gates, gate, is_unknown ? MV_GATE_OUTCOME_UNKNOWN : MV_GATE_OUTCOME_MET, reason);
    mv_complain_of(gates->file, "--fail-on %s: %s%s", gates_table[gate].word, reason, more);
}

void mv_gate_evaluate(mv_gates *gates, mv_gate gate, mv_gate_answer answer, const char *format, ...)
{
    bool asked = gates->asked & (1u << gate);
    char reason[600];
    va_list args;

    if (answer == MV_GATE_PASSES)
        return;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    if (answer == MV_GATE_FAILS && asked)
        fail(gates, gate, false, reason, "");
    if (answer != MV_GATE_CANNOT_KNOW)
        return;
    if (gates->asked & MV_GATES(UNKNOWN))
        fail(gates, MV_GATE_UNKNOWN, true, reason, "");
    else if (asked && gates->known)
        add_outcome(gates, gate, MV_GATE_OUTCOME_WAIVED, reason);
    else if (asked)
        fail(gates, gate, true, reason, " (',known' after the gate lets that pass)");
}

void mv_gate_evaluate_bytes(mv_gates *gates, mv_gate gate, uint64_t bytes, mv_bound is,
                            const char *doubt, const char *what)
{
    bool is_above = bytes > gates->bound[gate];
    char size[MV_SIZE_TEXT], bound[MV_SIZE_TEXT];

    mv_size_text(size, bytes);
    mv_size_text(bound, gates->bound[gate]);
    if (strcmp(size, bound) == 0) {
        snprintf(size, sizeof size, "%llu B", (unsigned long long)bytes);
        snprintf(bound, sizeof bound, "%llu B", (unsigned long long)gates->bound[gate]);
    }
    if (is & (is_above ? MV_BOUND_MOST : MV_BOUND_LEAST))
        mv_gate_evaluate(gates, gate, MV_GATE_CANNOT_KNOW,
                         "%s %s%s; whether it was above %s is unknown: %s", what,
                         mv_bound_words(is), size, bound, doubt);
    else if (is_above)
        mv_gate_evaluate(gates, gate, MV_GATE_FAILS, "%s %s%s, above %s", what, mv_bound_words(is),
                         size, bound);
}

void mv_gate_evaluate_ooms(mv_gates *gates, const mv_trace *trace, uint32_t device,
                           const mv_ooms *found)
{
    const mv_recorder *recorder = mv_recorder_of(trace);
    char size[MV_SIZE_TEXT], place[MV_PLACE_TEXT];

    mv_level_place(trace, device, place);
    if (found->count)
        mv_gate_evaluate(gates, MV_GATE_OOM, MV_GATE_FAILS, "%s: %s, the first of %s", place,
                         found->verdict, mv_size_text(size, found->ooms[0].requested));
    else if (recorder->is_missing_failures)
        mv_gate_evaluate(gates, MV_GATE_OOM, MV_GATE_CANNOT_KNOW,
                         "%s: %s does not record whether a request failed", place,
                         recorder->writer);
    else if (!found->is_known)
        mv_gate_evaluate(gates, MV_GATE_OOM, MV_GATE_CANNOT_KNOW, "%s: %s: %s", place,
                         found->verdict, found->why);
}

void mv_gate_evaluate_leaks(mv_gates *gates, const char *where, const mv_leaks *found)
{
    char size[MV_SIZE_TEXT];

    if (found->verdict == MV_VERDICT_LEAK && found->count == 0)
        mv_gate_evaluate(gates, MV_GATE_LEAK, MV_GATE_FAILS, "%s: %s", where, found->why);
    else if (found->verdict == MV_VERDICT_LEAK)
        mv_gate_evaluate(gates, MV_GATE_LEAK, MV_GATE_FAILS, "%s: %u leak%s, %s in all", where,
                         found->count, mv_plural(found->count),
                         mv_size_text(size, found->leaked_bytes));
    else if (found->verdict == MV_VERDICT_UNKNOWN)
        mv_gate_evaluate(gates, MV_GATE_LEAK, MV_GATE_CANNOT_KNOW,
                         "%s: unknown whether it leaks: %s", where, found->why);
}

enum { DOUBT = 120 };

/* Returns why the reserved bytes are unknown: a file from another tool does not record how much
 * memory its allocator took from the device. NULL: they are known. */
static const char *reserved_doubt(const mv_trace *trace, char out[DOUBT])
{
    if (!mv_trace_is_missing_reserved(trace))
        return NULL;
    snprintf(out, DOUBT, "%s does not record the memory taken from the device",
             mv_recorder_of(trace)->writer);
    return out;
}

/* Returns why the segments are unknown; NULL: they are known. */
static const char *segments_doubt(const mv_trace *trace, char out[DOUBT])
{
    if (!mv_trace_allocator(trace) || reserved_doubt(trace, out))
        return mv_trace_allocator(trace) ? out : NULL;
    snprintf(out, DOUBT, "%s does not record segments", mv_recorder_of(trace)->writer);
    return out;
}

bool mv_gate_knows_reserved(mv_gates *gates, const mv_trace *trace, const char *name)
{
    char doubt[DOUBT];

    if (!reserved_doubt(trace, doubt))
        return true;
    mv_gate_evaluate(gates, MV_GATE_RESERVED, MV_GATE_CANNOT_KNOW, "%s: %s", name, doubt);
    return false;
}

void mv_gate_evaluate_fragmentation(mv_gates *gates, const mv_trace *trace, uint32_t device,
                                    const mv_fragmentation *found)
{
    char doubt[DOUBT], place[MV_PLACE_TEXT];

    mv_level_place(trace, device, place);
    if (segments_doubt(trace, doubt))
        mv_gate_evaluate(gates, MV_GATE_FRAGMENTED, MV_GATE_CANNOT_KNOW, "%s: %s", place, doubt);
    else if (found->fragmented || !found->is_known)
        mv_gate_evaluate(gates, MV_GATE_FRAGMENTED,
                         found->fragmented ? MV_GATE_FAILS : MV_GATE_CANNOT_KNOW, "%s: %s: %s",
                         place, found->figures, found->why);
}

void mv_gate_evaluate_totals(mv_gates *gates, const mv_trace *trace, const mv_totals *totals)
{
    const mv_audit *audit = &totals->audit;
    const char *doubt = audit->count ? audit->notes[0] : "the events contradict each other";
    char what[64], unsaid[DOUBT], place[MV_PLACE_TEXT];
    const char *lack = reserved_doubt(trace, unsaid);

    mv_level_place(trace, totals->device, place);
    snprintf(what, sizeof what, "%s: peak allocated", place);
    mv_gate_evaluate_bytes(gates, MV_GATE_PEAK, totals->peak.bytes.allocated, audit->peak.allocated,
                           doubt, what);
    snprintf(what, sizeof what, "%s: peak reserved", place);
    mv_gate_evaluate_bytes(gates, MV_GATE_RESERVED, totals->peak.bytes.reserved,
                           lack ? audit->peak.reserved | MV_BOUND_LEAST : audit->peak.reserved,
                           lack && audit->peak.reserved == MV_BOUND_EXACT ? lack : doubt, what);
}

void mv_gate_evaluate_idle(mv_gates *gates, const mv_trace *trace, uint32_t first, uint32_t end)
{
    if (mv_devices_in_use(trace, first, end) > 0)
        return;
    for (mv_gate gate = 0; gate < MV_GATE_COUNT; gate++)
        if (gates->asked & (1u << gate))
            mv_gate_evaluate(gates, gate, MV_GATE_CANNOT_KNOW, "%s",
                             "the file has no events and no memory");
}

int mv_gate_status(const mv_gates *gates, int status)
{
    if (status != MV_EXIT_DONE)
        return status;
    return gates->is_found ? MV_EXIT_FOUND : gates->is_unknown ? MV_EXIT_UNKNOWN : MV_EXIT_DONE;
}
