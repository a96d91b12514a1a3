/* Reads the container, in steps that share one state:
 *
 *     mv_chunks_find      finds the chunks, from the index or by scanning the file
 *     (read_snapshot.c)   finds the tables in these chunks; allocates memory for every column
 *     mv_rows_decode      decodes chunks into the columns, on several threads
 *     mv_rows_repair      only for damaged files: makes lost values "unknown"
 *     (read_snapshot.c)   performs final checks; stores the columns in the trace
 *
 * Offsets in the file are offsets in the (decompressed) input. */
#pragma once

#include <zstd.h>

#include "parse/container/wire_column.h"
#include "parse/container/wire_living.h"
#include "parse/model/build.h"
#include "parse/model/digest.h"
#include "parse/model/tables.h"
#include "parse/readers.h"

typedef struct {
    mv_wire_chunk head;
    uint64_t at;          /* position of the chunk's header in the file */
    uint64_t begin;       /* in tables of range ends: beginning of the first row's range */
    uint32_t table;       /* row of mv_load.tables */
    mv_code lost;         /* reason why the chunk's rows are lost; MV_OK: not lost */
    uint16_t bad_column;  /* number of a column with a value out of range; 0: none */
    uint16_t new_columns; /* number of columns that this version does not know */
} mv_chunk;

typedef struct {
    const mv_model_table *layout;
    uint32_t device;
    uint32_t chunk_count;
    mv_chunk *chunks;                /* sorted by first row, without overlaps; includes lost
                                      * chunks */
    uint64_t declared_rows;          /* rows of the whole table, according to the file */
    uint64_t rows;                   /* number of rows up to the end of the last chunk found */
    void *columns[MV_TABLE_COLUMNS]; /* [rows + 1] values of each column; is_end columns have [rows
                                      * + 2], of which the first is 0 */
    uint8_t *lost;                   /* [rows] 1 for each lost row, else 0; NULL if the file is
                                      * undamaged */
} mv_load_table;

/* Event numbers [first, end) of a device. */
typedef struct {
    uint64_t first, end;
} mv_part_rows;

/* A decompressor, and buffers for one chunk's decompressed bytes and, if the file is not in memory,
 * its stored bytes. */
typedef struct {
    uint8_t *stored, *raw;
    ZSTD_DCtx *zstd;
} mv_chunk_room;

/* The payload of a chunk. Writers compress every column of a chunk as a separate zstd frame, so that
 * readers can leave out columns. A payload with more frames than this counts as one frame. */
enum { MV_PAYLOAD_FRAMES = 1 + MV_TABLE_COLUMNS };
typedef struct {
    const uint8_t *bytes; /* valid where mv_payload_need has returned true */
    const uint8_t *stored;
    mv_chunk_room room;
    uint32_t count; /* number of frames; 0: the payload is
                                                               * not compressed */
    uint64_t end[MV_PAYLOAD_FRAMES],
        raw_end[MV_PAYLOAD_FRAMES];  /* [count] ends of the frames in the
                                                               * stored and decompressed bytes */
    bool is_open[MV_PAYLOAD_FRAMES]; /* the frame is decompressed */
} mv_payload;

typedef struct {
    mv_span file; /* contents of the whole file; no data: the file is read piece by piece from
                   * `source` */
    const mv_source *source;
    mv_arena *arena;  /* owns the columns */
    mv_arena scratch; /* arena for everything else, with the same budget */
    mv_build build;   /* builds the result; used by mv_build_note */
    bool damaged;     /* some of the file's contents are missing */

    mv_chunk *chunks; /* chunks in order of discovery, until they are sorted by table */
    uint32_t chunk_count;
    uint32_t chunk_capacity;

    mv_load_table *tables; /* sorted by kind, then device */
    uint32_t table_count;
    mv_load_table *by_kind[MV_WIRE_KINDS]; /* [kind] table of each kind except EVENTS */

    const uint8_t *stored_digests; /* [stored_digest_count] structs mv_wire_digest, unaligned */
    uint32_t stored_digest_count;
    mv_chunk *openings; /* [opening_count] OPENING and LIVING chunks, in file order */
    uint32_t opening_count, opening_capacity;
    const mv_read_part *part; /* part of the file to read; NULL: the whole file */
    mv_part_rows *rows;       /* [totals.devices] event rows of the part; NULL if there is no
                               * part */
    mv_living *living;        /* [totals.devices] position of the part in the device's events; NULL
                               * if there is no part */
    mv_living_columns *alive; /* [totals.devices] the live rows before the part */
    bool needs_whole;   /* events of the part are damaged, so the whole file must be read to find
                         * out which ones; or an opening is missing */
    mv_digest *digests; /* [totals.devices] digest of each device; events are then not decoded and
                         * have no columns, unless `living` is set. NULL: events are decoded */

    void **absent; /* [columns of EVENTS] columns of absent values, which replace the columns of
                    * EVENTS that are not needed; NULL for the others. NULL: all are needed */

    bool has_totals; /* the TRACE chunk was intact */
    mv_wire_trace totals;
    mv_wire_table *total_rows;      /* [totals.tables] */
    uint32_t limits[MV_REF_COUNT];  /* number of rows in the table to which each kind of reference
                                     * refers */
    uint64_t unknown[MV_REF_COUNT]; /* 1 + the row for all unknown references; 0: not created yet */
} mv_load;

