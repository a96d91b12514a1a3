/* memviz leaks: what grows step by step and is never freed, the culprit's line first. */
#include <stdio.h>

#include "analyze/code/culprit.h"
#include "analyze/code/labels.h"
#include "analyze/leaks/leaks.h"
#include "analyze/lives/lives_window.h"
#include "base/size.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/window.h"
#include "cli/report/captured.h"
#include "cli/report/prose.h"
#include "cli/report/report.h"
#include "cli/report/rows.h"
#include "cli/report/sheet.h"
#include "cli/report/stack_text.h"

/* Rows of each list in text when --limit says nothing; lines beside them. */
#define TEXT_ROWS   10
#define OTHER_LINES 5

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    const uint8_t *kinds; /* of frames */
    int64_t start_us;
    uint32_t first, end;      /* devices */
    mv_leaks *found;          /* [end - first] */
    mv_leak_outlook *outlook; /* [end - first] */
    mv_leak_verdict verdict;
    uint64_t limit;
} judgement;

/* Devices that hold nothing and did nothing have no say, unless there are no others. */
static bool is_idle(const judgement *j, uint32_t device)
{
    return mv_trace_events(j->trace, device).count == 0 &&
           j->found[device - j->first].live_bytes == 0;
}

/* A leak on one device is a leak; otherwise one device that cannot be judged leaves it open. */
static mv_leak_verdict verdict_of_all(const judgement *j)
{
    bool clean = false, unknown = false;

    for (uint32_t i = j->first; i < j->end; i++) {
        mv_leak_verdict verdict = j->found[i - j->first].verdict;
        if (verdict == MV_VERDICT_LEAK)
            return MV_VERDICT_LEAK;
        clean = clean || verdict == MV_VERDICT_CLEAN;
        unknown = unknown || (verdict == MV_VERDICT_UNKNOWN && !is_idle(j, i));
    }
    return clean && !unknown ? MV_VERDICT_CLEAN : MV_VERDICT_UNKNOWN;
}

/* What stands for all devices: the first one that leaks, else the first one that has steps. */
static const mv_leaks *first_of_all(const judgement *j)
{
    for (uint32_t i = 0; i < j->end - j->first; i++)
        if (j->found[i].count > 0)
            return &j->found[i];
    for (uint32_t i = 0; i < j->end - j->first; i++)
        if (j->found[i].steps.source != MV_STEPS_NONE)
            return &j->found[i];
    return j->end > j->first ? &j->found[0] : NULL;
}

/* ---- JSON -------------------------------------------------------------------------------- */

static cJSON *text_json(mv_report *r, const char *text)
{
    return mv_json_span(r, (mv_span){(const uint8_t *)text, strlen(text)});
}

static cJSON *steps_json(mv_report *r, const mv_steps *steps)
{
    cJSON *o = mv_json_object(r, NULL, NULL);

    mv_json_add_text(r, o, "source", mv_steps_source_name(steps ? steps->source : MV_STEPS_NONE));
    mv_json_add_u64(r, o, "count", steps ? steps->count : 0);
    mv_json_add_text(r, o, "name", steps ? steps->name : "");
    return o;
}

/* Without whole steps there is no floor: its bytes are null. */
static cJSON *floor_json(mv_report *r, const mv_leak_floor *floor)
{
    cJSON *o = mv_json_object(r, NULL, NULL);
    bool is_known = floor && floor->steps > 0;

    mv_json_add(r, o, "first", mv_json_bytes(is_known ? floor->first : MV_NO_BYTES));
    mv_json_add(r, o, "last", mv_json_bytes(is_known ? floor->last : MV_NO_BYTES));
    mv_json_add_u64(r, o, "steps", is_known ? floor->steps : 0);
    return o;
}

static cJSON *in_progress_json(mv_report *r, uint64_t bytes, uint64_t blocks)
{
    cJSON *o = mv_json_object(r, NULL, NULL);

    mv_json_add_u64(r, o, "bytes", bytes);
    mv_json_add_u64(r, o, "blocks", blocks);
    return o;
}

