/* What the model's lists of columns promise (parse/model/trace.h): defaults, checks of row numbers
 * and codes, and the tables in the format pages, which are made from the lists. MV_BLESS=1 in the
 * environment writes the tables. */
#include "tests/fixture/fixture_container.h"

/* Files contain column numbers. A release may add columns, with `.since`, but must not change
 * existing ones. */
Test(model, columns_of_the_first_release_are_all_there)
{
    static const struct {
        uint16_t kind;
        uint8_t columns;
    } first[] = {{MV_WIRE_STRINGS, 1},    {MV_WIRE_STRING_BYTES, 1}, {MV_WIRE_FRAMES, 4},
                 {MV_WIRE_FX, 4},         {MV_WIRE_STACKS, 1},       {MV_WIRE_STACK_FRAMES, 1},
                 {MV_WIRE_STREAMS, 1},    {MV_WIRE_POOLS, 2},        {MV_WIRE_TAGS, 8},
                 {MV_WIRE_EVENTS, 8},     {MV_WIRE_SEGMENTS, 15},    {MV_WIRE_BLOCKS, 9},
                 {MV_WIRE_HISTORY, 5},    {MV_WIRE_ANNOTATIONS, 4},  {MV_WIRE_SETTINGS, 6},
                 {MV_WIRE_API_CALLS, 11}, {MV_WIRE_SAMPLES, 5},      {MV_WIRE_FACTS, 2},
                 {MV_WIRE_HEAP_CALLS, 8}, {MV_WIRE_TENSORS, 8}};

    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        const mv_model_table *table = mv_table_find(first[i].kind);
        for (uint32_t c = 0; c < table->column_count; c++) {
            cr_assert_eq(table->columns[c].number, c + 1);
            cr_assert_eq(table->columns[c].since == NULL, c < first[i].columns,
                         "%s.%s needs `.since`", mv_wire_kind_name(table->kind),
                         table->columns[c].name);
        }
    }
}

Test(model, rows_of_the_builder_begin_absent)
{
    const struct {
        uint16_t kind;
        const void *row;
    } rows[] = {{MV_WIRE_TAGS, &MV_TAG_ROW},           {MV_WIRE_FX, &MV_FX_ROW},
                {MV_WIRE_EVENTS, &MV_EVENT_ROW},       {MV_WIRE_SEGMENTS, &MV_SEGMENT_ROW},
                {MV_WIRE_BLOCKS, &MV_BLOCK_ROW},       {MV_WIRE_HISTORY, &MV_HISTORY_ROW},
                {MV_WIRE_SETTINGS, &MV_SETTING_ROW},   {MV_WIRE_ANNOTATIONS, &MV_ANNOTATION_ROW},
                {MV_WIRE_API_CALLS, &MV_API_CALL_ROW}, {MV_WIRE_SAMPLES, &MV_SAMPLE_ROW},
                {MV_WIRE_FACTS, &MV_FACT_ROW},         {MV_WIRE_HEAP_CALLS, &MV_HEAP_CALL_ROW},
                {MV_WIRE_TENSORS, &MV_TENSOR_ROW}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const mv_model_table *table = mv_table_find(rows[i].kind);
        for (uint32_t c = 0; c < table->column_count; c++) {
            const mv_table_column *column = &table->columns[c];
            const char *value = (const char *)rows[i].row + column->row_at;
            uint64_t absent = column->ref == MV_REF_STREAM ? MV_NO_ROW : column->absent;
            cr_assert_eq(memcmp(value, &absent, column->size), 0, "%s.%s",
                         mv_wire_kind_name(table->kind), column->name);
        }
    }
}

/* Replaces the column's first value with `bad` during the check. */
static void expect_unsound(const mv_trace *trace, const mv_model_table *table,
                           const mv_table_column *column, uint64_t bad)
{
    void *values = mv_column_of(mv_table_of(trace, table, 0), column);
    uint64_t was = 0;

    const char *name = mvt_format("%s.%s", mv_wire_kind_name(table->kind), column->name);
    memcpy(&was, values, column->size);
    memcpy(values, &bad, column->size);
    cr_assert_not_null(mvt_unsound(trace), "%s", name);
    cr_assert_str_eq(mvt_unsound(trace), name);
    memcpy(values, &was, column->size);
    cr_assert_null(mvt_unsound(trace));
}