/* Fills load->chunks. Damage becomes notes. Fails with MV_NOMEM only. */
mv_code mv_chunks_find(mv_load *load, mv_err *err);

/* Copies bytes of the file. Returns false if they cannot be read. */
bool mv_load_copy(const mv_load *load, uint64_t at, void *to, uint64_t bytes);

/* Checks a chunk's checksum. Nothing is decompressed yet. */
mv_code mv_chunk_open(const mv_load *load, const mv_wire_chunk *head, uint64_t at,
                      mv_chunk_room room, mv_payload *payload);

/* Decompresses the bytes [from, end) of a payload, and bytes around them. Returns false if they are
 * damaged. */
bool mv_payload_need(mv_payload *payload, uint64_t from, uint64_t end);

/* Returns true if the lengths in the header are possible. Decompression never writes beyond these
 * lengths. */
bool mv_chunk_lengths_good(const mv_wire_chunk *head);

/* Makes room for one chunk, in load->scratch. The decompressor must be freed, even after a
 * failure. */
bool mv_chunk_room_make(mv_load *load, const mv_wire_chunk *head, mv_chunk_room *room);

/* Opens and decompresses a whole chunk, in load->scratch. */
mv_code mv_chunk_open_alone(mv_load *load, const mv_wire_chunk *head, uint64_t at,
                            const uint8_t **payload);

/* Returns true if a chunk's rows are left out. */
static inline bool mv_load_leaves(const mv_load *load, const mv_wire_chunk *head)
{
    return load->digests && head->kind == MV_WIRE_EVENTS && (!load->living || head->count == 0);
}

/* Returns the chunk of a table that begins at row `first`; t->chunk_count if there is none. */
uint32_t mv_load_chunk_at(const mv_load_table *t, uint64_t first);

/* Prepares for reading load->part. Sets load->rows and load->living, and removes the events that are
 * left out from load->tables. Drops load->digests if all events have to be read. Must be called
 * after all tables have been given their chunks, and all tables except EVENTS their limits. Fails
 * with MV_NOMEM only. */
mv_code mv_part_find(mv_load *load, mv_err *err);

/* Makes the versions of a part without live rows, after its events were decoded. Fails with MV_NOMEM,
 * or with load->needs_whole set if the openings contradict the events. */
mv_code mv_part_number(mv_load *load, mv_trace *out, mv_err *err);

/* Returns true if lifetimes can be built from a part's events, which requires that all events are
 * in the file, in order, and that no other table refers to event numbers. */
bool mv_part_allows_living(const mv_load *load);

/* Decodes the times of a chunk of events, in load->scratch. Fails if the chunk is damaged
 * (MV_CORRUPT), or if memory runs out (MV_NOMEM). */
mv_code mv_part_times(mv_load *load, const mv_chunk *chunk, const int64_t **times);

/* Decodes a LIVING chunk into rows and `out`, in load->arena. Failures other than MV_NOMEM mean
 * that the chunk is unusable. */
mv_code mv_living_read(mv_load *load, const mv_chunk *from, mv_living_columns *rows,
                       mv_living *out);

/* Copies load->alive to the first rows of the EVENTS tables, which have space for them. */
void mv_part_begin(mv_load *load);

/* Sets load->digests if the file has an intact digest of each device with events. Fails with
 * MV_NOMEM only. */
mv_code mv_digests_take(mv_load *load, mv_err *err);

/* Returns true if, according to the digests, a request may have failed
 * (mv_read_opts.needs_failures). Must be called after mv_digests_take. */
bool mv_digests_may_show_failures(const mv_load *load);

/* Decodes every chunk of load->tables. Fails with MV_NOMEM only. */
mv_code mv_rows_decode(mv_load *load, mv_err *err);

/* Decodes one chunk into a table outside load->tables. Fails with MV_NOMEM, MV_CORRUPT or
 * MV_RANGE. */
mv_code mv_rows_decode_chunk(mv_load *load, const mv_load_table *t, mv_chunk *chunk);

/* Reads a file into `out`, whose origin is set. */
mv_code mv_load_all(mv_load *load, const mv_read_opts *opts, mv_trace *out, mv_err *err);

/* Allocates a table's columns in load->arena, and stores their addresses in the trace. */
mv_code mv_load_make_room(mv_load *load, mv_load_table *t, mv_err *err);
void mv_load_publish(const mv_load_table *t, mv_trace *out);

/* Drops or blanks lost rows and makes every reference to them "unknown". Fails with
 * MV_NOMEM only. */
mv_code mv_rows_repair(mv_load *load, mv_err *err);

/* Returns the table of a kind other than EVENTS. The table always exists, but may have no rows. */
static inline mv_load_table *mv_load_find(const mv_load *load, uint16_t kind)
{
    return load->by_kind[kind];
}

/* Returns the column of absent values that replaces a column of a table; NULL if the column is
 * needed. */
static inline void *mv_load_absent(const mv_load *load, const mv_model_table *layout,
                                   uint32_t column)
{
    return load->absent && layout->kind == MV_WIRE_EVENTS ? load->absent[column] : NULL;
}

/* Returns the address of the value of `row` in a column. Rows and columns are counted from 0. */
static inline uint8_t *mv_load_value(const mv_load_table *t, uint32_t column, uint64_t row)
{
    const mv_table_column *c = &t->layout->columns[column];

    return (uint8_t *)t->columns[column] + (row + c->is_end) * c->size;
}
