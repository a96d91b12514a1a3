#include "cli/errors.h"

#include <sys/stat.h>

#include "base/text.h"
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"
#include "cli/report/table.h"

bool mv_errors_are_given(mv_cli *cli, mv_error_texts *out)
{
    const char *given = mv_input_name(cli);
    mv_err err = {.offset = MV_NO_OFFSET};
    struct stat st;

    if (strcmp(given, "-") == 0 || stat(given, &st) == 0)
        return false;
    if (mv_error_texts_in(&cli->arena, (mv_span){(const uint8_t *)given, strlen(given)}, out,
                          &err) != MV_OK) {
        mv_complain(NULL, &err);
        return true;
    }
    if (out->count > 0)
        return true;
    if (!strpbrk(given, " \n"))
        return false;
    mv_complain_of(NULL,
                   "neither a file nor the text of an out-of-memory error: '%.60s%s'; pass the "
                   "whole message, from the error's name on",
                   given, strlen(given) > 60 ? "..." : "");
    return true;
}

mv_code mv_errors_explain(mv_cli *cli, const mv_error_texts *texts, mv_error_report *out,
                          mv_err *err)
{
    *out = (mv_error_report){.texts = texts,
                             .rows = mv_push_array(&cli->arena, mv_oom_text, texts->count),
                             .limit = UINT64_MAX};
    if (!out->rows)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "errors of a text");
    for (uint32_t i = 0; i < texts->count; i++)
        if (mv_oom_text_find(&cli->arena, &texts->rows[i], &out->rows[i], err) != MV_OK)
            return err->code;
    return MV_OK;
}

/* ---- fields ------------------------------------------------------------------------------ */

#define BOUNDED(MEMBER, key, size)            \
    MEMBER(key, mv_value_bytes((size).bytes)) \
    MEMBER(key "_least", least_of(size))      \
    MEMBER(key "_most", most_of(size))

#define PRINTED_FIELDS(MEMBER)                                                       \
    BOUNDED(MEMBER, "requested", e->size[MV_ERROR_REQUESTED])                        \
    BOUNDED(MEMBER, "capacity", e->size[MV_ERROR_CAPACITY])                          \
    BOUNDED(MEMBER, "free", e->size[MV_ERROR_FREE])                                  \
    BOUNDED(MEMBER, "limit", e->size[MV_ERROR_LIMIT])                                \
    BOUNDED(MEMBER, "process", t->process)                                           \
    BOUNDED(MEMBER, "others", t->others)                                             \
    BOUNDED(MEMBER, "allocated", e->size[MV_ERROR_ALLOCATED])                        \
    BOUNDED(MEMBER, "reserved", e->size[MV_ERROR_RESERVED])                          \
    BOUNDED(MEMBER, "reserved_unallocated", e->size[MV_ERROR_UNALLOCATED])           \
    BOUNDED(MEMBER, "private_pools", e->size[MV_ERROR_PRIVATE])                      \
    BOUNDED(MEMBER, "not_pytorch", t->not_pytorch)                                   \
    BOUNDED(MEMBER, "outside", t->outside)                                           \
    MEMBER("active", mv_value_bytes(e->size[MV_ERROR_ACTIVE].bytes))                 \
    MEMBER("pending", mv_value_bytes(t->pending.bytes))                              \
    MEMBER("non_releasable", mv_value_bytes(e->size[MV_ERROR_SPLIT].bytes))          \
    MEMBER("releasable", mv_value_bytes(t->releasable.bytes))                        \
    MEMBER("peak_allocated", mv_value_bytes(e->size[MV_ERROR_PEAK_ALLOCATED].bytes)) \
    MEMBER("peak_reserved", mv_value_bytes(e->size[MV_ERROR_PEAK_RESERVED].bytes))

#define ERROR_FIELDS(COLUMN, MEMBER, LIST)                                      \
    MEMBER("kind", e->is_summary ? "summary" : "message")                       \
    MEMBER("error", e->phrase)                                                  \
    MEMBER("line", e->line)                                                     \
    MEMBER("times", e->times)                                                   \
    MEMBER("device", mv_value_or_null(e->device >= 0, mv_value_i64(e->device))) \
    MEMBER("rank", mv_value_or_null(e->rank >= 0, mv_value_i64(e->rank)))       \
    PRINTED_FIELDS(MEMBER)                                                      \
    MEMBER("failures", mv_value_bytes(e->failures))                             \
    MEMBER("retries", mv_value_bytes(e->retries))                               \
    MEMBER("refused_by", mv_text_refuser(t))                                    \
    MEMBER("verdict", mv_text_verdict_name(t->verdict))                         \
    MEMBER("possible", mv_value_texts(t->possible, t->possible_count))          \
    MEMBER("excluded", mv_value_texts(t->excluded, t->excluded_count))          \
    MEMBER("sums", mv_value_texts(t->lines, t->line_count))                     \
    MEMBER("why", t->why)                                                       \
    MEMBER("advice", t->advice)

static mv_value least_of(mv_printed_size size)
{
    return mv_value_bytes(mv_size_is_printed(size) ? size.least : MV_NO_BYTES);
}

static mv_value most_of(mv_printed_size size)
{
    return mv_value_bytes(mv_size_is_printed(size) ? size.most : MV_NO_BYTES);
}

