/* memviz ranks: several ranks or devices side by side; which one differs, and why, first. */
#include <stdio.h>

#include "analyze/ranks/ranks.h"
#include "base/size.h"
#include "cli/complain.h"
#include "cli/input/rank_files.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"
#include "cli/report/stack_text.h"
#include "cli/report/table.h"

/* Rows of the table in text when --limit says nothing; lines beside it. */
#define TEXT_ROWS   32
#define OTHER_LINES 7

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

static const char *label_of(const mv_trace *code, mv_stack_id stack, char *out, size_t size)
{
    return mv_culprit_label(code, NULL, stack, out, size);
}

/* ---- fields ------------------------------------------------------------------------------ */

/* Where a rank leaves what most do, in words. */
static const char *parting_text(const lineup *l, uint32_t rank, char text[96])
{
    const mv_divergence *apart = &l->found.apart[rank];

    if (!mv_sequence_is_whole(l->ranks[rank]))
        snprintf(text, 96, "unknown: history %s", mv_history_name(l->ranks[rank]->history));
    else if (apart->first == MV_NO_DIVERGENCE)
        snprintf(text, 96, "-");
    else if (apart->first == apart->last)
        snprintf(text, 96, "allocation %llu", (unsigned long long)apart->first);
    else
        snprintf(text, 96, "allocation %llu to %llu", (unsigned long long)apart->first,
                 (unsigned long long)apart->last);
    return text;
}

#define RANK_FIELDS(COLUMN, MEMBER, LIST)                                                     \
    COLUMN("file", "rank", 1, MV_UNIT_TEXT, 0, mv_value_shown(mv_value_text(s->name), name))  \
    MEMBER("device", s->device)                                                               \
    COLUMN("peak_allocated", "peak", 2, MV_UNIT_BYTES, 8, s->peak_allocated)                  \
    COLUMN(NULL, "apart", 3, MV_UNIT_CHANGE, 0,                                               \
           mv_value_shown(mv_value_i64((int64_t)(s->peak_allocated - usual->peak_allocated)), \
                          s == usual ? "=" : NULL))                                           \
    COLUMN("peak_reserved", "reserved", 4, MV_UNIT_BYTES, 8, s->peak_reserved)                \
    MEMBER("peaks_exact", s->is_exact)                                                        \
    MEMBER("end_allocated", s->end_allocated)                                                 \
    COLUMN("leak_verdict", "leak", 5, MV_UNIT_TEXT, 0, mv_leak_verdict_name(s->verdict))      \
    MEMBER("leaked_bytes", s->leaked_bytes)                                                   \
    COLUMN("steps", "steps", 6, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, s->steps)                   \
    MEMBER("history", mv_history_name(s->history))                                            \
    MEMBER("events", s->events)                                                               \
    COLUMN("allocations", "allocs", 7, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, s->allocs)           \
    MEMBER("ooms", s->ooms)                                                                   \
    MEMBER("parts.first_allocation", apart->first == MV_NO_DIVERGENCE                         \
                                         ? mv_value_of(MV_VALUE_NULL_OBJECT)                  \
                                         : mv_value_u64(apart->first))                        \
    MEMBER("parts.last_allocation", apart->last)                                              \
    MEMBER("parts.event", point ? mv_value_u64(point->event) : mv_value_of(MV_VALUE_NULL))    \
    COLUMN(NULL, "first differs at", 8, MV_UNIT_TEXT, 0, parting_text(l, rank, parting))      \
    MEMBER("error.code", mv_value_of(MV_VALUE_NULL_OBJECT))                                   \
    MEMBER("error.text", mv_value_of(MV_VALUE_ABSENT))                                        \
    MEMBER("error.detail", mv_value_of(MV_VALUE_ABSENT))                                      \
    MEMBER("error.offset", mv_value_of(MV_VALUE_ABSENT))

static void add_rank(mv_rows *rows, const lineup *l, uint32_t rank)
{
    const mv_summary *s = l->ranks[rank], *usual = l->ranks[l->found.reference];
    const mv_divergence *apart = &l->found.apart[rank];
    const mv_summary_point *point =
        apart->first == MV_NO_DIVERGENCE ? NULL : mv_sequence_point(s, apart->last);
    const char *name = l->found.names[rank];
    char parting[96];

    MV_ROWS_ADD(rows, RANK_FIELDS);
}

