/* Exports a snapshot for other tools. docs/export.md shows how each tool uses it.
 *
 *     perfetto     totals over time, annotations, out-of-memory events     ui.perfetto.dev
 *     speedscope   memory by stack at one time; bytes allocated by stack    speedscope.app
 *     csv          one table                                               anything
 *     sqlite       all tables                                              sqlite3, pandas
 *
 * The flame graph commands write folded stacks. */
#pragma once

#include "analyze/code/sites.h"
#include "analyze/leaks/leaks.h"
#include "analyze/peak/category.h"
#include "analyze/totals/totals.h"
#include "parse/model/tables.h"
#include "parse/readers.h"
#include "parse/source/sink.h"

typedef struct {
    mv_lives lives;
    mv_series series; /* current totals after each event */
    mv_leaks leaks;
    mv_categories categories; /* categories of the allocations */
    uint32_t event;           /* the last event before the requested time, or MV_BEFORE if there is
                                 none */
} mv_export_device;

typedef struct {
    const mv_trace *trace;
    const char *name;     /* name of the file */
    const uint8_t *kinds; /* kind of each frame, from mv_frame_kinds */
    bool all_frames;      /* include every frame in speedscope exports; if false, only frames that
                             mv_frame_is_shown selects */
    uint32_t device_count;
    const mv_export_device *devices; /* [device_count] */
    bool is_part;                    /* some devices of the file were not requested and are missing
                                        from `devices` */
    mv_progress_fn *progress;        /* called to report progress; may be NULL */
    void *user;
    const uint64_t *blocks_before;    /* [segments.count + 1] total number of blocks in all segments
                                       * before segment i; set by mv_export_prepare */
    bool leaves_out[MV_MOST_DEVICES]; /* true for each device that has events but was not requested;
                                       * set by mv_export_prepare */
} mv_export;

/* Completes an mv_export whose devices are already set. Returns false when out of memory. */
bool mv_export_prepare(mv_arena *arena, mv_export *export);

/* Perfetto's native format (a protobuf of TracePackets). Each device becomes a process whose
 * counters show the allocated, active, requested and reserved bytes after each event. Annotations
 * become slices. If the device of an annotation is not exported, the first device shows the slice.
 * Out-of-memory events are included. Times are in nanoseconds since the Unix epoch. If the file has
 * no times, events are one microsecond apart. Write errors are reported later, by
 * mv_sink_commit. */
void mv_perfetto_write(const mv_export *export, mv_sink *sink);

/* Writes Speedscope's JSON. For each device it contains two profiles by stack: the bytes allocated
 * at the requested time, and all bytes ever allocated. */
mv_code mv_speedscope_write(mv_arena *scratch, const mv_export *export, mv_sink *sink, mv_err *err);

/* ---- tables ------------------------------------------------------------------------------ */

typedef enum { MV_CELL_NONE, MV_CELL_NUMBER, MV_CELL_TEXT } mv_cell_kind;

typedef struct {
    uint8_t kind; /* mv_cell_kind */
    bool is_negative;
    uint64_t number; /* absolute value of the number */
    mv_span text;
} mv_cell;

enum { MV_MOST_CELLS = 32 };

typedef struct {
    const char *name;
    const char *columns; /* names of the first columns, such as "device event compile_context:text".
                          * Columns that exist in `model` are read from there. `read` fills the
                          * other columns, which contain numbers unless the name is followed by
                          * ":text" */
    uint16_t model;      /* kind of the model's table that has the same rows; 0: none. Its other
                          * columns are appended, unless the model excludes them */
    bool by_device;      /* the functions are called once per device; if false, only with device
                            0 */
    uint64_t (*rows)(const mv_export *export, uint32_t device); /* returns the number of rows; NULL:
                                                                   use the model's row count */
    /* Fills the cells that are not in the model, and may change the other cells. NULL: nothing to
     * do. */
    void (*read)(const mv_export *export, uint32_t device, uint64_t row, mv_cell *cells);
} mv_export_table;

extern const mv_export_table mv_export_tables[]; /* the last entry has a NULL name */

const mv_export_table *mv_export_table_find(const char *name); /* NULL: there is none */

typedef struct {
    char name[32];
    bool is_text;
    const mv_table_column *from; /* the model's column; NULL: the column is not in the model */
} mv_export_column;

typedef struct {
    uint32_t count;
    uint32_t device; /* index of the column that contains each row's device; `count`: there is no
                        such column */
    mv_export_column column[MV_MOST_CELLS];
} mv_export_columns;

void mv_export_columns_of(const mv_export_table *table, mv_export_columns *out);

uint64_t mv_export_rows(const mv_export *export, const mv_export_table *table, uint32_t device);

/* Fills one cell for each column of the row. */
void mv_export_read(const mv_export *export, const mv_export_table *table,
                    const mv_export_columns *columns, uint32_t device, uint64_t row,
                    mv_cell *cells);

/* Whether to export the row with these cells. Rows that belong to a left-out device are not
 * exported. */
bool mv_export_keeps(const mv_export *export, const mv_export_columns *columns,
                     const mv_cell *cells);

/* Writes a table as CSV (RFC 4180). The first line contains the column names, and missing values
 * are empty. Strings are escaped (base/escape.h), so each row is a single line and no cell is read
 * as a formula. */
void mv_csv_write(const mv_export *export, const mv_export_table *table, mv_sink *sink);

/* Writes a database that contains all tables. Numbers above 2^63 - 1 are stored as strings. Number
 * columns have no declared type, because a column declared as integer would round these strings.
 * Strings are stored exactly as in the file, except that NUL and invalid UTF-8 bytes, which a
 * database string cannot contain, become \xNN. The database is built in memory and takes about 60
 * bytes per row. Returns MV_NOMEM if it would not fit in what is left of `budget`. */
mv_code mv_sqlite_write(const mv_budget *budget, const mv_export *export, mv_sink *sink,
                        mv_err *err);