static void add_culprit(mv_report *r, cJSON *o, const judgement *j, const char *label,
                        mv_stack_id stack)
{
    mv_json_add_text(r, o, "culprit", label);
    mv_json_add(r, o, "frames", mv_json_frames(r, j->trace, stack));
}

static void add_leaks(mv_report *r, cJSON *array, const judgement *j, uint32_t device)
{
    const mv_leaks *found = &j->found[device - j->first];

    for (uint32_t i = 0; i < found->count && i < j->limit; i++) {
        const mv_leak *leak = &found->leaks[i];
        cJSON *o = mv_json_object(r, array, NULL);
        char label[512];

        mv_json_add_u64(r, o, "device", device);
        mv_json_add_u64(r, o, "bytes", leak->bytes);
        mv_json_add_u64(r, o, "blocks", leak->blocks);
        mv_json_add_u64(r, o, "bytes_per_step", leak->bytes_per_step);
        mv_json_add_u64(r, o, "first_event", leak->first_event);
        mv_json_add_u64(r, o, "last_event", leak->last_event);
        mv_json_add(r, o, "confidence", mv_json_real(leak->confidence));
        mv_json_add_text(r, o, "kind", mv_leak_kind_name(leak->kind));
        mv_json_add_text(r, o, "evidence", leak->evidence);
        mv_json_add_u64(r, o, "lines", leak->lines);
        mv_leak_label(j->trace, j->kinds, leak, label, sizeof label);
        add_culprit(r, o, j, label, leak->stack);
        mv_json_add_text(r, o, "advice", leak->advice);
    }
}

/* Labels of what is retained, as far as it is shown. */
static const char **retained_labels(const judgement *j, const mv_leaks *found)
{
    uint32_t count = found->retained_count < j->limit ? found->retained_count : (uint32_t)j->limit;
    mv_labelled *rows = mv_push_array(&j->cli->scratch, mv_labelled, count);

    for (uint32_t i = 0; rows && i < count; i++)
        rows[i] = (mv_labelled){.trace = j->trace,
                                .kinds = j->kinds,
                                .stack = found->retained[i].stack,
                                .bytes = found->retained[i].bytes};
    return rows ? mv_labels_find(&j->cli->scratch, rows, count, false) : NULL;
}

static void add_retained(mv_report *r, cJSON *array, const judgement *j, uint32_t device)
{
    const mv_leaks *found = &j->found[device - j->first];
    const char **labels = retained_labels(j, found);

    for (uint32_t i = 0; i < found->retained_count && i < j->limit; i++) {
        const mv_retained *kept = &found->retained[i];
        cJSON *o = mv_json_object(r, array, NULL);
        char label[512];

        mv_json_add_u64(r, o, "device", device);
        mv_json_add_u64(r, o, "bytes", kept->bytes);
        mv_json_add_u64(r, o, "blocks", kept->blocks);
        mv_json_add_u64(r, o, "in_progress", kept->in_progress);
        mv_culprit_label(j->trace, j->kinds, kept->stack, label, sizeof label);
        mv_json_add_text(r, o, "label", labels ? labels[i] : label);
        add_culprit(r, o, j, label, kept->stack);
    }
}

static cJSON *outlook_json(mv_report *r, const mv_leak_outlook *outlook)
{
    cJSON *o = mv_json_object(r, NULL, NULL);

    mv_json_add(r, o, "capacity", mv_json_bytes(outlook->capacity));
    mv_json_add_text(r, o, "source", outlook->source);
    mv_json_add(r, o, "steps", mv_json_bytes(outlook->steps));
    mv_json_add(r, o, "time_us", mv_json_time(outlook->time_us));
    mv_json_add(r, o, "oom_event",
                outlook->oom_event == MV_NEVER ? cJSON_CreateNull()
                                               : mv_json_u64(outlook->oom_event));
    return o;
}

