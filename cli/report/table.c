#include "cli/report/table.h"

#include <math.h>

#include "base/text.h"
#include "base/texts.h"
#include "cli/report/json.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"

#define LABEL 512

typedef enum { AS_TEXT, AS_JSON, AS_CSV } medium;

#define MOST_NAME 60

/* The member names of long lists as they are written: `,"size":`. */
typedef struct {
    char text[MV_MOST_FIELDS][MOST_NAME + 4];
    uint8_t length[MV_MOST_FIELDS]; /* lengths of the names; 0: not a member */
} member_names;

/* The state of a table while its rows are being listed. */
struct mv_rows {
    medium medium;
    mv_out *out;
    const mv_table *table;
    const void *all, *one;
    uint64_t count, taken, limit; /* number of added rows; the argument of mv_rows_take; the maximum
                                   * number of rows */
    bool is_top;                  /* the table is the report itself */
    /* used for JSON */
    const member_names *names; /* names as written, if the shape is MV_SHAPE_LINES without objects;
                                * else NULL */
    /* used for text */
    mv_sheet *sheet;
    const char *heading[MV_MOST_FIELDS]; /* headings of the fields; NULL: the field is not a
                                          * column */
    mv_column columns[MV_SHEET_COLUMNS]; /* the columns that are shown, and the fields in them */
    uint32_t shown[MV_SHEET_COLUMNS];
    /* used for CSV */
    const char *path;       /* path from this table to the requested table; empty: this table was
                             * requested */
    const mv_rows *outer;   /* the parent row of this table's rows; NULL: none */
    const mv_value *values; /* values of the row being added */
};

/* ---- objects in rows --------------------------------------------------------------------- */

/* ---- CSV: cells of RFC 4180, safe for a terminal and for a spreadsheet (docs/export.md) ---- */

/* A cell that is written in several parts begins with a double quote, and with an apostrophe if it
 * would be a formula. */
static void open_cell(mv_out *out, mv_span first)
{
    mv_out_words(out, mv_escape_is_formula(first) ? "\"'" : "\"");
}

static void put_cell_part(mv_out *out, mv_span text)
{
    mv_out_escaped(out, text, MV_ESCAPE_CSV);
}

static void put_cell(mv_out *out, mv_span text)
{
    bool is_quoted = mv_escape_needs_quotes(text);

    if (is_quoted)
        open_cell(out, text);
    put_cell_part(out, text);
    if (is_quoted)
        mv_out_char(out, '"');
}

/* Returns the length of the objects that both keys have in common: 3 for "at.event" and
 * "at.time_us". */
static size_t common_objects(mv_span a, mv_span b)
{
    size_t common = 0;

    for (size_t i = 0; i < a.length && i < b.length && a.data[i] == b.data[i]; i++)
        if (a.data[i] == '.')
            common = i + 1;
    return common;
}

/* Whether the field is the first in an object and marks the object as null or absent. */
static bool is_missing_object(const mv_value *value)
{
    return value->kind == MV_VALUE_NO_OBJECT || value->kind == MV_VALUE_NULL_OBJECT;
}

