/* memviz ranks: several ranks or devices side by side; which one differs, and why, first. */
#include <stdio.h>

#include "analyze/ranks/ranks.h"
#include "base/size.h"
#include "cli/complain.h"
#include "cli/input/rank_files.h"
#include "cli/report/prose.h"
#include "cli/report/report.h"
#include "cli/report/rows.h"
#include "cli/report/sheet.h"
#include "cli/report/stack_text.h"

/* Rows of the table in text when --limit says nothing; lines beside it. */
#define TEXT_ROWS   32
#define OTHER_LINES 7

#define SENTENCE 1024

typedef struct {
    mv_cli *cli;
    mv_out *out;
    uint64_t limit;
    mv_rank_files files;
    uint32_t count;
    const mv_summary **ranks; /* [count] */
    mv_ranks found;           /* meaningful with a rank at least */
} lineup;

/* ---- words ------------------------------------------------------------------------------- */

static void put_text(mv_out *out, const char *text)
{
    mv_out_clean(out, (mv_span){(const uint8_t *)text, strlen(text)});
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* Ranks go by their file's name; by folder and file where names recur, and with the device where
 * a file has several; by the device alone where there is one file. */
static const char *name_of(const lineup *l, uint32_t rank, char *out, size_t size)
{
    const mv_summary *own = l->ranks[rank];
    const char *name = base_name(own->name);
    bool recurs = false, several = false, all = true;

    for (uint32_t i = 0; i < l->count; i++) {
        bool same = strcmp(l->ranks[i]->name, own->name) == 0;
        several = several || (i != rank && same && l->ranks[i]->device != own->device);
        all = all && same;
        recurs = recurs || (!same && strcmp(base_name(l->ranks[i]->name), name) == 0);
    }
    if (several && all)
        snprintf(out, size, "device %u", own->device);
    else if (several)
        snprintf(out, size, "%s device %u", recurs ? own->name : name, own->device);
    else
        snprintf(out, size, "%s", recurs ? own->name : name);
    return out;
}

static const char *label_of(const mv_trace *code, mv_stack_id stack, char *out, size_t size)
{
    return mv_culprit_label(code, NULL, stack, out, size);
}

static const char *signed_size(char text[MV_SIZE_TEXT + 1], uint64_t value, uint64_t other)
{
    text[0] = value < other ? '-' : '+';
    mv_size_text(text + 1, value < other ? other - value : value - other);
    return value == other ? text + 1 : text;
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void add_apart(mv_report *r, cJSON *o, const lineup *l, uint32_t rank)
{
    const mv_divergence *apart = &l->found.apart[rank];
    const mv_summary_point *point;
    cJSON *d;

    if (apart->first == MV_NO_DIVERGENCE) {
        mv_json_add(r, o, "parts", cJSON_CreateNull());
        return;
    }
    point = mv_sequence_point(l->ranks[rank], apart->last);
    d = mv_json_object(r, o, "parts");
    mv_json_add_u64(r, d, "first_allocation", apart->first);
    mv_json_add_u64(r, d, "last_allocation", apart->last);
    mv_json_add(r, d, "event", point ? mv_json_u64(point->event) : cJSON_CreateNull());
}

static void add_rank(mv_report *r, cJSON *array, const lineup *l, uint32_t rank)
{
    const mv_summary *s = l->ranks[rank];
    cJSON *o = mv_json_object(r, array, NULL);

    mv_json_add_text(r, o, "file", s->name);
    mv_json_add_u64(r, o, "device", s->device);
    mv_json_add_u64(r, o, "peak_allocated", s->peak_allocated);
    mv_json_add_u64(r, o, "peak_reserved", s->peak_reserved);
    mv_json_add_bool(r, o, "peaks_exact", s->is_exact);
    mv_json_add_u64(r, o, "end_allocated", s->end_allocated);
    mv_json_add_text(r, o, "leak_verdict", mv_leak_verdict_name(s->verdict));
    mv_json_add_u64(r, o, "leaked_bytes", s->leaked_bytes);
    mv_json_add_u64(r, o, "steps", s->steps);
    mv_json_add_text(r, o, "history", mv_history_name(s->history));
    mv_json_add_u64(r, o, "events", s->events);
    mv_json_add_u64(r, o, "allocations", s->allocs);
    mv_json_add_u64(r, o, "ooms", s->ooms);
    add_apart(r, o, l, rank);
    mv_json_add(r, o, "error", cJSON_CreateNull());
}

static void add_broken(mv_report *r, cJSON *array, const mv_rank_file *file)
{
    cJSON *o = mv_json_object(r, array, NULL), *error;

    mv_json_add_text(r, o, "file", file->path);
    mv_json_add(r, o, "device", cJSON_CreateNull());
    mv_json_add(r, o, "peak_allocated", cJSON_CreateNull());
    mv_json_add(r, o, "peak_reserved", cJSON_CreateNull());
    mv_json_add_text(r, o, "leak_verdict", mv_leak_verdict_name(MV_VERDICT_UNKNOWN));
    error = mv_json_object(r, o, "error");
    mv_json_add_text(r, error, "code", mv_code_name(file->err.code));
    mv_json_add_text(r, error, "text", mv_code_text(file->err.code));
    mv_json_add_text(r, error, "detail", file->err.detail);
    mv_json_add(r, error, "offset",
                file->err.offset == MV_NO_OFFSET ? cJSON_CreateNull()
                                                 : mv_json_u64(file->err.offset));
}

static cJSON *outliers_json(mv_report *r, const lineup *l)
{
    cJSON *array = mv_json_array(r, NULL, NULL);

    for (uint32_t i = 0; l->count && i < l->found.count; i++) {
        const mv_rank_outlier *found = &l->found.outliers[i];
        const mv_trace *code = l->ranks[found->code_of]->code;
        cJSON *o = mv_json_object(r, array, NULL);
        char label[512];
        mv_json_add_text(r, o, "file", l->ranks[found->rank]->name);
        mv_json_add_u64(r, o, "device", l->ranks[found->rank]->device);
        mv_json_add_text(r, o, "reason", mv_rank_reason_name(found->reason));
        mv_json_add_text(r, o, "text", mv_rank_reason_text(found->reason));
        mv_json_add_u64(r, o, "bytes", found->bytes);
        mv_json_add(r, o, "factor",
                    found->factor != 0 ? mv_json_real(found->factor) : cJSON_CreateNull());
        mv_json_add_text(r, o, "culprit", label_of(code, found->stack, label, sizeof label));
        mv_json_add(r, o, "frames", mv_json_frames(r, code, found->stack));
    }
    return array;
}

/* One side of a divergence: what the rank does there, as far as its summary tells. */
static cJSON *doing_json(mv_report *r, const lineup *l, uint32_t rank, uint64_t allocation)
{
    const mv_summary *s = l->ranks[rank];
    const mv_summary_point *point = mv_sequence_point(s, allocation);
    const mv_summary_site *site = point ? mv_summary_find(s, point->key) : NULL;
    cJSON *o = mv_json_object(r, NULL, NULL);

    mv_json_add_text(r, o, "file", s->name);
    mv_json_add_u64(r, o, "device", s->device);
    mv_json_add(r, o, "event", point ? mv_json_u64(point->event) : cJSON_CreateNull());
    mv_json_add(r, o, "bytes", point ? mv_json_u64(point->size) : cJSON_CreateNull());
    mv_json_add(r, o, "frames", mv_json_frames(r, s->code, site ? site->stack : MV_NO_STACK));
    return o;
}

static cJSON *divergence_json(mv_report *r, const lineup *l)
{
    const mv_divergence *where;
    cJSON *o;

    if (l->count == 0 || l->found.first == MV_NO_ROW)
        return cJSON_CreateNull();
    where = &l->found.apart[l->found.first];
    o = mv_json_object(r, NULL, NULL);
    mv_json_add_u64(r, o, "first_allocation", where->first);
    mv_json_add_u64(r, o, "last_allocation", where->last);
    mv_json_add(r, o, "differs", doing_json(r, l, l->found.first, where->last));
    mv_json_add(r, o, "most", doing_json(r, l, l->found.most, where->last));
    return o;
}

static int put_json(const lineup *l)
{
    mv_report report, *r = &report;
    cJSON *ranks;

    mv_report_open(r, l->cli);
    ranks = mv_json_array(r, NULL, NULL);
    for (uint32_t i = 0, rank = 0; i < l->files.count; i++) {
        if (l->files.files[i].err.code != MV_OK)
            add_broken(r, ranks, &l->files.files[i]);
        for (uint32_t k = 0; k < l->files.files[i].count && rank < l->limit; k++)
            add_rank(r, ranks, l, rank++);
    }
    mv_report_member(r, "ranks", ranks);
    mv_report_member(r, "outliers", outliers_json(r, l));
    mv_report_member(r, "divergence", divergence_json(r, l));
    return mv_report_close(r);
}

/* ---- text: the verdict ------------------------------------------------------------------- */

static void say_reason(const lineup *l, char text[SENTENCE], const mv_rank_outlier *found)
{
    const mv_trace *code = l->ranks[found->code_of]->code;
    bool is_batch = found->reason == MV_RANK_LARGER_BATCH || found->reason == MV_RANK_SMALLER_BATCH;
    char bytes[MV_SIZE_TEXT], label[256];

    mv_prose_add(text, SENTENCE, "%s", mv_rank_reason_text(found->reason));
    if (found->factor != 0)
        mv_prose_add(text, SENTENCE, " (%.2f times)", found->factor);
    if (found->bytes)
        mv_prose_add(text, SENTENCE, ": %s", mv_size_text(bytes, found->bytes));
    if (found->stack.row != MV_NO_ROW)
        mv_prose_add(text, SENTENCE, "%s at %s", is_batch ? ", most" : "",
                     label_of(code, found->stack, label, sizeof label));
}

/* The only outlier there is ends the sentence, whose subject is `rank`. */
static void say_lone(const lineup *l, char text[SENTENCE], uint32_t rank)
{
    const mv_rank_outlier *lone = &l->found.outliers[0];
    char name[256];

    if (l->found.count != 1)
        return;
    mv_prose_add(text, SENTENCE, "; %s ",
                 lone->rank == rank ? "it" : name_of(l, lone->rank, name, sizeof name));
    say_reason(l, text, lone);
}

/* Of two ranks the larger is named; which of them is as it should be, nobody knows. */
static void say_two(const lineup *l, char text[SENTENCE])
{
    uint32_t small = l->found.reference, large = 1 - small;
    const mv_summary *a = l->ranks[small], *b = l->ranks[large];
    char name[256], other[256], bytes[MV_SIZE_TEXT];

    if (a->peak_allocated == b->peak_allocated) {
        mv_prose_add(text, SENTENCE, "both peak at %s", mv_size_text(bytes, a->peak_allocated));
        say_lone(l, text, MV_NO_ROW);
        return;
    }
    mv_prose_add(text, SENTENCE, "%s peaks %s above %s", name_of(l, large, name, sizeof name),
                 mv_size_text(bytes, b->peak_allocated - a->peak_allocated),
                 name_of(l, small, other, sizeof other));
    say_lone(l, text, large);
}

static uint32_t ranks_off(const lineup *l)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < l->found.count; i++)
        count += i == 0 || l->found.outliers[i].rank != l->found.outliers[i - 1].rank;
    return count;
}