static cJSON *devices_json(mv_report *r, const judgement *j)
{
    cJSON *array = mv_json_array(r, NULL, NULL);

    for (uint32_t i = 0; i < j->end - j->first; i++) {
        const mv_leaks *found = &j->found[i];
        cJSON *o = mv_json_object(r, array, NULL);
        mv_json_add_u64(r, o, "device", j->first + i);
        mv_json_add_text(r, o, "verdict", mv_leak_verdict_name(found->verdict));
        mv_json_add_text(r, o, "why", found->why);
        mv_json_add_text(r, o, "settle", found->settle);
        mv_json_add(r, o, "steps", steps_json(r, &found->steps));
        mv_json_add_u64(r, o, "live_bytes", found->live_bytes);
        mv_json_add_u64(r, o, "leaked_bytes", found->leaked_bytes);
        mv_json_add_u64(r, o, "retained_bytes", found->retained_bytes);
        if (found->exit_event < mv_trace_events(j->trace, j->first + i).count)
            mv_json_add_u64(r, o, "exit_event", found->exit_event);
        mv_json_add_u64(r, o, "preexisting_bytes", found->preexisting_bytes);
        mv_json_add(r, o, "floor", floor_json(r, &found->floor));
        mv_json_add(r, o, "in_progress",
                    in_progress_json(r, found->in_progress.bytes, found->in_progress.blocks));
        mv_json_add(r, o, "outlook", outlook_json(r, &j->outlook[i]));
    }
    return array;
}

static int put_json(const judgement *j)
{
    mv_report report, *r = &report;
    const mv_leaks *first = first_of_all(j);
    uint64_t bytes = 0, blocks = 0;
    cJSON *leaks, *retained;

    mv_report_open(r, j->cli);
    leaks = mv_json_array(r, NULL, NULL);
    retained = mv_json_array(r, NULL, NULL);
    for (uint32_t i = j->first; i < j->end; i++) {
        add_leaks(r, leaks, j, i);
        add_retained(r, retained, j, i);
        bytes += j->found[i - j->first].in_progress.bytes;
        blocks += j->found[i - j->first].in_progress.blocks;
    }
    mv_report_member(r, "verdict", text_json(r, mv_leak_verdict_name(j->verdict)));
    mv_report_member(r, "steps", steps_json(r, first ? &first->steps : NULL));
    mv_report_member(r, "floor", floor_json(r, first ? &first->floor : NULL));
    mv_report_member(r, "in_progress", in_progress_json(r, bytes, blocks));
    mv_report_member(r, "leaks", leaks);
    mv_report_member(r, "retained", retained);
    mv_report_member(r, "devices", devices_json(r, j));
    return mv_report_close(r);
}

/* ---- text -------------------------------------------------------------------------------- */

static void put_text(mv_out *out, const char *text)
{
    mv_out_clean(out, (mv_span){(const uint8_t *)text, strlen(text)});
}

static void put_moment(const judgement *j, const char *before, uint32_t device, uint32_t event)
{
    mv_events e = mv_trace_events(j->trace, device);

    mv_out_format(j->out, "%s event %u", before, event);
    if (event < e.count && e.time_us[event] != MV_NO_TIME && j->start_us != MV_NO_TIME)
        mv_out_format(j->out, " (%.3f s)", (double)(e.time_us[event] - j->start_us) / 1e6);
}

static void put_leak(const judgement *j, uint32_t device, const mv_leak *leak)
{
    mv_out *out = j->out;
    char label[512], bytes[MV_SIZE_TEXT], step[MV_SIZE_TEXT], lines[32] = "";

    if (leak->lines > 1)
        snprintf(lines, sizeof lines, ", made by %u lines", leak->lines);
    mv_leak_label(j->trace, j->kinds, leak, label, sizeof label);
    mv_out_style(out, MV_STYLE_RED);
    mv_out_text(out, "LEAK  ");
    if (mv_devices_in_use(j->trace, j->first, j->end) > 1)
        mv_out_format(out, "device %u: ", device);
    mv_out_style(out, MV_STYLE_BOLD);
    mv_prose_put_cut(out, mv_prose_room(out, 42), label);
    mv_out_style(out, MV_STYLE_NONE);
    mv_out_format(out, ": %s a step\n  %s in %u block%s alive at the end%s\n",
                  mv_size_text(step, leak->bytes_per_step), mv_size_text(bytes, leak->bytes),
                  leak->blocks, leak->blocks == 1 ? " is" : "s are", lines);
    put_moment(j, "  first", device, leak->first_event);
    put_moment(j, ", last", device, leak->last_event);
    mv_out_format(out, "; confidence %.2f\n", leak->confidence);
    if (leak->kind != MV_LEAK_UNKNOWN) {
        mv_out_text(out, "  ");
        mv_prose_put(out, 2, 4, "%s: %s", mv_leak_kind_name(leak->kind), leak->evidence);
    }
    mv_out_style(out, MV_STYLE_YELLOW);
    mv_out_text(out, "  -> ");
    mv_out_style(out, MV_STYLE_NONE);
    mv_prose_put(out, 5, 5, "%s", leak->advice);
    mv_stack_put(out, j->trace, j->kinds, leak->stack, j->cli->options.all_frames, 6);
}