/* Whether a row contains the field and the objects around it. */
static bool is_there(const mv_table *table, const mv_value *values, uint32_t field)
{
    const char *key = table->fields[field].key, *dot;

    if (values[field].kind == MV_VALUE_ABSENT || values[field].kind == MV_VALUE_NO_OBJECT)
        return false;
    for (dot = key ? strchr(key, '.') : NULL; dot; dot = strchr(dot + 1, '.')) {
        uint32_t first = 0;
        while (!table->fields[first].key ||
               strncmp(table->fields[first].key, key, (size_t)(dot - key) + 1) != 0)
            first++;
        if (first != field && is_missing_object(&values[first]))
            return false;
    }
    return true;
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void list_inner(mv_rows *rows, uint32_t field, const mv_value *value);

static const char *culprit(const mv_value *value, char label[LABEL])
{
    return mv_culprit_label(value->stack.trace, value->stack.kinds, value->stack.id, label, LABEL);
}

static void put_json_text(mv_out *out, const char *text)
{
    mv_json_put_text(out, mv_text_span(text));
}

static void put_json_texts(mv_out *out, const mv_value *value)
{
    mv_out_char(out, '[');
    for (uint32_t i = 0; i < value->texts.count; i++) {
        mv_out_words(out, i ? "," : "");
        put_json_text(out, value->texts.text[i]);
    }
    mv_out_char(out, ']');
}

static void put_json_value(mv_rows *rows, uint32_t field, const mv_value *value)
{
    mv_out *out = rows->out;
    char label[LABEL];

    switch (value->kind) {
    case MV_VALUE_U64:
        mv_out_u64(out, value->u64);
        break;
    case MV_VALUE_I64:
        mv_out_i64(out, value->i64);
        break;
    case MV_VALUE_REAL:
        mv_json_put_real(out, value->real);
        break;
    case MV_VALUE_SHARE:
        mv_json_put_real(out, (double)value->share.part / (double)value->share.whole);
        break;
    case MV_VALUE_BOOL:
        mv_out_words(out, value->truth ? "true" : "false");
        break;
    case MV_VALUE_TEXT:
        mv_json_put_text(out, value->text);
        break;
    case MV_VALUE_TEXTS:
        put_json_texts(out, value);
        break;
    case MV_VALUE_PAIR:
        mv_out_char(out, '[');
        mv_out_u64(out, value->pair.a);
        mv_out_char(out, ',');
        mv_out_u64(out, value->pair.b);
        mv_out_char(out, ']');
        break;
    case MV_VALUE_CULPRIT:
        put_json_text(out, culprit(value, label));
        break;
    case MV_VALUE_FRAMES:
        mv_json_put_frames(out, value->stack.trace, value->stack.id);
        break;
    case MV_VALUE_ROWS:
        list_inner(rows, field, value);
        break;
    default:
        mv_out_words(out, "null");
    }
}

/* Closes the objects around `before` that do not contain `key`, and opens the remaining objects
 * around `key`. */
static void put_key(mv_out *out, mv_span before, mv_span key, const char *separator)
{
    size_t common = common_objects(before, key);

    for (size_t i = common; i < before.length; i++)
        if (before.data[i] == '.')
            mv_out_char(out, '}');
    if (before.length && key.length)
        mv_out_words(out, common ? "," : separator);
    for (size_t at = common; at < key.length;) {
        const uint8_t *dot = memchr(key.data + at, '.', key.length - at);
        size_t end = dot ? (size_t)(dot - key.data) : key.length;
        mv_out_char(out, '"');
        mv_out_bytes(out, key.data + at, end - at);
        mv_out_words(out, dot ? "\":{" : "\":");
        at = end + 1;
    }
}

/* Returns the length of the outermost object that `key` opens: 4 for "host.peak.event" after
 * "device". */
static size_t object_length(mv_span before, mv_span key)
{
    size_t length = common_objects(before, key);

    while (key.data[length] != '.')
        length++;
    return length;
}

/* Writes the members of one object. `before` is the previous member. */
static void put_members(mv_rows *rows, const mv_value *values, mv_span before,
                        const char *separator)
{
    for (uint32_t i = 0; i < rows->table->count; i++) {
        mv_span key;
        if (!rows->table->fields[i].key || !is_there(rows->table, values, i))
            continue;
        key = mv_text_span(rows->table->fields[i].key);
        if (values[i].kind == MV_VALUE_NULL_OBJECT)
            key.length = object_length(before, key);
        put_key(rows->out, before, key, separator);
        put_json_value(rows, i, &values[i]);
        before = key;
    }
    put_key(rows->out, before, (mv_span){0}, "");
}

/* Prepares the written names. Returns false if a row contains objects, because the names then
 * depend on the values. */
static bool make_names(const mv_table *table, member_names *out)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const char *key = table->fields[i].key;
        out->length[i] = 0;
        if (!key)
            continue;
        if (strchr(key, '.') || strlen(key) > MOST_NAME)
            return false;
        out->length[i] = (uint8_t)snprintf(out->text[i], sizeof out->text[i], ",\"%s\":", key);
    }
    return true;
}

static void put_named_members(mv_rows *rows, const mv_value *values)
{
    const member_names *names = rows->names;
    uint32_t skipped = 1; /* the first name has no comma before it */

    for (uint32_t i = 0; i < rows->table->count; i++) {
        if (names->length[i] == 0 || values[i].kind == MV_VALUE_ABSENT)
            continue;
        mv_out_bytes(rows->out, names->text[i] + skipped, names->length[i] - skipped);
        put_json_value(rows, i, &values[i]);
        skipped = 0;
    }
}