static void say_several(const lineup *l, char text[SENTENCE])
{
    uint64_t least = UINT64_MAX, most = 0;
    char a[MV_SIZE_TEXT], b[MV_SIZE_TEXT];
    uint32_t off = ranks_off(l);

    if (off) {
        mv_prose_add(text, SENTENCE, "%u of %u ranks %s off", off, l->count,
                     off == 1 ? "is" : "are");
        say_lone(l, text, MV_NO_ROW);
        return;
    }
    for (uint32_t i = 0; i < l->count; i++) {
        uint64_t peak = l->ranks[i]->peak_allocated;
        least = peak < least ? peak : least;
        most = peak > most ? peak : most;
    }
    mv_prose_add(text, SENTENCE, "no rank is off: peaks of %s to %s", mv_size_text(a, least),
                 mv_size_text(b, most));
}

static void put_outlier(const lineup *l, const mv_rank_outlier *found)
{
    char name[256], text[SENTENCE] = "";

    mv_out_text(l->out, "  ");
    mv_out_style(l->out, found->reason == MV_RANK_LEAK || found->reason == MV_RANK_OOM
                             ? MV_STYLE_RED
                             : MV_STYLE_BOLD);
    put_text(l->out, name_of(l, found->rank, name, sizeof name));
    mv_out_style(l->out, MV_STYLE_NONE);
    mv_out_char(l->out, ' ');
    say_reason(l, text, found);
    mv_prose_put(l->out, 3 + mv_prose_width(name), 4, "%s", text);
}

