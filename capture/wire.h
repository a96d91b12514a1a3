/* The bytes of memviz's container, `.bin`, as C structs and constants.
 * docs/internals/snapshot-format.md describes the format. All programs share this header.
 *
 *     mv_wire_header
 *     chunk: mv_wire_chunk, stored bytes, zeros up to a multiple of 8
 *     ...
 *     chunk of kind INDEX
 *     mv_wire_footer
 *
 * Everything is little-endian, without padding, and starts at a multiple of 8 bytes. Hashes are
 * XXH3_64bits without a seed. */
#pragma once

#include <assert.h>
#include <stdint.h>

#define MV_WIRE_VERSION 1

/* The first byte cannot begin UTF-8 text, msgpack or a pickle; the line ends and the control-Z
 * reveal whether a file was transferred in text mode. */
#define MV_WIRE_MAGIC       "\xC1MVB\r\n\x1a\n"
#define MV_WIRE_END_MAGIC   "\xC1MVE\r\n\x1a\n"
#define MV_WIRE_CHUNK_MAGIC "\xC1MVc"

enum {
    MV_WIRE_MAGIC_BYTES = 8,
    MV_WIRE_CHUNK_MAGIC_BYTES = 4,
    MV_WIRE_ALIGN = 8,
    MV_WIRE_CHUNK_ROWS = 1 << 20, /* largest number of rows in a chunk */
    MV_WIRE_LIVE_KINDS = 256      /* kinds with this number or a higher one belong to live files */
};

typedef struct {
    uint8_t magic[MV_WIRE_MAGIC_BYTES];
    uint16_t version;  /* MV_WIRE_VERSION; readers refuse newer versions */
    uint16_t zero;     /* ignored */
    uint32_t features; /* feature bits, none of which is defined yet; readers refuse unknown bits */
    uint64_t hash;     /* hash of the 16 bytes before it */
} mv_wire_header;

static_assert(sizeof(mv_wire_header) == 24, "bump MV_WIRE_VERSION");

/* Kinds of chunks. All but TRACE, NOTES and INDEX contain rows of one table. */
#define MV_WIRE_KIND_LIST(X)              \
    X(TRACE, 1, "trace")                  \
    X(NOTES, 2, "notes")                  \
    X(INDEX, 3, "index")                  \
    X(DIGEST, 4, "digest")                \
    X(OPENING, 5, "opening")              \
    X(LIVING, 6, "living")                \
    X(STRINGS, 16, "strings")             \
    X(STRING_BYTES, 17, "string bytes")   \
    X(FRAMES, 18, "frames")               \
    X(FX, 19, "fx")                       \
    X(STACKS, 20, "stacks")               \
    X(STACK_FRAMES, 21, "stack frames")   \
    X(STREAMS, 22, "streams")             \
    X(POOLS, 23, "pools")                 \
    X(TAGS, 24, "tags")                   \
    X(EVENTS, 25, "events")               \
    X(HOST_EVENTS, 26, "host events")     \
    X(SEGMENTS, 27, "segments")           \
    X(HOST_SEGMENTS, 28, "host segments") \
    X(BLOCKS, 29, "blocks")               \
    X(HISTORY, 30, "history")             \
    X(ANNOTATIONS, 31, "annotations")     \
    X(SETTINGS, 32, "settings")           \
    X(API_CALLS, 33, "api calls")         \
    X(SAMPLES, 34, "samples")             \
    X(FACTS, 35, "facts")                 \
    X(HEAP_CALLS, 36, "heap calls")       \
    X(TENSORS, 37, "tensors")

typedef enum {
#define MV_WIRE_KIND_ENUM(name, number, text) MV_WIRE_##name = number,
    MV_WIRE_KIND_LIST(MV_WIRE_KIND_ENUM)
#undef MV_WIRE_KIND_ENUM
        MV_WIRE_KINDS /* one more than the largest kind */
} mv_wire_kind;

typedef enum { MV_WIRE_CODEC_NONE, MV_WIRE_CODEC_ZSTD, MV_WIRE_CODEC_COUNT } mv_wire_codec;

/* Flag: the stored bytes have no hash (`stored_hash` is 0), because the process that wrote them may
 * still be running or was killed. The kind of the chunk determines how many of the bytes are
 * valid. */
#define MV_WIRE_UNSEALED 1u

typedef struct {
    uint8_t magic[MV_WIRE_CHUNK_MAGIC_BYTES];
    uint16_t kind;         /* mv_wire_kind */
    uint8_t codec;         /* mv_wire_codec */
    uint8_t flags;         /* MV_WIRE_UNSEALED */
    uint32_t device;       /* EVENTS: the device's ordinal; else 0 */
    uint32_t count;        /* rows in this chunk, at most MV_WIRE_CHUNK_ROWS */
    uint64_t first_row;    /* number of the chunk's first row in its table */
    uint64_t table_rows;   /* number of rows in the whole table */
    uint64_t raw_bytes;    /* size of the payload after decompression */
    uint64_t stored_bytes; /* number of stored bytes after this header */
    uint64_t stored_hash;  /* hash of the stored bytes */
    uint64_t hash;         /* hash of the 56 bytes before it */
} mv_wire_chunk;

