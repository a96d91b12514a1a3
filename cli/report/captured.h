/* What a captured file records about its process and about the capture's losses. `info` includes
 * this. */
#pragma once

#include "analyze/levels/heap_blocks.h"
#include "capture/wire_folded.h"
#include "cli/report/table.h"

/* Prints a line about a device without events and memory: "device 0: no events, no memory". In a
 * capture, the line also points to memory outside PyTorch's caching allocator. */
void mv_captured_put_idle(mv_out *out, const mv_trace *trace, uint32_t device);

/* Statistics about the calls to one library. */
typedef struct {
    mv_string_id library;
    uint32_t calls, failed;
    uint64_t bytes; /* bytes requested by calls that succeeded */
} mv_captured_library;

typedef struct {
    uint32_t count, failed;
    mv_captured_library *rows; /* [count] sorted by number of calls, largest first */
} mv_captured_libraries;

typedef struct {
    const mv_trace *trace;
    bool is_there;    /* the file is a capture; if not, all of these fields are absent from the
                       * report */
    uint64_t records; /* mv_recorded_count */
    mv_captured_libraries libraries;
    mv_heaps heaps; /* heaps of other allocators; empty if memory ran out */
} mv_captured;

mv_captured mv_captured_find(mv_arena *scratch, const mv_trace *trace);

/* Return the value of a fact; null if there is none, or if it is not a number. */
mv_value mv_captured_text(const mv_trace *trace, const char *key);
mv_value mv_captured_number(const mv_trace *trace, const char *key);

extern const mv_table mv_captured_loss_table, mv_captured_library_table, mv_captured_heap_table,
    mv_captured_fact_table;

/* The fields of a capture (`c` is an mv_captured *), as members of `object`. */
#define MV_CAPTURED_FIELDS(COLUMN, MEMBER, LIST, object, c)                           \
    MEMBER(object "command", (c)->is_there ? mv_captured_text((c)->trace, "command")  \
                                           : mv_value_of(MV_VALUE_NO_OBJECT))         \
    MEMBER(object "host", mv_captured_text((c)->trace, "host"))                       \
    MEMBER(object "stacks", mv_captured_text((c)->trace, "stacks"))                   \
    MEMBER(object "stacks_off", mv_captured_text((c)->trace, "stacks_off"))           \
    MEMBER(object "python", mv_captured_text((c)->trace, "python"))                   \
    MEMBER(object "stopped", mv_captured_text((c)->trace, "stopped"))                 \
    MEMBER(object "pid", mv_captured_number((c)->trace, "pid"))                       \
    MEMBER(object "parent", mv_captured_number((c)->trace, "parent"))                 \
    MEMBER(object "rank", mv_captured_number((c)->trace, "rank"))                     \
    MEMBER(object "local_rank", mv_captured_number((c)->trace, "local_rank"))         \
    MEMBER(object "world_size", mv_captured_number((c)->trace, "world_size"))         \
    MEMBER(object "cpu_device", mv_captured_number((c)->trace, "cpu_device"))         \
    MEMBER(object "ended", mv_value_bool(mv_fact_find((c)->trace, "end_us") != NULL)) \
    MEMBER(object "records", mv_value_u64((c)->records))                              \
    MEMBER(object "folded_events", mv_captured_number((c)->trace, MV_FACT_FOLDED))    \
    MEMBER(object "folded_bound", mv_captured_text((c)->trace, MV_FACT_FOLDED_BOUND)) \
    MEMBER(object "lost_events", mv_value_u64((c)->trace->notes[MV_NOTE_LOST].count)) \
    MEMBER(object "samples", mv_value_u64((c)->trace->samples.count))                 \
    LIST(object "lost", &mv_captured_loss_table, mv_value_rows(c))                    \
    LIST(object "libraries", &mv_captured_library_table, mv_value_rows(c))            \
    MEMBER(object "api_calls", mv_value_u64((c)->trace->api_calls.count))             \
    MEMBER(object "api_calls_failed", mv_value_u64((c)->libraries.failed))            \
    LIST(object "heaps", &mv_captured_heap_table, mv_value_rows(c))                   \
    LIST(object "facts", &mv_captured_fact_table, mv_value_rows(c))

/* Prints a label at the beginning of a line of `info`, padded to the column of the values. */
void mv_captured_label(mv_out *out, const char *label);
void mv_captured_print(mv_out *out, mv_arena *scratch, const mv_trace *trace);
