/* memviz peak: who holds memory at the peak, or at another moment. */
#include <stdio.h>

#include "analyze/code/culprit.h"
#include "analyze/code/labels.h"
#include "analyze/peak/peak.h"
#include "base/size.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/input/text_file.h"
#include "cli/input/window.h"
#include "cli/report/by_group.h"
#include "cli/report/captured.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"
#include "cli/report/sheet.h"
#include "cli/report/stack_text.h"

/* Rows of the table of sites in text when --limit says nothing; lines beside it. */
#define TEXT_ROWS   12
#define OTHER_LINES 11

typedef struct {
    uint32_t device;
    mv_history_kind history;
    int64_t residual;
    uint64_t inexact_blocks;
    mv_attribution found;
    mv_peak_target target;
    mv_grouped grouped; /* --by */
} device_peak;

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    const uint8_t *kinds; /* of frames */
    mv_rules rules;
    uint32_t first, end; /* devices */
    uint32_t count;
    device_peak *devices; /* [count] */
    uint64_t limit;
    bool is_grouped;
} survey;

static bool is_idle(const survey *s, const device_peak *d)
{
    return mv_trace_events(s->trace, d->device).count == 0 && d->found.at.bytes.reserved == 0;
}

/* The device that a single answer is about: the one that holds most. */
static const device_peak *fullest(const survey *s)
{
    const device_peak *most = &s->devices[0];

    for (uint32_t i = 1; i < s->count; i++)
        if (s->devices[i].found.at.bytes.allocated > most->found.at.bytes.allocated)
            most = &s->devices[i];
    return most;
}

/* Labels of the sites that are shown; a site is told from others by its category, too. */
static const char **labels_of(const survey *s, const mv_attribution *found)
{
    uint32_t count = found->count < s->limit ? found->count : (uint32_t)s->limit;
    mv_labelled *rows = mv_push_array(&s->cli->scratch, mv_labelled, count);

    for (uint32_t i = 0; rows && i < count; i++)
        rows[i] = (mv_labelled){.trace = s->trace,
                                .kinds = s->kinds,
                                .stack = found->sites[i].stack,
                                .key = found->sites[i].category,
                                .bytes = found->sites[i].bytes};
    return rows ? mv_labels_find(&s->cli->scratch, rows, count, true) : NULL;
}

/* ---- JSON -------------------------------------------------------------------------------- */

static cJSON *category_json(mv_report *r, const mv_attribution *found, uint16_t category)
{
    const char *name = found->categories.name[category];

    return mv_json_span(r, (mv_span){(const uint8_t *)name, strlen(name)});
}

static cJSON *sites_json(mv_report *r, const survey *s, const mv_attribution *found)
{
    cJSON *array = mv_json_array(r, NULL, NULL);
    uint64_t allocated = found->at.bytes.allocated;
    const char **labels = labels_of(s, found);
    char label[512];

    for (uint32_t i = 0; i < found->count && i < s->limit; i++) {
        const mv_peak_site *site = &found->sites[i];
        cJSON *o = mv_json_object(r, array, NULL);
        mv_json_add_u64(r, o, "bytes", site->bytes);
        mv_json_add_u64(r, o, "blocks", site->blocks);
        mv_json_add(r, o, "share", mv_json_real((double)site->bytes / (double)allocated));
        mv_json_add(r, o, "category", category_json(r, found, site->category));
        mv_json_add(r, o, "annotation", mv_json_string(r, s->trace, site->annotation));
        mv_json_add_u64(r, o, "marginal_bytes", site->marginal);
        mv_culprit_label(s->trace, s->kinds, site->stack, label, sizeof label);
        mv_json_add_text(r, o, "culprit", label);
        mv_json_add_text(r, o, "label", labels ? labels[i] : label);
        mv_json_add(r, o, "frames", mv_json_frames(r, s->trace, site->stack));
    }
    return array;
}

static cJSON *categories_json(mv_report *r, const mv_attribution *found)
{
    cJSON *o = mv_json_object(r, NULL, NULL);

    for (uint32_t i = 0; i < found->categories.count; i++)
        if (found->category_bytes[i] > 0)
            mv_json_add_u64(r, o, found->categories.name[i], found->category_bytes[i]);
    return o;
}

