#include <limits.h>
#include <sqlite3.h>

#include "base/escape.h"
#include "export/export.h"

enum { MOST_STATEMENT = 2048 };

static const char *const views[] = {
    "CREATE VIEW stack_lines AS SELECT stack, depth, function, file, line, kind FROM stacks JOIN "
    "frames USING (frame)",
    "CREATE VIEW live_at_end AS SELECT * FROM allocations WHERE freed IS NULL",
};

static mv_code failed(mv_err *err, sqlite3 *db)
{
    int status = db ? sqlite3_errcode(db) : SQLITE_NOMEM;
    bool is_memory = status == SQLITE_NOMEM || status == SQLITE_FULL;

    return mv_fail(err, is_memory ? MV_NOMEM : MV_IO, MV_NO_OFFSET, "sqlite: %s",
                   db ? sqlite3_errmsg(db) : "out of memory");
}

/* Writes the CREATE TABLE and INSERT statements for a table. Number columns have no declared type,
 * because with INTEGER, SQLite would turn a string with a number above 2^63 - 1 into a rounded
 * REAL. */
static void spell(const mv_export_table *table, const mv_export_columns *columns,
                  char create[MOST_STATEMENT], char insert[MOST_STATEMENT])
{
    int made = snprintf(create, MOST_STATEMENT, "CREATE TABLE %s (", table->name);
    int into = snprintf(insert, MOST_STATEMENT, "INSERT INTO %s VALUES (", table->name);

    for (uint32_t i = 0; i < columns->count; i++) {
        const char *comma = i > 0 ? ", " : "";
        made += snprintf(create + made, (size_t)(MOST_STATEMENT - made), "%s\"%s\"%s", comma,
                         columns->column[i].name, columns->column[i].is_text ? " TEXT" : "");
        into += snprintf(insert + into, (size_t)(MOST_STATEMENT - into), "%s?", comma);
    }
    snprintf(create + made, (size_t)(MOST_STATEMENT - made), ")");
    snprintf(insert + into, (size_t)(MOST_STATEMENT - into), ")");
}

/* Binds a string to a column. Strings that a database can contain, which are nearly all of them,
 * are bound unchanged. */
static int bind_text(sqlite3_stmt *statement, int column, mv_span text)
{
    uint64_t at = 0;
    mv_escaped piece = {.length = 0};
    sqlite3_str *clean;
    int length;

    mv_escape_next(text, &at, MV_ESCAPE_DATABASE, &piece);
    if (piece.length == 0)
        return sqlite3_bind_text64(statement, column, (const char *)text.data, text.length,
                                   SQLITE_STATIC, SQLITE_UTF8);
    if (text.length > INT_MAX)
        return SQLITE_TOOBIG;
    clean = sqlite3_str_new(sqlite3_db_handle(statement));
    for (at = 0; mv_escape_next(text, &at, MV_ESCAPE_DATABASE, &piece);) {
        sqlite3_str_append(clean, (const char *)piece.plain.data, (int)piece.plain.length);
        sqlite3_str_append(clean, piece.escape, (int)piece.length);
    }
    length = sqlite3_str_length(clean);
    if (sqlite3_str_errcode(clean) == SQLITE_OK)
        return sqlite3_bind_text(statement, column, sqlite3_str_finish(clean), length,
                                 sqlite3_free);
    sqlite3_free(sqlite3_str_finish(clean));
    return SQLITE_NOMEM;
}

static int bind(sqlite3_stmt *statement, int column, const mv_cell *cell)
{
    char digits[32];

    if (cell->kind == MV_CELL_NONE)
        return sqlite3_bind_null(statement, column);
    if (cell->kind == MV_CELL_TEXT)
        return bind_text(statement, column, cell->text);
    if (cell->number <= INT64_MAX)
        return sqlite3_bind_int64(statement, column,
                                  cell->is_negative ? -(sqlite3_int64)cell->number
                                                    : (sqlite3_int64)cell->number);
    snprintf(digits, sizeof digits, "%s%llu", cell->is_negative ? "-" : "",
             (unsigned long long)cell->number);
    return sqlite3_bind_text(statement, column, digits, -1, SQLITE_TRANSIENT);
}

static bool insert_row(sqlite3_stmt *statement, const mv_cell *cells, uint32_t columns)
{
    for (uint32_t i = 0; i < columns; i++)
        if (bind(statement, (int)i + 1, &cells[i]) != SQLITE_OK)
            return false;
    return sqlite3_step(statement) == SQLITE_DONE && sqlite3_reset(statement) == SQLITE_OK;
}

static bool insert_rows(const mv_export *export, const mv_export_table *table,
                        const mv_export_columns *columns, sqlite3_stmt *statement)
{
    uint32_t devices = table->by_device ? export->device_count : 1;
    mv_cell cells[MV_MOST_CELLS];

    for (uint32_t d = 0; d < devices; d++) {
        uint64_t rows = mv_export_rows(export, table, d);
        for (uint64_t i = 0; i < rows; i++) {
            mv_export_read(export, table, columns, d, i, cells);
            if (mv_export_keeps(export, columns, cells) &&
                !insert_row(statement, cells, columns->count))
                return false;
            if (export->progress && i % 65536 == 0)
                export->progress(export->user, i, rows);
        }
    }
    return true;
}

static bool make_table(const mv_export *export, const mv_export_table *table, sqlite3 *db)
{
    char create[MOST_STATEMENT], insert[MOST_STATEMENT];
    mv_export_columns columns;
    sqlite3_stmt *statement = NULL;
    bool is_done;

    mv_export_columns_of(table, &columns);
    spell(table, &columns, create, insert);
    is_done = sqlite3_exec(db, create, NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_prepare_v2(db, insert, -1, &statement, NULL) == SQLITE_OK &&
              insert_rows(export, table, &columns, statement);
    sqlite3_finalize(statement);
    return is_done;
}

static bool fill(const mv_export *export, sqlite3 *db)
{
    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return false;
    for (const mv_export_table *t = mv_export_tables; t->name; t++)
        if (!make_table(export, t, db))
            return false;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (sqlite3_exec(db, views[i], NULL, NULL, NULL) != SQLITE_OK)
            return false;
    return sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

/* Returns how large the database may become. It is built in memory, so that it can be written to a
 * sink like any other file. */
static sqlite3_int64 most_bytes(const mv_budget *budget)
{
    uint64_t left = budget->limit > budget->used ? budget->limit - budget->used : 0;

    return left < INT64_MAX ? (sqlite3_int64)left : INT64_MAX;
}

mv_code mv_sqlite_write(const mv_budget *budget, const mv_export *export, mv_sink *sink,
                        mv_err *err)
{
    const int how = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
    sqlite3_int64 most = most_bytes(budget), bytes = 0;
    const unsigned char *image = NULL;
    sqlite3 *db = NULL;
    mv_code code = MV_OK;

    if (sqlite3_open_v2("file:memviz?vfs=memdb", &db, how, NULL) == SQLITE_OK &&
        sqlite3_file_control(db, "main", SQLITE_FCNTL_SIZE_LIMIT, &most) == SQLITE_OK &&
        fill(export, db))
        image = sqlite3_serialize(db, "main", &bytes, SQLITE_SERIALIZE_NOCOPY);
    if (image)
        mv_sink_write(sink, image, (uint64_t)bytes);
    else
        code = failed(err, db);
    sqlite3_close(db);
    return code;
}