static void list_errors(mv_rows *rows)
{
    const mv_error_report *r = mv_rows_one(rows);
    uint32_t count = r ? mv_rows_take(rows, r->texts->count, r->limit) : 0;

    for (uint32_t i = 0; i < count; i++) {
        const mv_error_text *e = &r->texts->rows[i];
        const mv_oom_text *t = &r->rows[i];
        MV_ROWS_ADD(rows, ERROR_FIELDS);
    }
}

const mv_table mv_error_table = {MV_TABLE(ERROR_FIELDS, list_errors)};

/* ---- text -------------------------------------------------------------------------------- */

const char *mv_error_title(const mv_error_text *error, char text[MV_ERROR_TITLE])
{
    char size[MV_SIZE_TEXT];

    snprintf(text, MV_ERROR_TITLE, "%s", error->phrase);
    if (mv_size_is_printed(error->size[MV_ERROR_REQUESTED]))
        mv_text_append(text, MV_ERROR_TITLE, ", %s requested",
                       mv_size_text(size, error->size[MV_ERROR_REQUESTED].bytes));
    if (error->device >= 0)
        mv_text_append(text, MV_ERROR_TITLE, "%s GPU %lld", error->is_summary ? " of" : " on",
                       (long long)error->device);
    if (error->rank >= 0)
        mv_text_append(text, MV_ERROR_TITLE, ", rank %lld", (long long)error->rank);
    return text;
}

static void put_causes(mv_out *out, const char *words, const char *const *causes, uint32_t count)
{
    char text[200] = "";

    for (uint32_t i = 0; i < count; i++)
        mv_prose_add(text, sizeof text, "%s%s", i ? ", " : "", causes[i]);
    if (count == 0)
        return;
    mv_prose_put_item(out, "%s: %s", words, text);
}

static void put_error(mv_cli *cli, const mv_error_report *r, uint32_t i)
{
    const mv_error_text *e = &r->texts->rows[i];
    const mv_oom_text *t = &r->rows[i];
    mv_out *out = &cli->out;
    char head[64], title[MV_ERROR_TITLE];
    bool is_known = i > 0 && strcmp(r->rows[i - 1].advice, t->advice) == 0;

    if (i > 0)
        mv_out_char(out, '\n');
    snprintf(head, sizeof head, "%s  %s", e->is_summary ? "SUMMARY" : "OUT OF MEMORY",
             mv_text_verdict_name(t->verdict));
    mv_out_styled(out, e->is_summary ? MV_STYLE_BOLD : MV_STYLE_RED, head);
    mv_prose_put(out, (uint32_t)strlen(head), 2, ": %s", mv_error_title(e, title));
    mv_prose_put_item(out, "line %llu%s: %s", (unsigned long long)e->line,
                      e->times > 1 ? " and later" : "", t->why);
    for (uint32_t k = 0; k < t->line_count; k++)
        mv_prose_put_item(out, "%s", t->lines[k]);
    put_causes(out, "possible", t->possible, t->verdict == MV_TEXT_UNKNOWN ? t->possible_count : 0);
    put_causes(out, "excluded", t->excluded, t->excluded_count);
    mv_prose_put_advice(out, "%s", is_known ? "as above" : t->advice);
}

void mv_errors_put(mv_cli *cli, const mv_error_report *errors)
{
    const mv_error_texts *texts = errors->texts;
    uint64_t times = 0;

    for (uint32_t i = 0; i < texts->count; i++)
        times += texts->rows[i].times;
    for (uint32_t i = 0; i < texts->count && i < errors->limit; i++)
        put_error(cli, errors, i);
    mv_rows_put_hidden(&cli->out, texts->count, errors->limit);
    if (times + texts->more < 2)
        return;
    mv_out_char(&cli->out, '\n');
    mv_prose_put(&cli->out, 0, 2, "%u different error%s in the text, %llu in all%s%s", texts->count,
                 mv_plural(texts->count), (unsigned long long)times + texts->more,
                 texts->count < 2 ? ""
                 : texts->by_time ? "; the earliest is first"
                                  : "; in the order of the text, which contains no times",
                 texts->more ? "; later ones are only counted" : "");
}

/* ---- gates ------------------------------------------------------------------------------- */

static bool is_failure(const mv_error_text *error)
{
    return !error->is_summary || (error->failures > 0 && error->failures != MV_NO_BYTES);
}

void mv_errors_evaluate(mv_cli *cli, const mv_error_texts *texts)
{
    static const mv_gate others[] = {MV_GATE_LEAK, MV_GATE_FRAGMENTED, MV_GATE_PEAK,
                                     MV_GATE_RESERVED};
    char title[MV_ERROR_TITLE];

    for (uint32_t i = 0; i < texts->count; i++)
        if (is_failure(&texts->rows[i])) {
            mv_gate_evaluate(&cli->gates, MV_GATE_OOM, MV_GATE_FAILS, "%s",
                             mv_error_title(&texts->rows[i], title));
            break;
        }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cli->command->gates & (1u << others[i]))
            mv_gate_evaluate(&cli->gates, others[i], MV_GATE_CANNOT_KNOW,
                             "the text of an error does not show it: record the run");
}
