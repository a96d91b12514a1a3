/* A snapshot for other tools. docs/export.md shows what each of them does with it.
 *
 *     perfetto     levels over time, annotations, out-of-memory events     ui.perfetto.dev
 *     speedscope   who holds memory at a moment; who allocated how much    speedscope.app
 *     csv          one table                                               anything
 *     sqlite       all tables                                              sqlite3, pandas
 *
 * Folded stacks are made by the commands of flame graphs. */
#ifndef MV_EXPORT_H
#define MV_EXPORT_H

#include "analyze/code/sites.h"
#include "analyze/leaks/leaks.h"
#include "analyze/totals/totals.h"
#include "parse/model/tables.h"
#include "parse/readers.h"
#include "parse/source/sink.h"

typedef struct {
    mv_lives lives;
    mv_series series; /* levels after each event */
    mv_leaks leaks;
    uint32_t event; /* the moment asked for is after it, or MV_BEFORE */
} mv_export_device;

typedef struct {
    const mv_trace *trace;
    const char *name;     /* of the file */
    const uint8_t *kinds; /* of frames, from mv_frame_kinds */
    bool all_frames;      /* else those that mv_frame_is_shown shows, in speedscope */
    uint32_t device_count;
    const mv_export_device *devices; /* [device_count] */
    bool is_part;                    /* other devices of the file are not asked for */
    mv_progress_fn *progress;        /* NULL: none */
    void *user;
    const uint64_t *blocks_before;    /* [segments.count + 1] blocks of the segments before; made by
                                       * mv_export_prepare */
    bool leaves_out[MV_MOST_DEVICES]; /* likewise: something happened there, but it is not asked
                                       * for */
} mv_export;

/* Once the devices are known. False when memory is out. */
bool mv_export_prepare(mv_arena *arena, mv_export *export);

/* Perfetto's own format (a protobuf of TracePackets). Each device is a process with counters
 * allocated, active, requested and reserved, after each event; annotations as slices, those
 * of a device that is not exported on the first one; and out-of-memory events. Times are
 * nanoseconds since the Unix epoch; a file without times counts a microsecond an event. Failed
 * writes are reported by mv_sink_commit. */
void mv_perfetto_write(const mv_export *export, mv_sink *sink);

/* Speedscope's JSON: for each device what is allocated at the moment, and all bytes that were ever
 * allocated, by stack. */
mv_code mv_speedscope_write(mv_arena *scratch, const mv_export *export, mv_sink *sink, mv_err *err);

/* ---- tables ------------------------------------------------------------------------------ */

typedef enum { MV_CELL_NONE, MV_CELL_NUMBER, MV_CELL_TEXT } mv_cell_kind;

typedef struct {
    uint8_t kind; /* mv_cell_kind */
    bool is_negative;
    uint64_t number; /* its absolute value */
    mv_span text;
} mv_cell;

enum { MV_MOST_CELLS = 32 };

typedef struct {
    const char *name;
    const char *help;    /* "one row an event" */
    const char *columns; /* "device event compile_context:text": the first columns. Those that are
                          * columns of `model` come from there; `read` makes the others, which are
                          * numbers unless they say text */
    uint16_t model;      /* kind of the model's table whose rows these are; 0: none. The columns of
                          * it that `columns` leaves out follow, unless the model says otherwise */
    bool by_device;      /* else asked for with device 0 alone */
    uint64_t (*rows)(const mv_export *export, uint32_t device); /* NULL: the model's */
    /* Fills the cells that the model does not have, and changes others; NULL: there are none. */
    void (*read)(const mv_export *export, uint32_t device, uint64_t row, mv_cell *cells);
} mv_export_table;

extern const mv_export_table mv_export_tables[]; /* ends with a NULL name */

const mv_export_table *mv_export_table_find(const char *name); /* NULL: there is none */

typedef struct {
    char name[32];
    bool is_text;
    const mv_table_column *from; /* NULL: no column of the model */
} mv_export_column;

typedef struct {
    uint32_t count;
    uint32_t device; /* the column that says which device a row is of; `count`: none does */
    mv_export_column column[MV_MOST_CELLS];
} mv_export_columns;

void mv_export_columns_of(const mv_export_table *table, mv_export_columns *out);

uint64_t mv_export_rows(const mv_export *export, const mv_export_table *table, uint32_t device);

/* Fills a cell for each column. */
void mv_export_read(const mv_export *export, const mv_export_table *table,
                    const mv_export_columns *columns, uint32_t device, uint64_t row,
                    mv_cell *cells);

/* Whether the row with these cells is asked for: it is of no device that is left out. */
bool mv_export_keeps(const mv_export *export, const mv_export_columns *columns,
                     const mv_cell *cells);

/* RFC 4180, with a line of names first; absent values are empty. Texts are in the manner of
 * base/escape.h: each row is one line, and no cell a formula. */
void mv_csv_write(const mv_export *export, const mv_export_table *table, mv_sink *sink);

/* A database of all tables. Numbers beyond 2^63 - 1 are texts: columns of numbers have no type,
 * since a column of integers would round such a text. Texts are as the file had them; what a text
 * cannot hold there, NUL and bytes that are no UTF-8, is \xNN. It is made in memory, about 60 bytes
 * a row, of what is left of `budget`: MV_NOMEM when it would be more. */
mv_code mv_sqlite_write(const mv_budget *budget, const mv_export *export, mv_sink *sink,
                        mv_err *err);

#endif
