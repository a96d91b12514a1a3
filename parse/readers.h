/* Converts bytes of any format to a trace. The first bytes of the file determine the format; its
 * name never does. To add a format, write read_NAME.c and add a row to the table in readers.c. */
#pragma once

#include "parse/error_text/error_text.h"
#include "parse/live_readers.h"
#include "parse/model/trace.h"
#include "parse/source/source.h"

/* Called every few megabytes with the stored bytes read so far and in total (0: unknown). */
typedef void mv_progress_fn(void *user, uint64_t done, uint64_t total);

/* The events that a caller wants: [first, end) of one device, or of all devices if `device` is
 * MV_NO_ROW. If times are given, `first` is the first event at or after `from_us`, and `end` is the
 * first event at or after `to_us`, which is read too. If missing or unsorted times make it
 * uncertain which events these are, all events are read. */
typedef struct {
    uint32_t device;
    uint64_t first, end;
    int64_t from_us, to_us; /* times that limit the part; 0: `first` and `end` are event numbers */
    bool has_living; /* the part will be analyzed like a whole trace, so the blocks alive before it
                      * and all events from the one before `first` to the end are read too
                      * (mv_trace.living) */
} mv_read_part;

typedef struct {
    mv_progress_fn *progress; /* NULL: none */
    void *user;
    bool foreign_symbols; /* the live file was recorded on a different machine, but libraries are
                           * looked up on this one */
    /* Receives the error messages found in a file that has an unknown format but may be text; they
     * are allocated in `error_arena`, and reading still fails. NULL: the file is not searched for
     * errors. */
    mv_error_texts *errors;
    mv_arena *error_arena;
    bool digest_suffices;     /* the caller needs no events: if the file has digests
                               * (mv_trace.digests), its events are not read, and damage in them is
                               * not detected */
    bool needs_failures;      /* despite digest_suffices, events are read if a request may have
                               * failed. The file then has an out-of-memory error, a release or a
                               * recorded call */
    const mv_read_part *part; /* the part to read: if the container has digests, events outside the
                               * part are left out (mv_trace.versions). NULL: all events are read */
    mv_live_readers *readers; /* keep what they decode of live files, so that reading a file again
                               * decodes only what is new (live_readers.h). The arena must be empty.
                               * NULL: nothing is kept */
    bool files_only; /* only regular files are read; pipes and devices are refused, so that memviz
                      * never waits for them (mv_source_open_file) */
} mv_read_opts;

/* `path` may be MV_SAMPLE_NAME (parse/sample.h). Fills `out` with columns allocated in `arena`;
 * temporary memory comes from the same budget. `opts` may be NULL. On failure `out` is meaningless,
 * and `err->offset` is a byte of the decompressed input. */
mv_code mv_trace_read(mv_arena *arena, const char *path, const mv_read_opts *opts, mv_trace *out,
                      mv_err *err);

/* Converts a bounded recording (docs/recorder.md), a live file with holes and its folded part, to
 * the bytes of one live file.
 *
 * mv_live_folded_open opens the folded part of the live file at `path`; -1 if there is none.
 * mv_live_bounded_bytes takes two open files and does not close them; *out is allocated in `arena`,
 * and is at most as long as the two files without their holes. Fails when out of memory, or if
 * `folded` is not a folded part. */
int mv_live_folded_open(const char *path);
mv_code mv_live_bounded_bytes(mv_arena *arena, int live, int folded, mv_span *out, mv_err *err);

/* Reads a bounded recording (docs/recorder.md): a live file and its folded part, both open.
 * mv_trace_read does this for the path of a live file with a folded part next to it. */
mv_code mv_trace_read_bounded(mv_arena *arena, int live, int folded, const mv_read_opts *opts,
                              mv_trace *out, mv_err *err);

/* Reads from memory. */
mv_code mv_trace_read_bytes(mv_arena *arena, mv_span bytes, mv_trace *out, mv_err *err);

typedef struct {
    const char *name;
    /* Returns whether a stream that begins with `head`, up to 64 bytes, may have this format. */
    bool (*probe)(mv_span head);
    mv_code (*read)(mv_arena *arena, mv_source *source, const mv_read_opts *opts, mv_trace *out,
                    mv_err *err);
} mv_reader;

extern const mv_reader mv_readers[]; /* ends with a NULL name */

/* For readers: adds a note that the data ends at byte `end` but `bytes` more bytes follow, which
 * begin with `rest`. If these bytes are another snapshot, the note adds that only the first
 * snapshot was read. */
void mv_rest_note(mv_trace *trace, mv_span rest, uint64_t bytes, uint64_t end);

/* Reads the source to its end, and adds a note if bytes were left; up to `fill` NUL bytes are
 * ignored. */
mv_code mv_rest_drain(mv_source *source, mv_trace *trace, uint64_t fill, mv_err *err);

/* The first bytes of a viewer session file of any version. Sessions are not traces;
 * view/state/session.h reads them. */
#define MV_SESSION_BEGINS "memviz session "

/* The pickled number with which torch.save began its files before PyTorch 1.6. */
#define MV_OLD_TORCH_SAVE "\x80\2\x8a\x0a\x6c\xfc\x9c\x46"

bool mv_pickle_probe(mv_span head);
mv_code mv_pickle_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts, mv_trace *out,
                       mv_err *err);
/* Returns true if a stream that begins with `head` is a pickle of protocol 0 or 1, which memviz
 * does not read. */
bool mv_pickle_is_old(mv_span head);
bool mv_msgpack_probe(mv_span head);
mv_code mv_msgpack_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts, mv_trace *out,
                        mv_err *err);
bool mv_snapshot_probe(mv_span head);
mv_code mv_snapshot_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts,
                         mv_trace *out, mv_err *err);

/* An HTML page written by torch.cuda._memory_viz, with a pickle embedded in it. */
bool mv_page_probe(mv_span head);
mv_code mv_page_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts, mv_trace *out,
                     mv_err *err);

/* A JSON trace written by torch.profiler (docs/kineto.md). */
bool mv_kineto_probe(mv_span head);
mv_code mv_kineto_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts, mv_trace *out,
                       mv_err *err);

/* Files of other tools (docs/other-files.md): RMM's log, XLA's profile, JAX's memory profile. */
bool mv_rmm_probe(mv_span head);
mv_code mv_rmm_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts, mv_trace *out,
                    mv_err *err);
bool mv_xspace_probe(mv_span head);
mv_code mv_xspace_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts, mv_trace *out,
                       mv_err *err);
bool mv_pprof_probe(mv_span head);
mv_code mv_pprof_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts, mv_trace *out,
                      mv_err *err);