static void add_broken(mv_rows *rows, const mv_rank_file *file)
{
    const mv_value null = mv_value_of(MV_VALUE_NULL);
    const mv_named_value values[] = {
        {"file", mv_value_text(file->path)},
        {"device", null},
        {"peak_allocated", null},
        {"peak_reserved", null},
        {"leak_verdict", mv_value_text(mv_leak_verdict_name(MV_VERDICT_UNKNOWN))},
        {"error.code", mv_value_text(mv_code_name(file->err.code))},
        {"error.text", mv_value_text(mv_code_text(file->err.code))},
        {"error.detail", mv_value_text(file->err.detail)},
        {"error.offset", file->err.offset == MV_NO_OFFSET ? null : mv_value_u64(file->err.offset)},
    };

    mv_rows_add_some(rows, sizeof values / sizeof *values, values);
}

/* Text speaks of files that could not be read below the table. */
static void list_ranks(mv_rows *rows, const void *all, const void *one)
{
    const lineup *l = all;
    uint32_t count = mv_rows_take(rows, l->count, l->limit);

    (void)one;
    for (uint32_t i = 0, rank = 0; i < l->files.count; i++) {
        if (l->files.files[i].err.code != MV_OK && !mv_rows_are_text(rows))
            add_broken(rows, &l->files.files[i]);
        for (uint32_t k = 0; k < l->files.files[i].count && rank < count; k++)
            add_rank(rows, l, rank++);
    }
}

static const mv_table rank_table = {MV_TABLE(RANK_FIELDS, list_ranks)};

#define OUTLIER_FIELDS(COLUMN, MEMBER, LIST)                                               \
    MEMBER("file", l->ranks[found->rank]->name)                                            \
    MEMBER("device", l->ranks[found->rank]->device)                                        \
    MEMBER("reason", mv_rank_reason_name(found->reason))                                   \
    MEMBER("text", mv_rank_reason_text(found->reason))                                     \
    MEMBER("bytes", found->bytes)                                                          \
    MEMBER("factor",                                                                       \
           found->factor != 0 ? mv_value_real(found->factor) : mv_value_of(MV_VALUE_NULL)) \
    MEMBER("culprit", mv_value_culprit(code, NULL, found->stack))                          \
    MEMBER("frames", mv_value_frames(code, found->stack))

static void list_outliers(mv_rows *rows, const void *all, const void *one)
{
    const lineup *l = all;

    (void)one;
    for (uint32_t i = 0; l->count && i < l->found.count; i++) {
        const mv_rank_outlier *found = &l->found.outliers[i];
        const mv_trace *code = l->ranks[found->code_of]->code;
        MV_ROWS_ADD(rows, OUTLIER_FIELDS);
    }
}

static const mv_table outlier_table = {MV_TABLE(OUTLIER_FIELDS, list_outliers)};

/* One side of a divergence: what the rank does there, if its summary says it. */
typedef struct {
    const mv_summary *rank;
    const mv_summary_point *point; /* NULL: it does not */
    mv_stack_id stack;
} doing;

static doing doing_of(const lineup *l, uint32_t rank, uint64_t allocation)
{
    const mv_summary *s = l->ranks[rank];
    const mv_summary_point *point = mv_sequence_point(s, allocation);
    const mv_summary_site *site = point ? mv_summary_find(s, point->key) : NULL;

    return (doing){s, point, site ? site->stack : MV_NO_STACK};
}

