/* Converts a live file (capture/wire_live.h) to the model. mv_snapshot_read uses this for a `.bin`
 * whose capture is still running, or whose process was killed.
 *
 *     live_chunks   finds the readable chunks, and how much of each can be read
 *     live_names    converts ids to strings, frames and stacks; looks up lines and symbols
 *     live_events   returns the records of all threads, in the order of their numbers
 *     live_ranges   converts marks and ranges of threads
 *     live_heap     tracks what is alive: the allocator's segments, and the blocks in them
 *     live_facts    reads facts about the process and the recording
 *     live_rows     converts records to rows
 *
 * parse/live_readers.h reads a file again while it grows.
 *
 * docs/capture.md, "Reading", describes the conversion of each record. */
#pragma once

#include "parse/live/live_alive.h"
#include "parse/live/live_names.h"
#include "parse/readers.h"

/* A fact that the capture's file lacks, but that the process finalising the capture knows. */
typedef struct {
    const char *key, *value;
} mv_live_fact;

typedef struct {
    const mv_live_fact *facts; /* [fact_count] facts that replace facts of the file with the same
                                * key */
    uint32_t fact_count;
    bool looks_here; /* look for libraries here although the capture is from another machine */
} mv_live_opts;

/* Returns true if a `.bin` is a live file, judging by its first intact chunk header. */
bool mv_live_probe(mv_span file);

/* Fills `out`, except for its origin; temporary memory comes from the arena's budget. `opts` may be
 * NULL. Damage and losses become notes. Fails if memory or row numbers run out, or if no chunk can
 * be used. The file may grow during the call. */
mv_code mv_live_read(mv_arena *arena, mv_span file, const mv_live_opts *opts, mv_trace *out,
                     mv_err *err);

/* Records of a live file from which the live blocks can be reconstructed (live_alive.h). */
typedef struct {
    const mv_live_alive_row *rows; /* [count] records, in the order in which they happened */
    uint64_t count;
    uint32_t gpus; /* smallest number of accelerators that the trace must have */
    bool has_cpu;  /* the trace has a list of CPU tensors */
} mv_live_kept;

/* Fills `out` from the kept records. The trace shares strings, frames, stacks and facts with
 * `names` and its builder, so it is valid until more are added to them. */
mv_code mv_live_convert(mv_arena *arena, mv_live_names *names, const mv_live_kept *kept,
                        mv_trace *out, mv_err *err);

/* Returns the difference in microseconds between the model's clock and CLOCK_MONOTONIC when the
 * recording began; 0 if these facts are lost. */
int64_t mv_live_to_epoch_us(const mv_trace *trace);

/* For a bounded recording (docs/recorder.md): the times of the first and the last event that was
 * folded, on the model's clock; MV_NO_TIME if no event was folded. */
int64_t mv_live_folded_since_us(const mv_trace *trace);
int64_t mv_live_folded_until_us(const mv_trace *trace);
