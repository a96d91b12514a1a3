/* Decodes the records of one EVENTS chunk of a live file, one after another. */
#pragma once

#include "parse/live/live_chunks.h"

typedef struct {
    uint8_t kind;      /* mv_live_event, other than DEVICE and THREAD */
    uint8_t action;    /* CALL: mv_api_action, HEAP: mv_heap_action, COUNT: mv_live_count; 0:
                        * unknown */
    uint32_t thread;   /* the kernel's thread id */
    uint64_t sequence; /* number of the event; TOTALS: number of the previous record */
    uint64_t time_us;  /* CLOCK_MONOTONIC */
    uint64_t addr, size;
    uint64_t allocated, reserved; /* TOTALS, OOM: the framework's totals */
    uint64_t number;              /* CALL: handle; BEGIN, END: number of the range */
    uint64_t text;                /* string id + 1, 0: none. CALL: name of the API, HEAP: name of
                                   * the heap, marks: text */
    uint64_t library;             /* CALL, HEAP: string id + 1 of the calling library's path */
    uint64_t stack;               /* id + 1 */
    int64_t device_type;          /* c10::DeviceType; BLOCK, FREE, OOM, TOTALS: that of the record;
                                   * CALL: that of the thread's last record of these kinds */
    int64_t device;               /* CALL, HEAP: as recorded; others: from the last DEVICE record */
    int64_t current;              /* CALL: current device according to the last DEVICE record; -1:
                                   * none */
    int64_t result;               /* CALL */
} mv_live_record;

/* State for decoding a chunk: its next record, and the values to which later records are
 * relative. */
typedef struct {
    uint64_t at; /* position of the chunk in the file */
    mv_cursor c;
    mv_live_record next;
    uint64_t recent[MV_LIVE_RECENT];
    uint32_t recent_count; /* number of addresses that were written in full so far */
    uint64_t last;         /* the address that was last written in full */
    int64_t device_type, device;
    uint32_t thread; /* the chunk's thread, or the thread that the last THREAD record names */
} mv_live_stream;

mv_live_stream mv_live_stream_begin(const mv_live_chunk *chunk);

/* Decodes the next record other than DEVICE and THREAD into s->next. Returns false at the end of
 * the chunk or at damage. Damage is noted unless `b` is NULL. Only whole records are committed, so
 * a stream whose cursor did not overrun can continue when its span grows. */
bool mv_live_stream_next(mv_live_stream *s, mv_build *b);
