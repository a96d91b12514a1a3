/* The slow and obvious reader of live files, which shares no code with those in parse/: what
 * capture/wire_live.h says, spelled out. It stops at the first thing that is wrong. */
#ifndef MV_LIVE_DECODE_H
#define MV_LIVE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/wire_live.h"

typedef struct {
    char *key, *value;
} live_fact;

/* One NAMES record; fields as capture/wire_live.h names them. */
typedef struct {
    mv_live_name kind;
    uint64_t number[5]; /* the record's numbers in order */
    const char *text;   /* STRING: not NUL-terminated; CODE: the table; MODULE: the build id */
    uint64_t text_bytes;
} live_name;

typedef struct {
    live_name *rows;
    size_t count;
} live_names;

/* One EVENTS record but for DEVICE and THREAD, which become fields of those that follow. */
typedef struct {
    mv_live_event kind;
    uint32_t thread;
    uint64_t sequence, time_us;
    int64_t device_type, device;
    uint64_t addr, size, stack; /* stack: id + 1 */
    uint64_t allocated, reserved;
    uint64_t action, handle, api, library; /* CALL */
    int64_t result;
    uint64_t number, text;  /* marks */
    size_t chunk_at, order; /* where its chunk is; its place in the file */
} live_event;

typedef struct {
    char fault[256]; /* what is wrong; "": nothing */
    uint8_t *bytes;
    size_t byte_count;
    live_fact *facts;
    size_t fact_count;
    live_names names[MV_LIVE_NAME_THREAD + 1]; /* [kind]; ids are rows. FRAMES are in [PYTHON] */
    live_event *events;                        /* in the order of their numbers */
    size_t event_count;
    size_t event_bytes, name_bytes; /* of records */
    size_t event_chunks, name_chunks, sealed_chunks;
} live_decoded;

/* Everything in the file, checked: ids name rows, sealed chunks have their hash, numbers occur
 * once, times do not go back on a thread. A file without a whole header is empty. */
void live_decode(const char *path, live_decoded *out);
void live_decode_drop(live_decoded *decoded);

/* The last value of a key; NULL: none. */
const char *live_decode_fact(const live_decoded *decoded, const char *key);

/* The stack `id + 1` as "inner;...;outer" in text of at most `size` bytes with the NUL. Python
 * frames are NAME:OFFSET, native ones module+OFFSET. */
void live_decode_stack(const live_decoded *decoded, uint64_t stack, char *text, size_t size);

#endif