static void put_verdict(const lineup *l)
{
    uint32_t failed = l->files.failed;
    char text[SENTENCE] = "";

    if (failed)
        mv_prose_add(text, SENTENCE, "%u of %u files could not be read; ", failed, l->files.count);
    if (l->count == 0)
        mv_prose_add(text, SENTENCE, "no rank to show");
    else if (l->count == 1)
        mv_prose_add(text, SENTENCE, "one rank: nothing to compare it with");
    else if (l->count == 2)
        say_two(l, text);
    else
        say_several(l, text);
    mv_prose_put(l->out, 0, 2, "%s", text);
    for (uint32_t i = 0; l->found.count > 1 && i < l->found.count; i++)
        put_outlier(l, &l->found.outliers[i]);
    if (l->found.leaks > 1 && 2 * l->found.leaks > l->count)
        mv_out_format(l->out, "  %s %u ranks leak; memviz leaks FILE tells where\n",
                      l->found.leaks == l->count ? "all" : "most:", l->found.leaks);
}

/* ---- text: the table --------------------------------------------------------------------- */

static void add_parting(const lineup *l, mv_sheet *sheet, uint32_t rank)
{
    const mv_divergence *apart = &l->found.apart[rank];
    char text[96];

    if (!mv_sequence_is_whole(l->ranks[rank]))
        snprintf(text, sizeof text, "unknown: history %s",
                 mv_history_name(l->ranks[rank]->history));
    else if (apart->first == MV_NO_DIVERGENCE)
        snprintf(text, sizeof text, "-");
    else if (apart->first == apart->last)
        snprintf(text, sizeof text, "allocation %llu", (unsigned long long)apart->first);
    else
        snprintf(text, sizeof text, "allocation %llu to %llu", (unsigned long long)apart->first,
                 (unsigned long long)apart->last);
    mv_sheet_text(sheet, text);
}