static void add_json(mv_rows *rows, const mv_value *values)
{
    mv_table_shape shape = rows->table->shape;

    if (rows->is_top) {
        put_members(rows, values, mv_text_span("file"), ",\n");
        return;
    }
    mv_out_words(rows->out, rows->count ? "," : "");
    if (shape == MV_SHAPE_LINES)
        mv_out_char(rows->out, '\n');
    if (shape == MV_SHAPE_MAP) {
        mv_json_put_text(rows->out, values[0].text);
        mv_out_char(rows->out, ':');
    }
    if (shape == MV_SHAPE_MAP || shape == MV_SHAPE_VALUES) {
        put_json_value(rows, rows->table->count - 1, &values[rows->table->count - 1]);
        return;
    }
    mv_out_char(rows->out, '{');
    if (rows->names)
        put_named_members(rows, values);
    else
        put_members(rows, values, (mv_span){0}, ",");
    mv_out_char(rows->out, '}');
}

static void put_json_rows(mv_rows *rows)
{
    bool is_map = rows->table->shape == MV_SHAPE_MAP;
    member_names names;

    if (rows->table->shape == MV_SHAPE_LINES && make_names(rows->table, &names))
        rows->names = &names;
    if (rows->table->json) {
        rows->table->json(rows);
    } else {
        mv_out_char(rows->out, is_map ? '{' : '[');
        rows->table->list(rows);
        mv_out_char(rows->out, is_map ? '}' : ']');
    }
    rows->names = NULL;
}

static void put_json_report(mv_rows *rows, const mv_cli *cli)
{
    mv_out_words(rows->out, "{\"memviz\":\"" MV_PROGRAM_VERSION "\",\n\"command\":");
    put_json_text(rows->out, cli->command->name);
    mv_out_words(rows->out, ",\n\"file\":");
    put_json_text(rows->out, cli->options.file[0]);
    if (cli->level) {
        mv_out_words(rows->out, ",\n\"level\":");
        put_json_text(rows->out, cli->level);
    }
    rows->table->list(rows);
    mv_out_words(rows->out, "\n}\n");
}

/* ---- CSV --------------------------------------------------------------------------------- */

/* The table name of the report's own row. */
#define OWN_ROW "report"

static bool is_cell(const mv_field *field)
{
    return field->key && !field->table;
}

/* Finds the LIST of a table that a path begins with: its field, and the remaining path. */
static bool take_step(const mv_table *table, const char *path, uint32_t *field, const char **rest)
{
    for (*field = 0; *field < table->count; ++*field) {
        const mv_field *f = &table->fields[*field];
        size_t length = f->table ? strlen(f->key) : 0;
        if (!f->table || strncmp(f->key, path, length) != 0)
            continue;
        *rest = path + length + (path[length] == '.');
        if (path[length] == 0 || (path[length] == '.' && **rest))
            return true;
    }
    return false;
}

/* Returns how many of a table's leading fields its nested tables repeat, to identify the parent
 * row. A report repeats only its device, and only in a table that has no device field. */
static uint32_t named_by(const mv_table *table, bool is_top, const mv_table *inner)
{
    const mv_field *first = &table->fields[0];

    if (!is_cell(first) ||
        (inner->fields[0].key && strcmp(first->key, inner->fields[0].key) == 0) ||
        (is_top && strcmp(first->key, "device") != 0))
        return 0;
    return table->named_by ? table->named_by : 1;
}

/* Writes a stack as one string: "/home/x/train.py:96 main;...", innermost frame first. */
static void put_csv_frames(mv_out *out, const mv_trace *trace, mv_stack_id stack)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    if (mv_out_is_lost(out))
        return;
    for (uint32_t i = 0; i < count; i++) {
        mv_span file = mv_string_span(trace, trace->frames.file[frames[i].row]);
        if (i == 0)
            open_cell(out, file);
        else
            mv_out_char(out, ';');
        put_cell_part(out, file);
        mv_out_char(out, ':');
        mv_out_i64(out, mv_json_line(trace, frames[i]));
        mv_out_char(out, ' ');
        put_cell_part(out, mv_string_span(trace, trace->frames.function[frames[i].row]));
    }
    mv_out_words(out, count ? "\"" : "\"\"");
}