/* What the step under way holds has a column of its own where there is some. */
static void put_retained(const judgement *j, const mv_leaks *found)
{
    static const mv_column columns[] = {
        {"retained", MV_UNIT_BYTES, 9}, {"blocks", MV_UNIT_COUNT, 0}, {"by", MV_UNIT_TEXT, 0}};
    static const mv_column with_step[] = {{"retained", MV_UNIT_BYTES, 9},
                                          {"of the step under way", MV_UNIT_BYTES, 9},
                                          {"blocks", MV_UNIT_COUNT, 0},
                                          {"by", MV_UNIT_TEXT, 0}};
    const char **labels = retained_labels(j, found);
    bool has_step = found->in_progress.bytes > 0;
    mv_sheet sheet;

    if (found->retained_count == 0)
        return;
    mv_sheet_init(&sheet, &j->cli->scratch, has_step ? with_step : columns, has_step ? 4 : 3);
    for (uint32_t i = 0; i < found->retained_count && i < j->limit; i++) {
        const mv_retained *kept = &found->retained[i];
        mv_sheet_size(&sheet, kept->bytes);
        if (has_step)
            mv_sheet_size(&sheet, kept->in_progress);
        mv_sheet_count(&sheet, kept->blocks);
        mv_sheet_text(&sheet, labels ? labels[i] : "?");
    }
    mv_out_char(j->out, '\n');
    mv_sheet_print(&sheet, j->out, 2);
    mv_rows_put_hidden(j->out, found->retained_count, j->limit);
}

static void put_steps(mv_out *out, const mv_steps *steps)
{
    if (steps->source == MV_STEPS_NONE)
        return;
    mv_out_format(out, "  %u steps, %s%s", steps->count,
                  steps->source == MV_STEPS_INFERRED ? "" : "by ",
                  mv_steps_source_name(steps->source));
    if (*steps->name) {
        mv_out_char(out, ' ');
        put_text(out, steps->name);
    }
    mv_out_char(out, '\n');
}

/* "850 us", "12 s", "3.5 h". */
static const char *duration_text(char text[32], int64_t us)
{
    static const struct {
        double us;
        const char *name;
    } units[] = {{86400e6, "days"}, {3600e6, "h"}, {60e6, "min"}, {1e6, "s"}, {1e3, "ms"}};

    for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
        if ((double)us >= units[i].us) {
            snprintf(text, 32, "%.3g %s", (double)us / units[i].us, units[i].name);
            return text;
        }
    snprintf(text, 32, "%lld us", (long long)us);
    return text;
}

static void put_outlook(const judgement *j, uint32_t device, const mv_leak_outlook *outlook)
{
    char capacity[MV_SIZE_TEXT], time[32], after[48] = "";

    if (outlook->oom_event != MV_NEVER) {
        put_moment(j, "  memory ran out at", device, outlook->oom_event);
        mv_out_format(j->out, ", with %s in all\n", mv_size_text(capacity, outlook->capacity));
        return;
    }
    if (outlook->steps == MV_NO_BYTES)
        return;
    if (outlook->time_us != MV_NO_TIME)
        snprintf(after, sizeof after, " (%s)", duration_text(time, outlook->time_us));
    mv_out_format(j->out, "  at this rate %s are full after %llu more step%s%s, or sooner\n",
                  mv_size_text(capacity, outlook->capacity), (unsigned long long)outlook->steps,
                  outlook->steps == 1 ? "" : "s", after);
}

