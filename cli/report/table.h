/* Prints a report's tables as text, JSON or CSV. fields.h defines the fields.
 *
 * A command with a report has one table for it, which its row in commands.c names, and contains
 *
 *     if (mv_table_is_wanted(cli))
 *         return mv_table_put(cli, &found);        JSON or CSV: the whole report, or one table
 *     ...
 *     mv_table_print(cli, &site_table, &found, device, "\n");      text: a table where it belongs
 *  */
#pragma once

#include "cli/commands.h"
#include "cli/report/fields.h"

/* Whether --json or --csv requests the report itself, instead of text. */
bool mv_table_is_wanted(const mv_cli *cli);

/* Writes the command's report as JSON ({"memviz":VERSION,"command":...,"file":...} followed by the
 * fields), or the table that --csv requests. `all` is passed to the tables' functions. Returns the
 * exit status. */
int mv_table_put(mv_cli *cli, const void *all);

/* Writes the report of a command that wrote a file: `report` as JSON or CSV, as mv_table_put does.
 * In text, prints only the file's path, unless the file is standard output. */
int mv_table_put_written(mv_cli *cli, const char *path, const mv_table *report, const void *all);

/* Prints one table as text, after `before`, with rows indented by two. If mv_rows_take omitted
 * rows, ends with "12 more; --limit 0 shows all". Prints nothing if there are no rows. */
void mv_table_print(mv_cli *cli, const mv_table *table, const void *all, const void *one,
                    const char *before);

/* Tables are named by a path of keys: "sites", "devices.sites". "report" is the report's own row.
 * mv_table_has returns whether --table can name a table, and mv_table_paths lists all names for
 * messages and help. */
#define MV_TABLE_PATHS 512
bool mv_table_has(const mv_table *report, const char *path);
const char *mv_table_main(const mv_table *report); /* name of the table without --table */
const char *mv_table_paths(const mv_table *report, char out[MV_TABLE_PATHS]);

/* ---- for the functions that list rows ---------------------------------------------------- */

/* Return the whole report, and the part of it whose rows are listed; NULL: all of it. */
const void *mv_rows_all(const mv_rows *rows);
const void *mv_rows_one(const mv_rows *rows);

/* Returns how many of `count` rows to add, which are the first `limit` ones. */
uint32_t mv_rows_take(mv_rows *rows, uint32_t count, uint64_t limit);

/* Adds a row with a value for each field (see MV_ROWS_ADD). */
void mv_rows_add(mv_rows *rows, const mv_value *values);

/* Adds a row with values for only a few of the fields, in the order of the fields. */
typedef struct {
    const char *key;
    mv_value value;
} mv_named_value;
void mv_rows_add_some(mv_rows *rows, uint32_t count, const mv_named_value *values);

/* Lists the single row of a report whose fields are all LISTs. Their functions receive NULL. */
void mv_rows_list_lists(mv_rows *rows);

/* Whether the rows are for text, which some rows are restricted to. */
bool mv_rows_are_text(const mv_rows *rows);

/* Changes the text heading of the field with this key, or, if the field has no key, of the field
 * with this heading. NULL removes its column. Call it before adding the first row. */
void mv_rows_head(mv_rows *rows, const char *key, const char *heading);

/* For use in mv_table.json: the output, and a value as JSON. */
mv_out *mv_rows_out(mv_rows *rows);
void mv_rows_put_value(mv_rows *rows, mv_value value);
