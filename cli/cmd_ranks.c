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
    char name[512], parting[96];

    name_of(l, rank, name, sizeof name);
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
    char name[512], bytes[MV_SIZE_TEXT], label[512];

    mv_out_text(l->out, "    ");
    put_text(l->out, name_of(l, rank, name, sizeof name));
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