static void put_csv_texts(mv_out *out, const mv_value *value)
{
    open_cell(out, value->texts.count ? mv_text_span(value->texts.text[0]) : (mv_span){0});
    for (uint32_t i = 0; i < value->texts.count; i++) {
        mv_out_words(out, i ? ";" : "");
        put_cell_part(out, mv_text_span(value->texts.text[i]));
    }
    mv_out_char(out, '\"');
}

static void put_csv_value(mv_out *out, const mv_value *value)
{
    char label[LABEL];

    switch (value->kind) {
    case MV_VALUE_U64:
        mv_out_u64(out, value->u64);
        break;
    case MV_VALUE_I64:
        mv_out_i64(out, value->i64);
        break;
    case MV_VALUE_REAL:
        if (isfinite(value->real))
            mv_json_put_real(out, value->real);
        break;
    case MV_VALUE_SHARE:
        if (value->share.whole)
            mv_json_put_real(out, (double)value->share.part / (double)value->share.whole);
        break;
    case MV_VALUE_BOOL:
        mv_out_words(out, value->truth ? "true" : "false");
        break;
    case MV_VALUE_TEXT:
        put_cell(out, value->text);
        break;
    case MV_VALUE_TEXTS:
        put_csv_texts(out, value);
        break;
    case MV_VALUE_PAIR:
        mv_out_format(out, "\"%llu,%llu\"", (unsigned long long)value->pair.a,
                      (unsigned long long)value->pair.b);
        break;
    case MV_VALUE_CULPRIT:
        put_cell(out, mv_text_span(culprit(value, label)));
        break;
    case MV_VALUE_FRAMES:
        put_csv_frames(out, value->stack.trace, value->stack.id);
        break;
    default: /* empty */
        break;
    }
}

/* Returns the table at the end of a path; NULL: none. */
static const mv_table *table_at(const mv_table *report, const char *path)
{
    uint32_t field;

    while (*path) {
        if (!take_step(report, path, &field, &path))
            return NULL;
        report = report->fields[field].table;
    }
    return report;
}

/* Whether the report's own row is a table. It is not if it contains only lists. */
static bool has_own_row(const mv_table *report)
{
    for (uint32_t i = 0; i < report->count; i++)
        if (is_cell(&report->fields[i]))
            return true;
    return false;
}

bool mv_table_has(const mv_table *report, const char *path)
{
    if (strcmp(path, OWN_ROW) == 0)
        return has_own_row(report);
    return *path && table_at(report, path);
}

/* Writes the tables nested in `table`, which `path` leads to: ", devices, devices.sites". */
static void append_paths(const mv_table *table, const char *path, char *out)
{
    for (uint32_t i = 0; i < table->count; i++) {
        char inner[MV_TABLE_PATHS] = "";
        if (!table->fields[i].table)
            continue;
        mv_text_append(inner, sizeof inner, "%s%s%s", path, *path ? "." : "", table->fields[i].key);
        mv_prose_add(out, MV_TABLE_PATHS, ", %s", inner);
        append_paths(table->fields[i].table, inner, out);
    }
}

const char *mv_table_paths(const mv_table *report, char out[MV_TABLE_PATHS])
{
    const char *first = has_own_row(report) ? ", " OWN_ROW : "";

    snprintf(out, MV_TABLE_PATHS, "%s", first);
    append_paths(report, "", out);
    memmove(out, out + 2, strlen(out + 2) + 1);
    return out;
}

static void put_csv_names(mv_out *out, const mv_table *table, uint32_t count, uint32_t *columns)
{
    for (uint32_t i = 0; i < count; i++)
        if (is_cell(&table->fields[i]))
            mv_out_format(out, "%s%s", (*columns)++ ? "," : "", table->fields[i].key);
}

/* Writes the column names, with the outer tables' columns first. */
static void put_csv_head(mv_out *out, const mv_table *report, const char *path)
{
    const mv_table *table = report, *inner;
    uint32_t field, columns = 0;

    for (; *path; table = inner) {
        take_step(table, path, &field, &path);
        inner = table->fields[field].table;
        put_csv_names(out, table, named_by(table, table == report, inner), &columns);
    }
    put_csv_names(out, table, table->count, &columns);
    mv_out_words(out, "\r\n");
}