/* Every column's row numbers, codes, ends and ranges are checked, in every table. */
Test(model, a_value_out_of_range_is_unsound_wherever_it_is)
{
    mv_trace trace = mvt_full_trace(mvt_memory());

    cr_assert_null(mvt_unsound(&trace));
    for (const mv_model_table *table = mv_tables; table->kind; table++) {
        cr_assert_gt(mv_table_rows(&trace, table, 0), 0, "%s", mv_wire_kind_name(table->kind));
        for (uint32_t c = 0; c < table->column_count; c++) {
            const mv_table_column *column = &table->columns[c];
            if (column->is_end)
                expect_unsound(&trace, table, column, UINT64_MAX);
            else if (column->ref == MV_REF_CODE)
                expect_unsound(&trace, table, column, column->limit);
            else if (column->ref != MV_REF_NONE)
                expect_unsound(&trace, table, column, mv_ref_rows(&trace, column->ref));
            else if (column->kind == MV_KIND_FIRST)
                expect_unsound(&trace, table, column, MV_NO_ROW);
        }
    }
}

static const char *upper_name(uint16_t kind)
{
    switch (kind) {
#define NAME(name, number, text) \
    case number:                 \
        return #name;
        MV_WIRE_KIND_LIST(NAME)
#undef NAME
    default:
        return "?";
    }
}

/* Returns ": 0 large, 1 small, 2 unknown", or nothing for columns without codes. */
static void put_codes(FILE *out, const mv_table_column *column)
{
    if (column->ref != MV_REF_CODE || column->kind == MV_KIND_FLAG)
        return;
    for (unsigned code = 0; code < column->limit; code++)
        fprintf(out, "%s%u %s", code ? ", " : ": ", code,
                mv_kind_code_name(column->kind, (uint8_t)code));
}

static void put_snapshot_tables(FILE *out)
{
    fputs("| table | number | column | bytes | when absent | what |\n|---|---|---|---|---|---|\n",
          out);
    for (const mv_model_table *table = mv_tables; table->kind; table++)
        if (table->kind != MV_WIRE_HOST_EVENTS && table->kind != MV_WIRE_HOST_SEGMENTS)
            for (uint32_t i = 0; i < table->column_count; i++) {
                const mv_table_column *column = &table->columns[i];
                fprintf(out, "| %s | %u | %s | %u | ",
                        column->number == 1 ? upper_name(table->kind) : "", column->number,
                        column->is_end ? "end" : column->name, column->size);
                if (column->is_end)
                    fputs("must be there", out);
                else if (column->form == MV_FORM_TIME || column->form == MV_FORM_DELTA)
                    fputs("least", out);
                else if (column->kind == MV_KIND_DEVICE || column->kind == MV_KIND_LINE)
                    fprintf(out, "%lld", (long long)(int64_t)column->absent);
                else if (column->absent == (column->size == 8 ? UINT64_MAX : MV_NO_ROW))
                    fputs("none", out);
                else
                    fprintf(out, "%llu", (unsigned long long)column->absent);
                fprintf(out, " | %s | %s",
                        mv_ref_kind(column->ref) ? upper_name(mv_ref_kind(column->ref)) : "",
                        column->what);
                put_codes(out, column);
                if (column->since)
                    fprintf(out, ". Since memviz %s", column->since);
                fputs(" |\n", out);
            }
}

/* The lines between the page's two comments must be the tables. */
Test(model, the_page_of_the_container_has_its_columns)
{
    static const char first[] =
        "<!-- The tables come from parse/model/trace.h: MV_BLESS=1 test_model -->\n\n";
    static const char last[] = "\n<!-- Here they end. -->\n";
    char *made = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&made, &length);

    put_snapshot_tables(out);
    fclose(out);
    mvt_expect_page(MV_SOURCE_DIR "/docs/internals/snapshot-format.md", first, last, made);
    free(made);
}