static void add_row(const lineup *l, mv_sheet *sheet, uint32_t rank)
{
    const mv_summary *s = l->ranks[rank];
    char text[512];

    mv_sheet_text(sheet, name_of(l, rank, text, sizeof text));
    mv_sheet_size(sheet, s->peak_allocated);
    mv_sheet_text(sheet, rank == l->found.reference
                             ? "="
                             : signed_size(text, s->peak_allocated,
                                           l->ranks[l->found.reference]->peak_allocated));
    mv_sheet_size(sheet, s->peak_reserved);
    mv_sheet_text(sheet, mv_leak_verdict_name(s->verdict));
    mv_sheet_count(sheet, s->steps);
    mv_sheet_count(sheet, s->allocs);
    add_parting(l, sheet, rank);
}

static void put_table(const lineup *l)
{
    static const mv_column columns[] = {{"rank", MV_UNIT_TEXT, 0},
                                        {"peak", MV_UNIT_BYTES, 8},
                                        {"apart", MV_UNIT_BYTES, 0},
                                        {"reserved", MV_UNIT_BYTES, 8},
                                        {"leak", MV_UNIT_TEXT, 0},
                                        {"steps", MV_UNIT_COUNT | MV_UNIT_SPARE, 0},
                                        {"allocs", MV_UNIT_COUNT | MV_UNIT_SPARE, 0},
                                        {"first differs at", MV_UNIT_TEXT, 0}};
    mv_sheet sheet;

    mv_out_char(l->out, '\n');
    mv_sheet_init(&sheet, &l->cli->scratch, columns, 8);
    for (uint32_t i = 0; i < l->count && i < l->limit; i++)
        add_row(l, &sheet, i);
    mv_sheet_print(&sheet, l->out, 2);
    mv_rows_put_hidden(l->out, l->count, l->limit);
}