static void put_floor(const judgement *j, const mv_leaks *found)
{
    const mv_leak_floor *f = &found->floor;
    char first[MV_SIZE_TEXT], last[MV_SIZE_TEXT], rise[MV_SIZE_TEXT];
    bool falls = f->last < f->first;

    if (f->steps < 2)
        return;
    mv_out_format(j->out, "  floor (least in a step): %s -> %s", mv_size_text(first, f->first),
                  mv_size_text(last, f->last));
    if (f->last != f->first)
        mv_out_format(j->out, " (%c%s)", falls ? '-' : '+',
                      mv_size_text(rise, falls ? f->first - f->last : f->last - f->first));
    mv_out_format(j->out, " over %u steps\n", f->steps);
}

static void put_in_progress(const judgement *j, const mv_leaks *found)
{
    char bytes[MV_SIZE_TEXT];

    if (found->in_progress.bytes > 0)
        mv_out_format(j->out,
                      "  in the step that was under way: %s in %u block%s, retained so far\n",
                      mv_size_text(bytes, found->in_progress.bytes), found->in_progress.blocks,
                      found->in_progress.blocks == 1 ? "" : "s");
}

static void put_summary(const judgement *j, uint32_t device, const mv_leaks *found)
{
    char live[MV_SIZE_TEXT], leaked[MV_SIZE_TEXT], kept[MV_SIZE_TEXT];

    mv_out_style(j->out, MV_STYLE_BOLD);
    mv_out_format(j->out, "device %u: ", device);
    mv_out_style(j->out, MV_STYLE_NONE);
    mv_out_style(j->out, found->verdict == MV_VERDICT_LEAK    ? MV_STYLE_RED
                         : found->verdict == MV_VERDICT_CLEAN ? MV_STYLE_GREEN
                                                              : MV_STYLE_YELLOW);
    mv_out_text(j->out, mv_leak_verdict_name(found->verdict));
    mv_out_style(j->out, MV_STYLE_NONE);
    if (found->verdict != MV_VERDICT_LEAK && *found->why) {
        mv_out_text(j->out, ": ");
        mv_prose_put(j->out, 20, 2, "%s%s%s", found->why, *found->settle ? ": " : "",
                     found->settle);
    } else {
        mv_out_char(j->out, '\n');
    }
    put_steps(j->out, &found->steps);
    put_floor(j, found);
    mv_out_format(j->out, "  alive at the end: %s = %s leaked + %s retained\n",
                  mv_size_text(live, found->live_bytes), mv_size_text(leaked, found->leaked_bytes),
                  mv_size_text(kept, found->retained_bytes));
    put_in_progress(j, found);
    if (found->exit_event < mv_trace_events(j->trace, device).count)
        mv_out_format(j->out,
                      "  the end is event %u, where the program's exit begins to free everything\n",
                      found->exit_event);
    put_outlook(j, device, &j->outlook[device - j->first]);
}

static void put_device(const judgement *j, uint32_t device)
{
    const mv_leaks *found = &j->found[device - j->first];

    if (is_idle(j, device)) {
        mv_captured_put_idle(j->out, j->trace, device);
        return;
    }
    for (uint32_t i = 0; i < found->count && i < j->limit; i++) {
        put_leak(j, device, &found->leaks[i]);
        mv_out_char(j->out, '\n');
    }
    mv_rows_put_hidden(j->out, found->count, j->limit);
    put_summary(j, device, found);
    put_retained(j, found);
}

/* ---- both -------------------------------------------------------------------------------- */

/* Events of a window have the numbers that they have in the trace. */
static void renumber(mv_leaks *found, mv_leak_outlook *outlook, const mv_lives *lives,
                     uint32_t first, uint32_t events)
{
    for (uint32_t i = 0; i < found->count; i++) {
        found->leaks[i].first_event += first;
        found->leaks[i].last_event += first;
    }
    found->exit_event = lives->has_later_events ? events : found->exit_event + first;
    if (outlook->oom_event != MV_NEVER)
        outlook->oom_event += first;
}