static cJSON *ranges_json(mv_report *r, const survey *s, const mv_attribution *found)
{
    cJSON *array = mv_json_array(r, NULL, NULL);

    for (uint32_t i = 0; i < found->range_count; i++) {
        cJSON *o = mv_json_object(r, array, NULL);
        mv_json_add(r, o, "annotation", mv_json_string(r, s->trace, found->ranges[i].name));
        mv_json_add_u64(r, o, "bytes", found->ranges[i].bytes);
    }
    return array;
}

static cJSON *peak_json(mv_report *r, const mv_attribution *found)
{
    cJSON *o = mv_json_object(r, NULL, NULL);

    mv_json_add(r, o, "event",
                found->peak_event == MV_BEFORE ? cJSON_CreateNull()
                                               : mv_json_u64(found->peak_event));
    mv_json_add_u64(r, o, "allocated", found->peak);
    return o;
}

static cJSON *target_json(mv_report *r, const survey *s, const device_peak *d)
{
    const mv_peak_target *t = &d->target;
    cJSON *o = mv_json_object(r, NULL, NULL), *array;
    char label[512];

    mv_json_add_u64(r, o, "bytes", t->bytes);
    mv_json_add_bool(r, o, "reaches", t->reaches);
    mv_json_add_bool(r, o, "least", t->is_least);
    mv_json_add_u64(r, o, "peak", t->peak);
    array = mv_json_array(r, o, "sites");
    for (uint32_t i = 0; i < t->count; i++) {
        const mv_peak_part *part = &d->found.parts[t->part[i]];
        cJSON *site = mv_json_object(r, array, NULL);
        mv_json_add_u64(r, site, "fall", t->fall[i]);
        mv_json_add(r, site, "category", category_json(r, &d->found, part->category));
        mv_culprit_label(s->trace, s->kinds, part->stack, label, sizeof label);
        mv_json_add_text(r, site, "culprit", label);
        mv_json_add(r, site, "frames", mv_json_frames(r, s->trace, part->stack));
    }
    return o;
}

static cJSON *devices_json(mv_report *r, const survey *s)
{
    cJSON *array = mv_json_array(r, NULL, NULL);

    for (uint32_t i = 0; i < s->count; i++) {
        const device_peak *d = &s->devices[i];
        cJSON *o = mv_json_object(r, array, NULL);
        mv_json_add_u64(r, o, "device", d->device);
        mv_json_add_text(r, o, "history", mv_history_name(d->history));
        mv_json_add_i64(r, o, "residual", d->residual);
        mv_json_add_u64(r, o, "inexact_blocks", d->inexact_blocks);
        mv_json_add(r, o, "at", mv_at_json(r, &d->found.at));
        mv_json_add(r, o, "peak", peak_json(r, &d->found));
        mv_json_add(r, o, "sites", sites_json(r, s, &d->found));
        mv_json_add(r, o, "annotations", ranges_json(r, s, &d->found));
        if (mv_option_given(&s->cli->options, MV_HAS(TARGET)))
            mv_json_add(r, o, "target", target_json(r, s, d));
        mv_json_add(r, o, "categories", categories_json(r, &d->found));
        mv_json_add_u64(r, o, "unattributed", d->found.unattributed);
    }
    return array;
}

static int put_json(const survey *s)
{
    const device_peak none = {0}, *d = s->count ? fullest(s) : &none;
    mv_report report, *r = &report;

    mv_report_open(r, s->cli);
    mv_report_member(r, "device", mv_json_u64(d->device));
    mv_report_member(r, "at", mv_at_json(r, &d->found.at));
    mv_report_member(r, "peak", peak_json(r, &d->found));
    mv_report_member(r, "sites", sites_json(r, s, &d->found));
    mv_report_member(r, "categories", categories_json(r, &d->found));
    mv_report_member(r, "unattributed", mv_json_u64(d->found.unattributed));
    mv_report_member(r, "annotations", ranges_json(r, s, &d->found));
    if (mv_option_given(&s->cli->options, MV_HAS(TARGET)))
        mv_report_member(r, "target", target_json(r, s, d));
    if (s->is_grouped) {
        const char *by = mv_group_by_name(d->grouped.grouping.by);
        mv_report_member(r, "by", mv_json_span(r, (mv_span){(const uint8_t *)by, strlen(by)}));
        mv_report_member(r, "groups", mv_by_json(r, s->trace, &d->grouped, s->limit));
    }
    mv_report_member(r, "devices", devices_json(r, s));
    return mv_report_close(r);
}

