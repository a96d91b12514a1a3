#include "cli/serve/served_verdict.h"

#include <stdio.h>

#include "analyze/advice/recording.h"
#include "analyze/advice/triage.h"
#include "parse/model/sums.h"
#include "parse/readers.h"

void mv_served_explain(const mv_err *err, char *why, size_t size)
{
    char text[MV_ERR_TEXT], place[32] = "";

    if (err->offset != MV_NO_OFFSET)
        snprintf(place, sizeof place, "byte %llu: ", (unsigned long long)err->offset);
    snprintf(why, size, "%s%s", place, mv_err_text(err, text));
}

static void keep_peak(const mv_triage *t, const mv_trace *trace, mv_served_verdict *out)
{
    const mv_triage_device *most = NULL;

    for (uint32_t i = 0; i < t->device_count; i++)
        if (!most || t->devices[i].totals.peak.bytes.allocated > most->totals.peak.bytes.allocated)
            most = &t->devices[i];
    if (!most)
        return;
    out->allocated = most->totals.peak.bytes.allocated;
    if (!mv_trace_is_missing_reserved(trace))
        out->reserved = most->totals.peak.bytes.reserved;
    out->bound = most->totals.audit.peak.allocated;
}

static mv_code keep(mv_arena *arena, const char *path, const mv_trace *read, const mv_trace *trace,
                    const mv_triage *t, mv_served_verdict *out, mv_err *err)
{
    const mv_triage_row *unknown = mv_triage_unknown(t);
    const char *text;

    out->devices = t->device_count;
    out->problems = mv_triage_problems(t);
    keep_peak(t, trace, out);
    snprintf(out->damaged, sizeof out->damaged, "%s", read->notes[MV_NOTE_DAMAGED].first);
    if (t->device_count == 0) {
        mv_recording_contents contents;
        if (mv_recording_describe(arena, read, path, &contents, err) != MV_OK)
            return err->code;
        text = contents.count ? contents.lines[0] : "no events";
    } else if (out->problems) {
        out->kind = mv_finding_name(t->rows[0].finding->kind);
        text = t->rows[0].text;
    } else {
        text = unknown ? unknown->text : "no problem found";
    }
    snprintf(out->text, sizeof out->text, "%s", text);
    return MV_OK;
}

static mv_code find(mv_arena *arena, const char *path, mv_served_verdict *out, mv_err *err)
{
    mv_read_opts opts = {.files_only = true};
    mv_trace read, trace;
    mv_triage triage;
    mv_code code = mv_trace_read(arena, path, &opts, &read, err);

    if (code == MV_OK)
        code = mv_sums_check(&read, err);
    trace = read;
    if (code == MV_OK)
        code = mv_level_take_named(arena, &trace, "", err);
    if (code == MV_OK)
        code = mv_sums_check(&trace, err);
    if (code != MV_OK)
        return code;
    code = mv_triage_find(arena->budget,
                          (mv_triage_query){.read = &read,
                                            .trace = &trace,
                                            .with_others = true,
                                            .no_whatif = true,
                                            .end = UINT32_MAX},
                          1, &triage, err);
    if (code == MV_OK)
        code = keep(arena, path, &read, &trace, &triage, out, err);
    mv_triage_release(&triage);
    return code;
}

void mv_served_verdict_find(mv_budget *budget, const char *path, mv_served_verdict *out)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_arena arena;

    *out = (mv_served_verdict){
        .stage = MV_SERVED_READ, .kind = "", .allocated = MV_NO_BYTES, .reserved = MV_NO_BYTES};
    mv_arena_init(&arena, budget);
    if (find(&arena, path, out, &err) != MV_OK) {
        out->stage = MV_SERVED_UNREADABLE;
        mv_served_explain(&err, out->text, sizeof out->text);
    }
    mv_arena_release(&arena);
}