/* False, with a message, when memory is out or the window is none. */
static bool find_device(judgement *j, uint32_t device, mv_err *err)
{
    const mv_options *options = &j->cli->options;
    uint64_t capacity =
        mv_option_given(options, MV_HAS(CAPACITY)) ? options->capacity : MV_NO_BYTES;
    mv_leaks *found = &j->found[device - j->first];
    mv_leak_outlook *outlook = &j->outlook[device - j->first];
    mv_lives whole, lives;
    mv_window window;

    if (!mv_window_find(j->cli, j->trace, device, &window))
        return false;
    mv_lives_find(&j->cli->arena, j->trace, device, &whole, err);
    if (err->code == MV_OK)
        mv_lives_within(&j->cli->arena, &whole, window, &lives, err);
    if (err->code == MV_OK)
        mv_leaks_find(&j->cli->arena, j->trace, &lives, found, err);
    if (err->code == MV_OK)
        mv_leaks_outlook(&j->cli->arena, j->trace, &lives, found, capacity, outlook, err);
    if (err->code != MV_OK) {
        mv_complain(mv_input_name(j->cli), err);
        return false;
    }
    renumber(found, outlook, &lives, window.first, whole.events.count);
    return true;
}

static void put_devices(const judgement *j)
{
    bool follows = false;

    for (uint32_t i = j->first; i < j->end; i++) {
        if (!mv_device_is_told(j->trace, j->first, j->end, i))
            continue;
        if (follows)
            mv_out_char(j->out, '\n');
        put_device(j, i);
        follows = true;
    }
    mv_idle_put_others(j->out, j->trace, j->first, j->end, follows);
}

/* What --fail-on asked for: the first device that leaks, or that cannot be judged, speaks. */
static void judge_gate(judgement *j)
{
    for (uint32_t i = j->first; i < j->end; i++) {
        const mv_leaks *found = &j->found[i - j->first];
        char size[MV_SIZE_TEXT];
        if (found->verdict == MV_VERDICT_LEAK)
            mv_gate_judge(&j->cli->gates, MV_GATE_LEAK, MV_GATE_FAILS,
                          "device %u: %u leak%s, %s in all", i, found->count,
                          found->count == 1 ? "" : "s", mv_size_text(size, found->leaked_bytes));
        else if (found->verdict == MV_VERDICT_UNKNOWN && j->verdict == MV_VERDICT_UNKNOWN &&
                 (!is_idle(j, i) || i + 1 == j->end))
            mv_gate_judge(&j->cli->gates, MV_GATE_LEAK, MV_GATE_CANNOT_KNOW,
                          "device %u: unknown whether it leaks: %s", i, found->why);
    }
}

static int put_report(judgement *j)
{
    int status = MV_EXIT_DONE;

    if (mv_option_given(&j->cli->options, MV_HAS(JSON))) {
        status = put_json(j);
    } else {
        put_devices(j);
    }
    judge_gate(j);
    return mv_gate_status(&j->cli->gates, status);
}

int mv_cmd_leaks(mv_cli *cli)
{
    mv_trace trace;
    judgement j = {.cli = cli,
                   .out = &cli->out,
                   .trace = &trace,
                   .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, OTHER_LINES)};
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &j.first, &j.end))
        return MV_EXIT_FAILED;
    j.start_us = mv_position_start_us(&trace);
    j.kinds = mv_frame_kinds(&cli->arena, &trace);
    j.found = mv_push_array(&cli->arena, mv_leaks, j.end - j.first);
    j.outlook = mv_push_array(&cli->arena, mv_leak_outlook, j.end - j.first);
    if (!j.kinds || !j.found || !j.outlook)
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    if (err.code != MV_OK)
        return mv_complain(mv_input_name(cli), &err);
    for (uint32_t i = j.first; i < j.end; i++)
        if (!find_device(&j, i, &err))
            return MV_EXIT_FAILED;
    j.verdict = verdict_of_all(&j);
    return put_report(&j);
}