/* ---- text -------------------------------------------------------------------------------- */

static void put_text(mv_out *out, const char *text)
{
    mv_out_clean(out, (mv_span){(const uint8_t *)text, strlen(text)});
}

/* "27 %", "0.4 %". */
static const char *percent(char text[16], uint64_t part, uint64_t whole)
{
    double p = whole ? 100 * (double)part / (double)whole : 0;

    snprintf(text, 16, p < 1 && part ? "%.1f %%" : "%.0f %%", p);
    return text;
}

static void put_verdict(const survey *s, const device_peak *d)
{
    const mv_attribution *found = &d->found;
    const char *at = s->cli->options.at ? s->cli->options.at : "peak";
    char size[MV_SIZE_TEXT], share[16], label[512], head[96], by[32] = "";

    snprintf(head, sizeof head, "device %u: %s allocated%s", d->device,
             mv_size_text(size, found->at.bytes.allocated),
             strcmp(at, "peak") == 0 ? " at the peak" : "");
    mv_out_style(s->out, MV_STYLE_BOLD);
    mv_out_text(s->out, head);
    mv_out_style(s->out, MV_STYLE_NONE);
    if (found->count > 0 && found->sites[0].bytes >= found->unattributed) {
        snprintf(by, sizeof by, "; %s by ",
                 percent(share, found->sites[0].bytes, found->at.bytes.allocated));
        mv_stack_label(s->trace, s->kinds, found->sites[0].stack, label, sizeof label);
        mv_out_text(s->out, by);
        mv_out_style(s->out, MV_STYLE_BOLD);
        mv_prose_put_cut(s->out, mv_prose_room(s->out, (uint32_t)(strlen(head) + strlen(by))),
                         label);
        mv_out_style(s->out, MV_STYLE_NONE);
    } else if (found->unattributed > 0) {
        mv_out_format(s->out, "; %s without a stack",
                      percent(share, found->unattributed, found->at.bytes.allocated));
    }
    mv_out_char(s->out, '\n');
}

static void put_doubts(const survey *s, const device_peak *d)
{
    char size[MV_SIZE_TEXT];
    uint64_t residual = d->residual < 0 ? 0 - (uint64_t)d->residual : (uint64_t)d->residual;

    if (d->history == MV_HISTORY_NONE)
        mv_out_text(s->out,
                    "  no events: what was alive as the file was written is all there is\n");
    if (d->history == MV_HISTORY_LATE || d->history == MV_HISTORY_TRUNCATED)
        mv_out_format(s->out, "  history is %s: the true peak may be earlier and higher\n",
                      mv_history_name(d->history));
    if (d->inexact_blocks > 0)
        mv_out_format(s->out, "  %llu block sizes from before the events are lower bounds\n",
                      (unsigned long long)d->inexact_blocks);
    if (residual > 0)
        mv_out_format(s->out, "  the final heap holds %s %s than the events lead to\n",
                      mv_size_text(size, residual), d->residual < 0 ? "less" : "more");
}

static void put_levels(const survey *s, const mv_attribution *found)
{
    const mv_levels *l = &found->at.bytes;
    char requested[MV_SIZE_TEXT], active[MV_SIZE_TEXT], reserved[MV_SIZE_TEXT];
    char at[MV_AT_TEXT], peak[MV_SIZE_TEXT], lower[64] = "";

    if (found->peak != l->allocated)
        snprintf(lower, sizeof lower, "; the peak is %s", mv_size_text(peak, found->peak));
    mv_out_text(s->out, "  ");
    mv_prose_put(s->out, 2, 4, "%s: %s requested, %s active, %s reserved%s",
                 mv_at_text(at, s->trace, &found->at), mv_size_text(requested, l->requested),
                 mv_size_text(active, l->active), mv_size_text(reserved, l->reserved), lower);
}