static void put_broken(const lineup *l)
{
    for (uint32_t i = 0; i < l->files.count; i++) {
        const mv_rank_file *file = &l->files.files[i];
        if (file->err.code == MV_OK)
            continue;
        mv_out_text(l->out, "  ");
        put_text(l->out, file->path);
        mv_out_style(l->out, MV_STYLE_RED);
        mv_out_format(l->out, ": %s", mv_code_text(file->err.code));
        mv_out_style(l->out, MV_STYLE_NONE);
        if (*file->err.detail)
            mv_out_text(l->out, ": ");
        put_text(l->out, file->err.detail);
        mv_out_char(l->out, '\n');
    }
}

static void put_doing(const lineup *l, uint32_t rank, uint64_t allocation)
{
    const mv_summary *s = l->ranks[rank];
    const mv_summary_point *point = mv_sequence_point(s, allocation);
    const mv_summary_site *site = point ? mv_summary_find(s, point->key) : NULL;
    char name[512], bytes[MV_SIZE_TEXT], label[512];

    mv_out_text(l->out, "    ");
    put_text(l->out, name_of(l, rank, name, sizeof name));
    if (!point) {
        mv_out_text(l->out, ": not in its summary\n");
        return;
    }
    mv_out_format(l->out, " event %u: %s", point->event, mv_size_text(bytes, point->size));
    if (site) {
        mv_out_text(l->out, " at ");
        put_text(l->out, label_of(s->code, site->stack, label, sizeof label));
    }
    mv_out_char(l->out, '\n');
    if (site && l->cli->options.given & MV_HAS(FRAMES)) {
        const uint8_t *kinds = mv_frame_kinds(&l->cli->scratch, s->code);
        if (kinds)
            mv_stack_put(l->out, s->code, kinds, site->stack, l->cli->options.all_frames, 8);
    }
}

static void put_divergence(const lineup *l)
{
    const mv_divergence *where;

    if (l->found.first == MV_NO_ROW)
        return;
    where = &l->found.apart[l->found.first];
    mv_out_format(l->out, "\n  first difference: allocation %llu",
                  (unsigned long long)where->first);
    if (where->last != where->first)
        mv_out_format(l->out, " to %llu", (unsigned long long)where->last);
    mv_out_char(l->out, '\n');
    put_doing(l, l->found.first, where->last);
    put_doing(l, l->found.most, where->last);
}

/* ---- both -------------------------------------------------------------------------------- */

