/* Tables of a report, printed: in text, as JSON, as CSV. fields.h defines the fields.
 *
 * A command with a report has one table for it, which its row in commands.c names, and
 *
 *     if (mv_table_is_wanted(cli))
 *         return mv_table_put(cli, &found);        JSON or CSV: the whole report, or one table
 *     ...
 *     mv_table_print(cli, &site_table, &found, device, "\n");      text: a table where it belongs
 */
#ifndef MV_TABLE_H
#define MV_TABLE_H

#include "cli/commands.h"
#include "cli/report/fields.h"

/* Whether --json or --csv requests the report itself, not text. */
bool mv_table_is_wanted(const mv_cli *cli);

/* The command's report; `all` is passed to its functions: JSON, {"memviz":VERSION,
 * "command":...,"file":...} and the fields; or the table requested with --csv. Returns the exit
 * status. */
int mv_table_put(mv_cli *cli, const void *all);

/* The report of a command that writes a file, `report`: JSON or CSV as above; in text the file's
 * path, unless it is standard output. */
int mv_table_put_written(mv_cli *cli, const char *path, const mv_table *report, const void *all);

/* One table as text, its rows indented by two, after `before`; then "12 more; --limit 0 shows all"
 * if mv_rows_take omitted rows. Prints nothing if there are no rows. */
void mv_table_print(mv_cli *cli, const mv_table *table, const void *all, const void *one,
                    const char *before);

/* Tables are named by their path of keys: "sites", "devices.sites"; "report" is the one row of the
 * report itself. Whether --table can name one, and a list of all of them, for messages and help. */
#define MV_TABLE_PATHS 512
bool mv_table_has(const mv_table *report, const char *path);
const char *mv_table_main(const mv_table *report); /* without --table */
const char *mv_table_paths(const mv_table *report, char out[MV_TABLE_PATHS]);

/* ---- for the functions that list rows ---------------------------------------------------- */

/* The number of rows to add, out of `count`: the first `limit`. */
uint32_t mv_rows_take(mv_rows *rows, uint32_t count, uint64_t limit);

/* A row: a value for each field (MV_ROWS_ADD). */
void mv_rows_add(mv_rows *rows, const mv_value *values);

/* A row with values in a few of the fields, in their order. */
typedef struct {
    const char *key;
    mv_value value;
} mv_named_value;
void mv_rows_add_some(mv_rows *rows, uint32_t count, const mv_named_value *values);

/* Lists the single row of a report whose fields are all LISTs: their functions get NULL. */
void mv_rows_list_lists(mv_rows *rows, const void *all, const void *one);

/* Whether the rows are for text: some rows are only in text. */
bool mv_rows_are_text(const mv_rows *rows);

/* Before the first row: changes the text heading of the field with that key, or without a key of
 * the field with that heading; NULL removes its column. */
void mv_rows_head(mv_rows *rows, const char *key, const char *heading);

/* For mv_table.json: the output. */
mv_out *mv_rows_out(mv_rows *rows);

#endif