static void put_csv_cells(const mv_rows *rows, const mv_value *values, uint32_t count,
                          uint32_t *columns)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!is_cell(&rows->table->fields[i]))
            continue;
        mv_out_words(rows->out, (*columns)++ ? "," : "");
        if (is_there(rows->table, values, i))
            put_csv_value(rows->out, &values[i]);
    }
}

static void put_csv_outer(const mv_rows *rows, uint32_t *columns)
{
    const mv_rows *outer = rows->outer;

    if (!outer)
        return;
    put_csv_outer(outer, columns);
    put_csv_cells(outer, outer->values, named_by(outer->table, outer->is_top, rows->table),
                  columns);
}

static void add_csv(mv_rows *rows, const mv_value *values)
{
    const mv_table *table = rows->table;
    uint32_t field = 0, columns = 0;
    const char *rest;

    rows->values = values;
    if (*rows->path) {
        take_step(table, rows->path, &field, &rest);
        if (is_there(table, values, field) && values[field].kind == MV_VALUE_ROWS)
            list_inner(rows, field, &values[field]);
        return;
    }
    put_csv_outer(rows, &columns);
    put_csv_cells(rows, values, table->count, &columns);
    mv_out_words(rows->out, "\r\n");
}

/* ---- text -------------------------------------------------------------------------------- */

/* Finds the text columns, in the order of `place`. Columns with equal places stay in the order of
 * their fields. */
static void find_columns(mv_rows *rows)
{
    mv_sheet *sheet = rows->sheet;

    for (uint32_t i = 0; i < rows->table->count; i++) {
        const mv_field *field = &rows->table->fields[i];
        uint32_t at = sheet->count;
        if (!rows->heading[i] || at == MV_SHEET_COLUMNS)
            continue;
        for (; at > 0 && rows->table->fields[rows->shown[at - 1]].place > field->place; at--) {
            rows->shown[at] = rows->shown[at - 1];
            rows->columns[at] = rows->columns[at - 1];
        }
        rows->shown[at] = i;
        rows->columns[at] = (mv_column){rows->heading[i], field->unit, field->width};
        sheet->count++;
    }
}

static void add_cell(mv_sheet *sheet, mv_unit unit, const mv_value *value)
{
    char text[LABEL];

    if (value->shown)
        mv_sheet_text(sheet, value->shown);
    else if (value->kind == MV_VALUE_U64 && unit == MV_UNIT_BYTES)
        mv_sheet_size(sheet, value->u64);
    else if (value->kind == MV_VALUE_U64)
        mv_sheet_count(sheet, value->u64);
    else if (value->kind == MV_VALUE_I64 && unit == MV_UNIT_CHANGE)
        mv_sheet_text(sheet, mv_size_change_text(text, value->i64));
    else if (value->kind == MV_VALUE_I64)
        mv_sheet_text(sheet, mv_size_signed_text(text, value->i64));
    else if (value->kind == MV_VALUE_SHARE)
        mv_sheet_text(sheet, mv_percent_text(text, value->share.part, value->share.whole));
    else if (value->kind == MV_VALUE_TEXT)
        mv_sheet_span(sheet, value->text);
    else if (value->kind == MV_VALUE_CULPRIT)
        mv_sheet_text(sheet, culprit(value, text));
    else
        mv_sheet_text(sheet, "");
}

static void add_text(mv_rows *rows, const mv_value *values)
{
    static const mv_value absent = {.kind = MV_VALUE_ABSENT};

    if (rows->count == 0)
        find_columns(rows);
    for (uint32_t i = 0; i < rows->sheet->count; i++) {
        uint32_t field = rows->shown[i];
        add_cell(rows->sheet, rows->columns[i].unit & MV_UNIT_KIND,
                 is_there(rows->table, values, field) ? &values[field] : &absent);
    }
}

void mv_table_print(mv_cli *cli, const mv_table *table, const void *all, const void *one,
                    const char *before)
{
    mv_sheet sheet;
    mv_rows rows = {.medium = AS_TEXT,
                    .out = &cli->out,
                    .table = table,
                    .all = all,
                    .one = one,
                    .sheet = &sheet};

    mv_sheet_init(&sheet, &cli->scratch, rows.columns, 0);
    for (uint32_t i = 0; i < table->count; i++)
        rows.heading[i] = table->fields[i].heading;
    table->list(&rows);
    if (rows.count == 0)
        return;
    mv_out_text(&cli->out, before);
    mv_sheet_print(&sheet, &cli->out, 2);
    mv_rows_put_hidden(&cli->out, rows.taken, rows.limit);
}

