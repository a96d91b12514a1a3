#include "analyze/advice/recording.h"

#include <stdio.h>

#include "analyze/events/recorder.h"
#include "analyze/ledger/ledger.h"
#include "base/text.h"

/* ---- histories --------------------------------------------------------------------------- */

bool mv_recording_is_state_only(const mv_lives *lives)
{
    return lives->events.count == 0 ||
           (lives->events.count == 1 && lives->history == MV_HISTORY_TRUNCATED);
}

const char *mv_recording_advice(const mv_trace *trace, const mv_lives *lives)
{
    const mv_recorder *recorder = mv_recorder_of(trace);

    if (lives->history == MV_HISTORY_NONE || mv_recording_is_state_only(lives))
        return recorder->no_events;
    if (lives->history == MV_HISTORY_TRUNCATED)
        return recorder->more;
    if (lives->history == MV_HISTORY_LATE)
        return recorder->begin;
    return "";
}

const char *mv_recording_stack_advice(const mv_trace *trace)
{
    return trace->frames.count > 0 ? "" : mv_recorder_of(trace)->no_stacks;
}

/* ---- files without PyTorch memory -------------------------------------------------------- */

static const char *add(mv_arena *arena, mv_recording_contents *out, const char *text)
{
    const char *line = mv_arena_text(arena, text, strlen(text));

    if (line && out->count < MV_RECORDING_LINES)
        out->lines[out->count++] = line;
    return line;
}

/* Describes the memory that CUDA calls hold on one device. */
static mv_code add_device(mv_arena *arena, const mv_trace *trace, uint32_t device,
                          mv_recording_contents *out, mv_err *err)
{
    mv_ledger_query ask = {.when = MV_LEDGER_MOST_USED};
    mv_ledger ledger;
    mv_lives lives;
    char line[400];
    mv_code code = mv_lives_find(arena, trace, device, &lives, err);

    if (code == MV_OK)
        code = mv_ledger_find(arena, trace, &lives, ask, &ledger, err);
    if (code != MV_OK)
        return code;
    snprintf(line, sizeof line, "device %u: %s", device, ledger.verdict);
    return add(arena, out, line)
               ? MV_OK
               : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "contents of the file");
}

mv_code mv_recording_describe(mv_arena *arena, const mv_trace *trace, const char *path,
                              mv_recording_contents *out, mv_err *err)
{
    uint64_t devices = mv_ledger_devices(trace);
    uint32_t calls = trace->api_calls.count;
    const mv_note *damaged = &trace->notes[MV_NOTE_DAMAGED];
    char line[4600];

    *out = (mv_recording_contents){0};
    if (calls == 0 && devices == 0) {
        snprintf(line, sizeof line, "Damaged parts of the file were skipped (%s).", damaged->first);
        add(arena, out,
            mv_trace_allocator(trace) ? "It contains no device memory."
                                      : "It contains no events or segments of any GPU.");
        add(arena, out, damaged->count ? line : mv_recorder_of(trace)->nothing);
        return out->count == 2 ? MV_OK
                               : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "contents of the file");
    }
    snprintf(line, sizeof line, "It contains no memory of PyTorch's allocator, but %u CUDA call%s.",
             calls, mv_plural(calls));
    add(arena, out, line);
    for (uint32_t d = 0; d < 64 && out->count < MV_RECORDING_LINES - 1; d++) {
        mv_code code = devices >> d & 1 ? add_device(arena, trace, d, out, err) : MV_OK;
        if (code != MV_OK)
            return code;
    }
    snprintf(line, sizeof line, "memviz ledger %s   shows who holds it.", path);
    return add(arena, out, line)
               ? MV_OK
               : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "contents of the file");
}