static_assert(sizeof(mv_wire_chunk) == 64, "bump MV_WIRE_VERSION");

/* How a column's stored numbers n become values. All arithmetic wraps. */
typedef enum {
    MV_WIRE_PLAIN, /* base + (n << shift); width 0: every value is `base` */
    MV_WIRE_DELTA, /* previous value + base + (n << shift); before the first value, `start` */
    MV_WIRE_CALLS, /* call numbers; `next` is the number of the next new call, at first `start`. n =
                    * 0: a new call; 1: no call; else next + unzigzag(n - 1). After a call that is
                    * not below `next`, `next` is set to this call + 1 */
    MV_WIRE_TRANSFORM_COUNT
} mv_wire_transform;

/* A table chunk begins with one mv_wire_column for each of its columns. The numbers follow, column
 * after column, and each column begins at a multiple of 8 bytes. */
typedef struct {
    uint16_t column;   /* the column's number in the table, from 1 */
    uint8_t width;     /* number of bytes of a stored number: 0, 1, 2, 4 or 8 */
    uint8_t transform; /* mv_wire_transform */
    uint8_t shift;
    uint8_t planes;  /* 1: the lowest bytes of all numbers come first, then their second bytes,
                      * ... */
    uint8_t columns; /* number of columns in this chunk; the same in each mv_wire_column */
    uint8_t zero;
    uint64_t base;
    uint64_t start;
} mv_wire_column;

static_assert(sizeof(mv_wire_column) == 24, "bump MV_WIRE_VERSION");

/* TRACE contains an mv_wire_trace, followed by `tables` structs mv_wire_table, one for each table
 * that has rows. */
typedef struct {
    uint32_t calls;
    uint32_t devices; /* number of event lists, including empty lists */
    uint32_t tables;
    uint32_t keys; /* set of mv_key (parse/model/trace.h); 0: unknown */
} mv_wire_trace;

typedef struct {
    uint32_t kind;
    uint32_t device;
    uint64_t rows;
} mv_wire_table;

static_assert(sizeof(mv_wire_trace) == 16 && sizeof(mv_wire_table) == 16, "bump MV_WIRE_VERSION");

/* DIGEST contains `count` structs mv_wire_digest, one for each device with events, sorted by
 * device. */
enum { MV_WIRE_DIGEST_ACTIONS = 16, MV_WIRE_DIGEST_WHY = 192 };

typedef struct {
    uint32_t rules; /* MV_DIGEST_RULES of parse/model/digest.h; digests with other rules are
                     * ignored */
    uint32_t device;
    uint64_t events;
    int64_t first_us, last_us;
    uint32_t stacks, events_with_stack;
    uint32_t unsorted, first_unsorted;
    uint32_t history; /* mv_history_kind of analyze/lives/lives.h */
    uint32_t ring;
    uint32_t count[MV_WIRE_DIGEST_ACTIONS]; /* by mv_action */
    uint64_t bytes[MV_WIRE_DIGEST_ACTIONS]; /* by mv_action */
    char why[MV_WIRE_DIGEST_WHY];           /* UTF-8, ends with a NUL */
} mv_wire_digest;

static_assert(sizeof(mv_wire_digest) == 440, "raise MV_DIGEST_RULES");

/* INDEX contains `count` structs mv_wire_index, one for each chunk before it, in file order. */
typedef struct {
    uint64_t at; /* position of the chunk's header in the file */
    mv_wire_chunk head;
} mv_wire_index;

static_assert(sizeof(mv_wire_index) == 72, "bump MV_WIRE_VERSION");

/* NOTES contains `count` structs mv_wire_note, each followed by the note's name and its text,
 * without NULs. */
typedef struct {
    uint64_t count;
    uint8_t name_bytes; /* length of the note's name, such as "unknown_key" */
    uint8_t text_bytes; /* length of the text that describes the first occurrence */
    uint8_t zero[6];
} mv_wire_note;

static_assert(sizeof(mv_wire_note) == 16, "bump MV_WIRE_VERSION");

typedef struct {
    uint8_t magic[MV_WIRE_MAGIC_BYTES];
    uint64_t index_at;   /* position of the INDEX chunk's header */
    uint64_t file_bytes; /* size of the whole file, including this footer */
    uint64_t hash;       /* hash of the 24 bytes before it */
} mv_wire_footer;

static_assert(sizeof(mv_wire_footer) == 32, "bump MV_WIRE_VERSION");