/* ---- all --------------------------------------------------------------------------------- */

static void list_inner(mv_rows *outer, uint32_t field, const mv_value *value)
{
    mv_rows rows = {.medium = outer->medium,
                    .out = outer->out,
                    .table = outer->table->fields[field].table,
                    .all = outer->all,
                    .one = value->one,
                    .outer = outer};
    uint32_t step;

    if (rows.medium == AS_JSON) {
        put_json_rows(&rows);
        return;
    }
    take_step(outer->table, outer->path, &step, &rows.path);
    rows.table->list(&rows);
}

uint32_t mv_rows_take(mv_rows *rows, uint32_t count, uint64_t limit)
{
    rows->taken = count;
    rows->limit = limit;
    return count < limit ? count : (uint32_t)limit;
}

void mv_rows_add(mv_rows *rows, const mv_value *values)
{
    if (rows->medium == AS_JSON)
        add_json(rows, values);
    else if (rows->medium == AS_CSV)
        add_csv(rows, values);
    else
        add_text(rows, values);
    rows->count++;
}

void mv_rows_add_some(mv_rows *rows, uint32_t count, const mv_named_value *some)
{
    mv_value values[MV_MOST_FIELDS] = {0};

    for (uint32_t i = 0, at = 0; i < rows->table->count && at < count; i++)
        if (rows->table->fields[i].key && strcmp(rows->table->fields[i].key, some[at].key) == 0)
            values[i] = some[at++].value;
    mv_rows_add(rows, values);
}

void mv_rows_list_lists(mv_rows *rows)
{
    mv_value values[MV_MOST_FIELDS] = {0};

    for (uint32_t i = 0; i < rows->table->count; i++)
        values[i] = mv_value_rows(NULL);
    mv_rows_add(rows, values);
}

const void *mv_rows_all(const mv_rows *rows)
{
    return rows->all;
}

const void *mv_rows_one(const mv_rows *rows)
{
    return rows->one;
}

bool mv_rows_are_text(const mv_rows *rows)
{
    return rows->medium == AS_TEXT;
}

void mv_rows_head(mv_rows *rows, const char *key, const char *heading)
{
    for (uint32_t i = 0; i < rows->table->count; i++) {
        const mv_field *field = &rows->table->fields[i];
        const char *name = field->key ? field->key : field->heading;
        if (name && strcmp(name, key) == 0)
            rows->heading[i] = heading;
    }
}

mv_out *mv_rows_out(mv_rows *rows)
{
    return rows->out;
}

void mv_rows_put_value(mv_rows *rows, mv_value value)
{
    put_json_value(rows, 0, &value);
}

const char *mv_table_main(const mv_table *report)
{
    return report->main ? report->main : OWN_ROW;
}

/* Returns the table that --table names, or the main table without --table. "" stands for the
 * report's own row. */
static const char *path_of(const mv_options *options, const mv_table *report)
{
    const char *path = options->table ? options->table : mv_table_main(report);

    return strcmp(path, OWN_ROW) == 0 ? "" : path;
}

bool mv_table_is_wanted(const mv_cli *cli)
{
    return mv_option_given(&cli->options, MV_HAS(JSON) | MV_HAS(CSV));
}

static int put_report(mv_cli *cli, const mv_table *report, const void *all)
{
    mv_rows rows = {.out = &cli->out, .table = report, .all = all, .is_top = true};

    if (mv_option_given(&cli->options, MV_HAS(JSON))) {
        rows.medium = AS_JSON;
        put_json_report(&rows, cli);
        return MV_EXIT_DONE;
    }
    rows.medium = AS_CSV;
    rows.path = path_of(&cli->options, report);
    put_csv_head(rows.out, report, rows.path);
    report->list(&rows);
    return MV_EXIT_DONE;
}

int mv_table_put(mv_cli *cli, const void *all)
{
    return put_report(cli, cli->command->report, all);
}

int mv_table_put_written(mv_cli *cli, const char *path, const mv_table *report, const void *all)
{
    if (mv_table_is_wanted(cli))
        return put_report(cli, report, all);
    if (strcmp(path, "-") != 0) {
        mv_out_clean(&cli->out, mv_text_span(path));
        mv_out_char(&cli->out, '\n');
    }
    return MV_EXIT_DONE;
}