/* Indices of the categories that hold something, most first; their number is returned. */
static uint32_t sort_categories(const mv_attribution *found, uint32_t *order)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < found->categories.count; i++) {
        uint32_t at = count;
        if (found->category_bytes[i] == 0)
            continue;
        for (; at > 0 && found->category_bytes[order[at - 1]] < found->category_bytes[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
        count++;
    }
    return count;
}

static void put_categories(const survey *s, const mv_attribution *found)
{
    uint32_t *order = mv_push_array(&s->cli->scratch, uint32_t, found->categories.count);
    uint32_t count = order ? sort_categories(found, order) : 0;
    char size[MV_SIZE_TEXT], share[16], text[1024] = "";

    for (uint32_t i = 0; i < count; i++) {
        uint64_t bytes = found->category_bytes[order[i]];
        mv_prose_add(text, sizeof text, "%s%s %s (%s)", i ? ", " : "",
                     found->categories.name[order[i]], mv_size_text(size, bytes),
                     percent(share, bytes, found->at.bytes.allocated));
    }
    if (count == 0)
        return;
    mv_out_text(s->out, "  ");
    mv_prose_put(s->out, 2, 2, "%s", text);
}

static void put_ranges(const survey *s, const mv_attribution *found)
{
    static const mv_column columns[] = {{"bytes", MV_UNIT_BYTES, 9},
                                        {"share", MV_UNIT_COUNT, 5},
                                        {"allocated within", MV_UNIT_TEXT, 0}};
    mv_sheet sheet;
    char share[16];

    if (found->range_count == 0)
        return;
    mv_sheet_init(&sheet, &s->cli->scratch, columns, 3);
    for (uint32_t i = 0; i < found->range_count && i < s->limit; i++) {
        const mv_peak_range *range = &found->ranges[i];
        mv_sheet_size(&sheet, range->bytes);
        mv_sheet_text(&sheet, percent(share, range->bytes, found->at.bytes.allocated));
        mv_sheet_text(&sheet, range->name.row == MV_NO_ROW ? "(outside of annotations)"
                                                           : mv_string_text(s->trace, range->name));
    }
    mv_out_char(s->out, '\n');
    mv_sheet_print(&sheet, s->out, 2);
    mv_rows_put_hidden(s->out, found->range_count, s->limit);
}

static void add_site(mv_sheet *sheet, const mv_attribution *found, const mv_peak_site *site,
                     const char *label)
{
    char share[16];

    mv_sheet_size(sheet, site->bytes);
    mv_sheet_text(sheet, percent(share, site->bytes, found->at.bytes.allocated));
    mv_sheet_count(sheet, site->blocks);
    mv_sheet_size(sheet, site->marginal);
    mv_sheet_text(sheet, found->categories.name[site->category]);
    mv_sheet_text(sheet, label);
}

static void put_sites(const survey *s, const mv_attribution *found)
{
    static const mv_column columns[] = {{"bytes", MV_UNIT_BYTES, 9},
                                        {"share", MV_UNIT_COUNT, 5},
                                        {"blocks", MV_UNIT_COUNT | MV_UNIT_SPARE, 0},
                                        {"marginal", MV_UNIT_BYTES, 9},
                                        {"category", MV_UNIT_TEXT, 10},
                                        {"by", MV_UNIT_TEXT, 0}};
    const char **labels = labels_of(s, found);
    mv_sheet sheet;
    char share[16];

    mv_sheet_init(&sheet, &s->cli->scratch, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < found->count && i < s->limit; i++)
        add_site(&sheet, found, &found->sites[i], labels ? labels[i] : "?");
    if (found->unattributed > 0) {
        mv_sheet_size(&sheet, found->unattributed);
        mv_sheet_text(&sheet, percent(share, found->unattributed, found->at.bytes.allocated));
        mv_sheet_count(&sheet, found->unattributed_blocks);
        mv_sheet_text(&sheet, "");
        mv_sheet_text(&sheet, "");
        mv_sheet_text(&sheet, "(no stack)");
    }
    if (sheet.cells == 0)
        return;
    mv_out_char(s->out, '\n');
    mv_sheet_print(&sheet, s->out, 2);
    mv_rows_put_hidden(s->out, found->count, s->limit);
}

static void put_stacks(const survey *s, const mv_attribution *found)
{
    char size[MV_SIZE_TEXT], label[64];

    for (uint32_t i = 0; i < found->count && i < s->limit; i++) {
        const mv_peak_site *site = &found->sites[i];
        mv_out_format(s->out, "\n  %s ", mv_size_text(size, site->bytes));
        put_text(s->out, found->categories.name[site->category]);
        if (site->stack.row == MV_EMPTY_STACK.row)
            mv_out_format(s->out, "  %s",
                          mv_culprit_label(s->trace, s->kinds, site->stack, label, sizeof label));
        mv_out_char(s->out, '\n');
        mv_stack_put(s->out, s->trace, s->kinds, site->stack, s->cli->options.all_frames, 6);
    }
}

static void put_target(const survey *s, const device_peak *d)
{
    const mv_peak_target *t = &d->target;
    char bytes[MV_SIZE_TEXT], peak[MV_SIZE_TEXT], label[512], these[24];

    mv_size_text(bytes, t->bytes);
    mv_size_text(peak, t->peak);
    snprintf(these, sizeof these, t->count == 1 ? "this one" : "these %u", t->count);
    if (t->count == 0 && t->reaches)
        mv_out_format(s->out, "\n  target %s: the peak is no higher\n", bytes);
    else
        mv_out_format(s->out, "\n  target %s%s: without %s%s the peak is %s\n", bytes,
                      t->reaches ? "" : " is out of reach", these,
                      t->is_least && t->count > 1 ? " (fewer do not do)" : "", peak);
    for (uint32_t i = 0; i < t->count && i < s->limit; i++) {
        const mv_peak_part *part = &d->found.parts[t->part[i]];
        mv_out_format(s->out, "  -%9s  ", mv_size_text(bytes, t->fall[i]));
        put_text(s->out, d->found.categories.name[part->category]);
        mv_out_text(s->out, "  ");
        put_text(s->out, mv_stack_label(s->trace, s->kinds, part->stack, label, sizeof label));
        mv_out_char(s->out, '\n');
    }
    mv_rows_put_hidden(s->out, t->count, s->limit);
}

static void put_device(const survey *s, const device_peak *d)
{
    if (is_idle(s, d)) {
        mv_captured_put_idle(s->out, s->trace, d->device);
        return;
    }
    put_verdict(s, d);
    put_levels(s, &d->found);
    put_doubts(s, d);
    put_categories(s, &d->found);
    if (s->is_grouped)
        mv_by_put(s->cli, &d->grouped, s->limit);
    else
        put_sites(s, &d->found);
    if (!s->is_grouped)
        put_ranges(s, &d->found);
    if (mv_option_given(&s->cli->options, MV_HAS(TARGET)))
        put_target(s, d);
    if (mv_option_given(&s->cli->options, MV_HAS(FRAMES)))
        put_stacks(s, &d->found);
}

/* ---- both -------------------------------------------------------------------------------- */

static bool load_rules(survey *s)
{
    const char *path = s->cli->options.rules;
    mv_err err = {.offset = MV_NO_OFFSET};
    char why[200];
    mv_span text;

    if (!path)
        return true;
    if (mv_text_file_read(&s->cli->arena, path, &text, &err) != MV_OK) {
        mv_complain(NULL, &err);
        return false;
    }
    if (!mv_rules_read(&s->cli->arena, text, &s->rules, why, sizeof why)) {
        mv_complain_of(path, "%s", why);
        return false;
    }
    return true;
}

/* What --fail-on asked for, of the window. */
static mv_code judge_gates(survey *s, const mv_lives *lives, mv_window window, uint64_t peak,
                           mv_err *err)
{
    mv_moment_ask ask = {.kind = MV_MOMENT_RESERVED_PEAK, .window = window};
    mv_moment reserved;
    mv_totals totals;

    if (mv_totals_find(&s->cli->arena, s->trace, lives, &totals, err) != MV_OK ||
        mv_moment_find(&s->cli->arena, lives, ask, &reserved, err) != MV_OK)
        return err->code;
    totals.peak.bytes.allocated = peak;
    totals.peak.bytes.reserved = reserved.bytes.reserved;
    mv_gate_judge_totals(&s->cli->gates, &totals);
    return MV_OK;
}

static bool find_device(survey *s, uint32_t device, device_peak *d)
{
    mv_cli *cli = s->cli;
    mv_peak_opts opts = {.kinds = s->kinds, .rules = &s->rules};
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_moment at;
    mv_lives lives;

    if (mv_lives_find(&cli->arena, s->trace, device, &lives, &err) != MV_OK) {
        mv_complain(mv_input_name(cli), &err);
        return false;
    }
    if (!mv_window_find(cli, s->trace, device, &opts.window) ||
        !mv_at_find(cli, s->trace, &lives, "peak", &at))
        return false;
    *d = (device_peak){.device = device,
                       .history = lives.history,
                       .residual = lives.doubts.residual,
                       .inexact_blocks = lives.doubts.inexact_blocks};
    mv_peak_attribute(&cli->arena, s->trace, &lives, at, opts, &d->found, &err);
    if (err.code == MV_OK && s->is_grouped)
        mv_by_find(cli, s->trace, &lives, s->kinds, at.event, &d->grouped, &err);
    if (err.code == MV_OK && mv_option_given(&cli->options, MV_HAS(TARGET)))
        mv_peak_reach(&cli->arena, &d->found, cli->options.target, &d->target, &err);
    if (err.code == MV_OK && mv_option_given(&cli->options, MV_HAS(FAIL_ON)))
        judge_gates(s, &lives, opts.window, d->found.peak, &err);
    if (err.code != MV_OK)
        mv_complain(mv_input_name(cli), &err);
    return err.code == MV_OK;
}

static void put_text_report(const survey *s)
{
    bool follows = false;

    for (uint32_t i = 0; i < s->count; i++) {
        if (!mv_device_is_told(s->trace, s->first, s->end, s->devices[i].device))
            continue;
        if (follows)
            mv_out_char(s->out, '\n');
        put_device(s, &s->devices[i]);
        follows = true;
    }
    mv_idle_put_others(s->out, s->trace, s->first, s->end, follows);
}

static int put_report(const survey *s)
{
    int status = MV_EXIT_DONE;

    if (mv_option_given(&s->cli->options, MV_HAS(JSON))) {
        status = put_json(s);
    } else {
        put_text_report(s);
    }
    return mv_gate_status(&s->cli->gates, status);
}

int mv_cmd_peak(mv_cli *cli)
{
    mv_trace trace;
    survey s = {.cli = cli,
                .out = &cli->out,
                .trace = &trace,
                .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, OTHER_LINES)};
    mv_err err = {.offset = MV_NO_OFFSET};
    bool is_found = true;
    int status;

    if (!mv_by_wanted(cli, &s.is_grouped, &status))
        return status;
    if (!load_rules(&s))
        return MV_EXIT_FAILED;
    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &s.first, &s.end)) {
        mv_rules_release(&s.rules);
        return MV_EXIT_FAILED;
    }
    s.kinds = mv_frame_kinds(&cli->arena, &trace);
    s.devices = mv_push_array(&cli->arena, device_peak, s.end - s.first);
    if (!s.kinds || !s.devices) {
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
        mv_complain(mv_input_name(cli), &err);
        is_found = false;
    }
    for (uint32_t i = s.first; i < s.end && is_found; i++)
        if (!mv_at_is_elsewhere(cli, &trace, i))
            is_found = find_device(&s, i, &s.devices[s.count++]);
    status = is_found ? put_report(&s) : MV_EXIT_FAILED;
    mv_rules_release(&s.rules);
    return status;
}
