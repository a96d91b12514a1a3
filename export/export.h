/* Exports a snapshot for other tools. docs/export.md shows how each tool uses it.
 *
 *     perfetto     totals over time, annotations, out-of-memory events     ui.perfetto.dev
 *     speedscope   memory by stack at a moment; bytes allocated by stack    speedscope.app
 *     csv          one table                                               anything
 *     sqlite       all tables                                              sqlite3, pandas
 *
 * The flame graph commands write folded stacks. */
#ifndef MV_EXPORT_H
#define MV_EXPORT_H

#include "analyze/code/sites.h"
#include "analyze/leaks/leaks.h"
#include "analyze/peak/category.h"
#include "analyze/totals/totals.h"
#include "parse/model/tables.h"
#include "parse/readers.h"
#include "parse/source/sink.h"

typedef struct {
    mv_lives lives;
    mv_series series; /* totals after each event */
    mv_leaks leaks;
    mv_categories categories; /* of the allocations */
    uint32_t event;           /* the event before the requested moment, or MV_BEFORE */
} mv_export_device;

typedef struct {
    const mv_trace *trace;
    const char *name;     /* of the file */
    const uint8_t *kinds; /* kinds of frames, from mv_frame_kinds */
    bool all_frames;      /* otherwise only frames selected by mv_frame_is_shown, in speedscope */
    uint32_t device_count;
    const mv_export_device *devices; /* [device_count] */
    bool is_part;                    /* other devices of the file were not requested */
    mv_progress_fn *progress;        /* NULL: none */
    void *user;
    const uint64_t *blocks_before;    /* [segments.count + 1] number of blocks in the segments
                                       * before; set by mv_export_prepare */
    bool leaves_out[MV_MOST_DEVICES]; /* set by mv_export_prepare: devices with events that were not
                                       * requested */
} mv_export;

/* Call it once the devices are known. False when out of memory. */
bool mv_export_prepare(mv_arena *arena, mv_export *export);

/* Perfetto's native format (a protobuf of TracePackets). Each device is a process with counters
 * allocated, active, requested and reserved, after each event; annotations are slices (on the first
 * device, if theirs is not exported); out-of-memory events are included. Times are nanoseconds
 * since the Unix epoch; in a file without times, an event lasts a microsecond. mv_sink_commit
 * reports failed writes. */
void mv_perfetto_write(const mv_export *export, mv_sink *sink);

/* Speedscope's JSON: for each device, the bytes allocated at the moment, and all bytes ever
 * allocated, by stack. */
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
    const char *help;    /* "one row per event" */
    const char *columns; /* "device event compile_context:text": the first columns. Columns that
                          * exist in `model` are read from there; `read` fills the others, which are
                          * numbers unless they have ":text" */
    uint16_t model;      /* kind of the model's table with these rows; 0: none. Its columns that
                          * `columns` leaves out follow, unless the model excludes them */
    bool by_device;      /* otherwise called with device 0 only */
    uint64_t (*rows)(const mv_export *export, uint32_t device); /* NULL: the model's row count */
    /* Fills the cells that are not in the model, and changes others; NULL: nothing to do. */
    void (*read)(const mv_export *export, uint32_t device, uint64_t row, mv_cell *cells);
} mv_export_table;

extern const mv_export_table mv_export_tables[]; /* ends with a NULL name */

const mv_export_table *mv_export_table_find(const char *name); /* NULL: there is none */

typedef struct {
    char name[32];
    bool is_text;
    const mv_table_column *from; /* NULL: not a column of the model */
} mv_export_column;

typedef struct {
    uint32_t count;
    uint32_t device; /* the column with a row's device; `count`: none */
    mv_export_column column[MV_MOST_CELLS];
} mv_export_columns;

void mv_export_columns_of(const mv_export_table *table, mv_export_columns *out);

uint64_t mv_export_rows(const mv_export *export, const mv_export_table *table, uint32_t device);

/* Fills a cell for each column. */
void mv_export_read(const mv_export *export, const mv_export_table *table,
                    const mv_export_columns *columns, uint32_t device, uint64_t row,
                    mv_cell *cells);

/* Whether to export the row with these cells: it does not belong to a left-out device. */
bool mv_export_keeps(const mv_export *export, const mv_export_columns *columns,
                     const mv_cell *cells);

/* RFC 4180, starting with a line of names; absent values are empty. Texts are escaped
 * (base/escape.h): each row is one line, and no cell is a formula. */
void mv_csv_write(const mv_export *export, const mv_export_table *table, mv_sink *sink);

/* A database of all tables. Numbers beyond 2^63 - 1 are texts: number columns have no type, since
 * an integer column would round such a text. Texts are as in the file, except that NUL and invalid
 * UTF-8 bytes, which a database text cannot hold, become \xNN. The database is built in memory,
 * about 60 bytes a row, within the rest of `budget`: MV_NOMEM if it would be larger. */
mv_code mv_sqlite_write(const mv_budget *budget, const mv_export *export, mv_sink *sink,
                        mv_err *err);

#endif
