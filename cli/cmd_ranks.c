/* memviz ranks: compares several ranks or devices side by side. The answer, which one differs and
 * why, comes first. */

#include "analyze/code/labels.h"
#include "analyze/ranks/ranks.h"
#include "cli/complain.h"
#include "cli/input/rank_files.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"
#include "cli/report/stack_text.h"
#include "cli/report/table.h"

/* Number of rows of the table in text without --limit, and number of other lines. */
#define TEXT_ROWS   32
#define OTHER_LINES 7

typedef struct {
    mv_cli *cli;
    mv_out *out;
    uint64_t limit;
    mv_rank_files files;
    uint32_t count;
    const mv_summary **ranks; /* [count] */
    mv_ranks found;           /* valid only if there is at least one rank */
} ranks_report;

/* ---- fields ------------------------------------------------------------------------------ */

/* Describes in words where a rank diverges from most of the others. */
static const char *parting_text(const ranks_report *r, uint32_t rank, char text[96])
{
    const mv_divergence *apart = &r->found.apart[rank];

    if (!mv_sequence_is_whole(r->ranks[rank]))
        snprintf(text, 96, "unknown: history %s", mv_history_name(r->ranks[rank]->history));
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
    COLUMN("file", "rank", 1, MV_UNIT_TEXT | MV_UNIT_NAME, 0,                                 \
           mv_value_shown(mv_value_text(s->name), name))                                      \
    MEMBER("device", s->device)                                                               \
    COLUMN("group", "group", 2, MV_UNIT_COUNT, 0, r->found.group[rank])                       \
    COLUMN("peak_allocated", "peak", 3, MV_UNIT_BYTES, 8,                                     \
           mv_value_bound(s->peak_allocated, s->allocated, peak))                             \
    COLUMN(NULL, "apart", 4, MV_UNIT_CHANGE | MV_UNIT_SPARE, 0,                               \
           mv_value_shown(mv_value_i64((int64_t)(s->peak_allocated - usual->peak_allocated)), \
                          s == usual ? "=" : NULL))                                           \
    COLUMN("peak_reserved", "reserved", 5, MV_UNIT_BYTES | MV_UNIT_SPARE, 8,                  \
           mv_value_bound(s->peak_reserved, s->reserved, reserved))                           \
    MEMBER("peaks_exact", mv_value_bool((s->allocated | s->reserved) == MV_BOUND_EXACT))      \
    MEMBER("end_allocated", s->end_allocated)                                                 \
    COLUMN("leak_verdict", "leak", 6, MV_UNIT_TEXT, 0, mv_leak_verdict_name(s->verdict))      \
    MEMBER("leaked_bytes", s->leaked_bytes)                                                   \
    COLUMN("steps", "steps", 7, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, s->steps)                   \
    MEMBER("history", mv_history_name(s->history))                                            \
    MEMBER("events", s->events)                                                               \
    COLUMN("allocations", "allocs", 8, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, s->allocs)           \
    MEMBER("ooms", s->ooms)                                                                   \
    MEMBER("parts.first_allocation", apart->first == MV_NO_DIVERGENCE                         \
                                         ? mv_value_of(MV_VALUE_NULL_OBJECT)                  \
                                         : mv_value_u64(apart->first))                        \
    MEMBER("parts.last_allocation", apart->last)                                              \
    MEMBER("parts.event", point ? mv_value_u64(point->event) : mv_value_of(MV_VALUE_NULL))    \
    COLUMN(NULL, "first differs at", 9, MV_UNIT_TEXT, 0, parting_text(r, rank, parting))      \
    MEMBER("error.code", mv_value_of(MV_VALUE_NULL_OBJECT))                                   \
    MEMBER("error.text", mv_value_of(MV_VALUE_ABSENT))                                        \
    MEMBER("error.detail", mv_value_of(MV_VALUE_ABSENT))                                      \
    MEMBER("error.offset", mv_value_of(MV_VALUE_ABSENT))

static void add_rank(mv_rows *rows, const ranks_report *r, uint32_t rank)
{
    const mv_summary *s = r->ranks[rank], *usual = r->ranks[mv_rank_reference(&r->found, rank)];
    const mv_divergence *apart = &r->found.apart[rank];
    const mv_summary_point *point =
        apart->first == MV_NO_DIVERGENCE ? NULL : mv_sequence_point(s, apart->last);
    const char *name = r->found.names[rank];
    char parting[96], peak[MV_BOUND_TEXT], reserved[MV_BOUND_TEXT];

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

/* In text, unreadable files are reported below the table. */
static void list_ranks(mv_rows *rows)
{
    const ranks_report *r = mv_rows_all(rows);
    uint32_t count = mv_rows_take(rows, r->count, r->limit);
    bool is_said = false;

    for (uint32_t i = 0; i < r->count; i++)
        is_said = is_said || !r->ranks[i]->is_missing_reserved;
    if (!is_said)
        mv_rows_head(rows, "peak_reserved", NULL);
    if (r->count && r->found.groups == 1)
        mv_rows_head(rows, "group", NULL);
    for (uint32_t i = 0, rank = 0; i < r->files.count; i++) {
        if (r->files.files[i].err.code != MV_OK && !mv_rows_are_text(rows))
            add_broken(rows, &r->files.files[i]);
        for (uint32_t k = 0; k < r->files.files[i].count && rank < count; k++)
            add_rank(rows, r, rank++);
    }
}

static const mv_table rank_table = {MV_TABLE(RANK_FIELDS, list_ranks)};

#define GROUP_FIELDS(COLUMN, MEMBER, LIST)               \
    MEMBER("group", i)                                   \
    MEMBER("ranks", group->ranks)                        \
    MEMBER("leaks", group->leaks)                        \
    MEMBER("file", r->ranks[group->reference]->name)     \
    MEMBER("device", r->ranks[group->reference]->device) \
    MEMBER("peak_allocated", r->ranks[group->reference]->peak_allocated)

MV_LIST_ROWS(list_groups, ranks_report, r, r->found.groups,
             const mv_rank_group *group = &r->found.each[i], GROUP_FIELDS)

static const mv_table group_table = {MV_TABLE(GROUP_FIELDS, list_groups)};

#define OUTLIER_FIELDS(COLUMN, MEMBER, LIST)                                             \
    MEMBER("file", r->ranks[found->rank]->name)                                          \
    MEMBER("device", r->ranks[found->rank]->device)                                      \
    MEMBER("reason", mv_rank_reason_name(found->reason))                                 \
    MEMBER("text", mv_rank_reason_text(found->reason))                                   \
    MEMBER("bytes", found->bytes)                                                        \
    MEMBER("factor", mv_value_or_null(found->factor != 0, mv_value_real(found->factor))) \
    MEMBER("culprit", mv_value_culprit(code, NULL, found->stack))                        \
    MEMBER("culprit_bytes", mv_value_bytes(found->at_stack))                             \
    MEMBER("frames", mv_value_frames(code, found->stack))

static void list_outliers(mv_rows *rows)
{
    const ranks_report *r = mv_rows_all(rows);

    for (uint32_t i = 0; r->count && i < r->found.count; i++) {
        const mv_rank_outlier *found = &r->found.outliers[i];
        const mv_trace *code = r->ranks[found->code_of]->code;
        MV_ROWS_ADD(rows, OUTLIER_FIELDS);
    }
}

static const mv_table outlier_table = {MV_TABLE(OUTLIER_FIELDS, list_outliers)};

/* One side of a divergence: what the rank allocated there, if its summary contains that. */
typedef struct {
    const mv_summary *rank;
    const mv_summary_point *point; /* NULL: the summary does not contain it */
    mv_stack_id stack;
} rank_allocation;

static rank_allocation allocation_of(const ranks_report *r, uint32_t rank, uint64_t allocation)
{
    const mv_summary *s = r->ranks[rank];
    const mv_summary_point *point = mv_sequence_point(s, allocation);
    const mv_summary_site *site = point ? mv_summary_find(s, point->key) : NULL;

    return (rank_allocation){s, point, site ? site->stack : MV_NO_STACK};
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
    LIST("groups", &group_table, mv_value_rows(NULL))                              \
    LIST("outliers", &outlier_table, mv_value_rows(NULL))                          \
    MEMBER("divergence.first_allocation",                                          \
           where ? mv_value_u64(where->first) : mv_value_of(MV_VALUE_NULL_OBJECT)) \
    MEMBER("divergence.last_allocation", mv_value_u64(where ? where->last : 0))    \
    DOING_FIELDS(MEMBER, "divergence.differs", differs)                            \
    DOING_FIELDS(MEMBER, "divergence.most", most)

static void list_report(mv_rows *rows)
{
    static const mv_summary none;
    const ranks_report *r = mv_rows_all(rows);
    const mv_divergence *where = NULL;
    rank_allocation differs = {.rank = &none}, most = {.rank = &none};

    if (r->count > 0 && r->found.first != MV_NO_ROW) {
        where = &r->found.apart[r->found.first];
        differs = allocation_of(r, r->found.first, where->last);
        most = allocation_of(r, r->found.most, where->last);
    }
    MV_ROWS_ADD(rows, REPORT_FIELDS);
}

const mv_table mv_report_ranks = {MV_TABLE(REPORT_FIELDS, list_report), .main = "ranks"};

/* ---- text: the verdict ------------------------------------------------------------------- */

static void put_outlier(const ranks_report *r, const mv_rank_outlier *found)
{
    const char *name = r->found.names[found->rank];

    mv_out_text(r->out, "  ");
    mv_out_style(r->out, found->reason == MV_RANK_LEAK || found->reason == MV_RANK_OOM
                             ? MV_STYLE_RED
                             : MV_STYLE_BOLD);
    mv_out_clean_text(r->out, name);
    mv_out_style(r->out, MV_STYLE_NONE);
    mv_out_char(r->out, ' ');
    mv_prose_put(r->out, 3 + mv_prose_width(name), 4, "%s", found->text);
}

static void put_verdict(const ranks_report *r)
{
    char unread[64] = "";

    if (r->files.failed)
        snprintf(unread, sizeof unread, "%u of %u files could not be read; ", r->files.failed,
                 r->files.count);
    mv_prose_put(r->out, 0, 2, "%s%s", unread, r->count ? r->found.verdict : "no rank to show");
    for (uint32_t i = 0; r->found.count > 1 && i < r->found.count; i++)
        put_outlier(r, &r->found.outliers[i]);
    if (r->count && *r->found.leak_note)
        mv_prose_put_item(r->out, "%s", r->found.leak_note);
}

/* ---- text: the rest ----------------------------------------------------------------------- */

static void put_broken(const ranks_report *r)
{
    char text[MV_ERR_TEXT];

    for (uint32_t i = 0; i < r->files.count; i++) {
        const mv_rank_file *file = &r->files.files[i];
        if (file->err.code == MV_OK)
            continue;
        mv_out_text(r->out, "  ");
        mv_out_clean_text(r->out, file->path);
        mv_out_style(r->out, MV_STYLE_RED);
        mv_out_text(r->out, ": ");
        mv_out_clean_text(r->out, mv_err_text(&file->err, text));
        mv_out_style(r->out, MV_STYLE_NONE);
        mv_out_char(r->out, '\n');
    }
}

static bool has_stack(const rank_allocation *side)
{
    return side->point && side->stack.row != MV_NO_ROW;
}

static void put_doing(const ranks_report *r, const char *name, const rank_allocation *side,
                      const char *label, const uint8_t *kinds)
{
    char bytes[MV_SIZE_TEXT];

    mv_out_text(r->out, "    ");
    if (side->point)
        mv_prose_put(r->out, 4, 6, "%s event %u: %s%s%s", name, side->point->event,
                     mv_size_text(bytes, side->point->size), has_stack(side) ? " at " : "",
                     has_stack(side) ? label : "");
    else
        mv_prose_put(r->out, 4, 6, "%s: not in its summary", name);
    if (has_stack(side) && kinds && r->cli->options.given & MV_HAS(FRAMES))
        mv_stack_put(r->out, side->rank->code, kinds, side->stack, r->cli->options.all_frames, 8);
}

/* If both sides are on the same line, their labels contain the callers that differ. */
static void put_sides(const ranks_report *r, const uint32_t rank[2], uint64_t allocation)
{
    rank_allocation sides[2] = {0};
    mv_labelled rows[2] = {0};
    const char **labels;

    for (uint32_t i = 0; i < 2; i++) {
        sides[i] = allocation_of(r, rank[i], allocation);
        rows[i] = (mv_labelled){.trace = sides[i].rank->code,
                                .kinds = mv_frame_kinds(&r->cli->scratch, sides[i].rank->code),
                                .stack = sides[i].stack};
    }
    if (!sides[0].point || !sides[1].point || sides[0].point->key == sides[1].point->key)
        rows[1].key = 1; /* no caller differs */
    labels =
        rows[0].kinds && rows[1].kinds ? mv_labels_find(&r->cli->scratch, rows, 2, false) : NULL;
    for (uint32_t i = 0; i < 2; i++)
        put_doing(r, r->found.names[rank[i]], &sides[i], labels ? labels[i] : "", rows[i].kinds);
}

static void put_divergence(const ranks_report *r)
{
    const mv_divergence *where;

    if (r->found.first == MV_NO_ROW)
        return;
    where = &r->found.apart[r->found.first];
    mv_out_format(r->out, "\n  first difference: allocation %llu",
                  (unsigned long long)where->first);
    if (where->last != where->first)
        mv_out_format(r->out, " to %llu", (unsigned long long)where->last);
    mv_out_char(r->out, '\n');
    put_sides(r, (const uint32_t[]){r->found.first, r->found.most}, where->last);
}

/* ---- both -------------------------------------------------------------------------------- */

static mv_code line_up(ranks_report *r, mv_err *err)
{
    for (uint32_t i = 0; i < r->files.count; i++)
        r->count += r->files.files[i].count;
    r->ranks = mv_push_array(&r->cli->arena, const mv_summary *, r->count);
    if (!r->ranks)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = 0, rank = 0; i < r->files.count; i++)
        for (uint32_t k = 0; k < r->files.files[i].count; k++)
            r->ranks[rank++] = &r->files.files[i].summaries[k];
    return MV_OK;
}

static void complain_of_broken(const ranks_report *r)
{
    for (uint32_t i = 0; i < r->files.count; i++)
        if (r->files.files[i].err.code != MV_OK)
            mv_complain(r->files.files[i].path, &r->files.files[i].err);
}

/* Returns the exit status for a failure, after its message; MV_EXIT_DONE: the ranks were
 * compared. */
static int compare(ranks_report *r)
{
    const char *groups = r->cli->options.groups;
    mv_rank_grid grid = {0};
    mv_err err = {.offset = MV_NO_OFFSET};
    char why[64];

    if (line_up(r, &err) != MV_OK)
        return mv_complain(NULL, &err);
    if (r->count == 0)
        return MV_EXIT_DONE;
    if (groups && r->files.failed) {
        complain_of_broken(r);
        return mv_complain_of(NULL,
                              "--groups needs the files of all ranks: %u of %u could not be read",
                              r->files.failed, r->files.count);
    }
    if (groups && !mv_rank_grid_parse(groups, r->count, &grid, why, sizeof why))
        return mv_complain_usage("ranks", "--groups %s: %s", groups, why);
    if (mv_ranks_compare(&r->cli->arena, r->ranks, r->count, grid, &r->found, &err) != MV_OK)
        return mv_complain(NULL, &err);
    return MV_EXIT_DONE;
}

/* Checks the --fail-on gates for every rank. */
static void evaluate_gate(ranks_report *r)
{
    mv_gates *gates = &r->cli->gates;
    char what[320], why[48], size[MV_SIZE_TEXT];
    const char *doubt;

    for (uint32_t i = 0; i < r->count; i++) {
        const mv_summary *s = r->ranks[i];
        const char *name = r->found.names[i];
        mv_gate_next(gates, gates->file);
        if (s->verdict == MV_VERDICT_LEAK)
            mv_gate_evaluate(gates, MV_GATE_LEAK, MV_GATE_FAILS, "%s leaks: %s in all", name,
                             mv_size_text(size, s->leaked_bytes));
        else if (s->verdict == MV_VERDICT_UNKNOWN)
            mv_gate_evaluate(gates, MV_GATE_LEAK, MV_GATE_CANNOT_KNOW,
                             "%s: unknown whether it leaks; see memviz leaks", name);
        if (s->ooms)
            mv_gate_evaluate(gates, MV_GATE_OOM, MV_GATE_FAILS, "%s: %llu request%s failed", name,
                             (unsigned long long)s->ooms, s->ooms == 1 ? "" : "s");
        else if (s->is_missing_failures)
            mv_gate_evaluate(gates, MV_GATE_OOM, MV_GATE_CANNOT_KNOW,
                             "%s: the file does not record whether a request failed", name);
        else if (s->history != MV_HISTORY_COMPLETE)
            mv_gate_evaluate(gates, MV_GATE_OOM, MV_GATE_CANNOT_KNOW,
                             "%s: no request failed in the recorded events, but the history is %s",
                             name, mv_history_name(s->history));
        snprintf(why, sizeof why, "history %s", mv_history_name(s->history));
        doubt = s->history == MV_HISTORY_COMPLETE ? "see memviz stats" : why;
        snprintf(what, sizeof what, "%s: peak allocated", name);
        mv_gate_evaluate_bytes(gates, MV_GATE_PEAK, s->peak_allocated, s->allocated, doubt, what);
        snprintf(what, sizeof what, "%s: peak reserved", name);
        if (s->reserved == MV_BOUND_EXACT && s->is_missing_reserved)
            doubt = "the file does not record the memory taken from the device";
        mv_gate_evaluate_bytes(gates, MV_GATE_RESERVED, s->peak_reserved,
                               s->is_missing_reserved ? s->reserved | MV_BOUND_LEAST : s->reserved,
                               doubt, what);
    }
}

static int put_report(ranks_report *r)
{
    int status = MV_EXIT_DONE;

    if (mv_table_is_wanted(r->cli)) {
        status = mv_table_put(r->cli, r);
    } else {
        put_verdict(r);
        if (r->count) {
            mv_table_print(r->cli, &rank_table, r, NULL, "\n");
            put_divergence(r);
        }
        if (r->files.failed)
            mv_out_char(r->out, '\n');
        put_broken(r);
    }
    if (status != MV_EXIT_DONE)
        return status;
    complain_of_broken(r);
    r->cli->keeps_report = true;
    evaluate_gate(r);
    return r->files.failed ? MV_EXIT_FAILED : mv_gate_status(&r->cli->gates, MV_EXIT_DONE);
}

int mv_cmd_ranks(mv_cli *cli)
{
    ranks_report r = {
        .cli = cli, .out = &cli->out, .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, OTHER_LINES)};
    int status;

    if (!mv_rank_files_read(cli, &r.files))
        return MV_EXIT_FAILED;
    status = compare(&r);
    if (status == MV_EXIT_DONE)
        status = put_report(&r);
    mv_rank_files_release(&r.files);
    return status;
}