static mv_code line_up(lineup *l, mv_err *err)
{
    for (uint32_t i = 0; i < l->files.count; i++)
        l->count += l->files.files[i].count;
    l->ranks = mv_push_array(&l->cli->arena, const mv_summary *, l->count);
    if (!l->ranks)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = 0, rank = 0; i < l->files.count; i++)
        for (uint32_t k = 0; k < l->files.files[i].count; k++)
            l->ranks[rank++] = &l->files.files[i].summaries[k];
    if (l->count == 0)
        return MV_OK;
    return mv_ranks_compare(&l->cli->arena, l->ranks, l->count, &l->found, err);
}

/* What --fail-on asked for, of every rank. */
static void judge_gate(lineup *l)
{
    mv_gates *gates = &l->cli->gates;
    char name[256], what[320], why[48], size[MV_SIZE_TEXT];
    const char *doubt;

    for (uint32_t i = 0; i < l->count; i++) {
        const mv_summary *s = l->ranks[i];
        name_of(l, i, name, sizeof name);
        if (s->verdict == MV_VERDICT_LEAK)
            mv_gate_judge(gates, MV_GATE_LEAK, MV_GATE_FAILS, "%s leaks: %s in all", name,
                          mv_size_text(size, s->leaked_bytes));
        else if (s->verdict == MV_VERDICT_UNKNOWN)
            mv_gate_judge(gates, MV_GATE_LEAK, MV_GATE_CANNOT_KNOW,
                          "%s: unknown whether it leaks; memviz leaks says why", name);
        if (s->ooms)
            mv_gate_judge(gates, MV_GATE_OOM, MV_GATE_FAILS, "%s: %llu request%s failed", name,
                          (unsigned long long)s->ooms, s->ooms == 1 ? "" : "s");
        else if (s->history != MV_HISTORY_COMPLETE)
            mv_gate_judge(gates, MV_GATE_OOM, MV_GATE_CANNOT_KNOW,
                          "%s: no request failed in what was recorded: history %s", name,
                          mv_history_name(s->history));
        snprintf(why, sizeof why, "history %s", mv_history_name(s->history));
        doubt = s->is_exact                         ? NULL
                : s->history == MV_HISTORY_COMPLETE ? "the events contradict each other"
                                                    : why;
        snprintf(what, sizeof what, "%s: peak allocated", name);
        mv_gate_judge_bytes(gates, MV_GATE_PEAK, s->peak_allocated, doubt, what);
        snprintf(what, sizeof what, "%s: peak reserved", name);
        mv_gate_judge_bytes(gates, MV_GATE_RESERVED, s->peak_reserved, doubt, what);
    }
}

static int put_report(lineup *l)
{
    int status = MV_EXIT_DONE;

    if (mv_option_given(&l->cli->options, MV_HAS(JSON))) {
        status = put_json(l);
    } else {
        put_verdict(l);
        if (l->count) {
            put_table(l);
            put_divergence(l);
        }
        if (l->files.failed)
            mv_out_char(l->out, '\n');
        put_broken(l);
    }
    if (status != MV_EXIT_DONE)
        return status;
    for (uint32_t i = 0; i < l->files.count; i++)
        if (l->files.files[i].err.code != MV_OK)
            mv_complain(l->files.files[i].path, &l->files.files[i].err);
    l->cli->keeps_report = true;
    if (l->files.failed)
        return MV_EXIT_FAILED;
    judge_gate(l);
    return mv_gate_status(&l->cli->gates, MV_EXIT_DONE);
}

int mv_cmd_ranks(mv_cli *cli)
{
    lineup l = {
        .cli = cli, .out = &cli->out, .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, OTHER_LINES)};
    mv_err err = {.offset = MV_NO_OFFSET};
    int status;

    if (!mv_rank_files_read(cli, &l.files))
        return MV_EXIT_FAILED;
    if (line_up(&l, &err) == MV_OK)
        status = put_report(&l);
    else
        status = mv_complain(NULL, &err);
    mv_rank_files_release(&l.files);
    return status;
}