#define DOING_FIELDS(MEMBER, key, side)                                                            \
    MEMBER(key ".file", side.rank->name)                                                           \
    MEMBER(key ".device", side.rank->device)                                                       \
    MEMBER(key ".event",                                                                           \
           side.point ? mv_value_u64(side.point->event) : mv_value_of(MV_VALUE_NULL))              \
    MEMBER(key ".bytes", side.point ? mv_value_u64(side.point->size) : mv_value_of(MV_VALUE_NULL)) \
    MEMBER(key ".frames", mv_value_frames(side.rank->code, side.stack))

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)                                        \
    LIST("ranks", &rank_table, mv_value_rows(NULL))                                \
    LIST("outliers", &outlier_table, mv_value_rows(NULL))                          \
    MEMBER("divergence.first_allocation",                                          \
           where ? mv_value_u64(where->first) : mv_value_of(MV_VALUE_NULL_OBJECT)) \
    MEMBER("divergence.last_allocation", mv_value_u64(where ? where->last : 0))    \
    DOING_FIELDS(MEMBER, "divergence.differs", differs)                            \
    DOING_FIELDS(MEMBER, "divergence.most", most)

static void list_report(mv_rows *rows, const void *all, const void *one)
{
    static const mv_summary none;
    const lineup *l = all;
    const mv_divergence *where = NULL;
    doing differs = {.rank = &none}, most = {.rank = &none};

    (void)one;
    if (l->count > 0 && l->found.first != MV_NO_ROW) {
        where = &l->found.apart[l->found.first];
        differs = doing_of(l, l->found.first, where->last);
        most = doing_of(l, l->found.most, where->last);
    }
    MV_ROWS_ADD(rows, REPORT_FIELDS);
}

const mv_table mv_report_ranks = {MV_TABLE(REPORT_FIELDS, list_report), .main = "ranks"};

/* ---- text: the verdict ------------------------------------------------------------------- */

static void put_outlier(const lineup *l, const mv_rank_outlier *found)
{
    const char *name = l->found.names[found->rank];

    mv_out_text(l->out, "  ");
    mv_out_style(l->out, found->reason == MV_RANK_LEAK || found->reason == MV_RANK_OOM
                             ? MV_STYLE_RED
                             : MV_STYLE_BOLD);
    put_text(l->out, name);
    mv_out_style(l->out, MV_STYLE_NONE);
    mv_out_char(l->out, ' ');
    mv_prose_put(l->out, 3 + mv_prose_width(name), 4, "%s", found->text);
}

static void put_verdict(const lineup *l)
{
    char unread[64] = "";

    if (l->files.failed)
        snprintf(unread, sizeof unread, "%u of %u files could not be read; ", l->files.failed,
                 l->files.count);
    mv_prose_put(l->out, 0, 2, "%s%s", unread, l->count ? l->found.verdict : "no rank to show");
    for (uint32_t i = 0; l->found.count > 1 && i < l->found.count; i++)
        put_outlier(l, &l->found.outliers[i]);
    if (l->count && *l->found.leak_note)
        mv_out_format(l->out, "  %s\n", l->found.leak_note);
}

/* ---- text: the rest ----------------------------------------------------------------------- */

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
    doing side = doing_of(l, rank, allocation);
    const mv_trace *code = side.rank->code;
    bool has_stack = side.stack.row != MV_NO_ROW;
    char bytes[MV_SIZE_TEXT], label[512];

    mv_out_text(l->out, "    ");
    put_text(l->out, l->found.names[rank]);
    if (!side.point) {
        mv_out_text(l->out, ": not in its summary\n");
        return;
    }
    mv_out_format(l->out, " event %u: %s", side.point->event,
                  mv_size_text(bytes, side.point->size));
    if (has_stack) {
        mv_out_text(l->out, " at ");
        put_text(l->out, label_of(code, side.stack, label, sizeof label));
    }
    mv_out_char(l->out, '\n');
    if (has_stack && l->cli->options.given & MV_HAS(FRAMES)) {
        const uint8_t *kinds = mv_frame_kinds(&l->cli->scratch, code);
        if (kinds)
            mv_stack_put(l->out, code, kinds, side.stack, l->cli->options.all_frames, 8);
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
    char what[320], why[48], size[MV_SIZE_TEXT];
    const char *doubt;

    for (uint32_t i = 0; i < l->count; i++) {
        const mv_summary *s = l->ranks[i];
        const char *name = l->found.names[i];
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

    if (mv_table_is_wanted(l->cli)) {
        status = mv_table_put(l->cli, l);
    } else {
        put_verdict(l);
        if (l->count) {
            mv_table_print(l->cli, &rank_table, l, NULL, "\n");
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
