/* Bytes of an input: a file, standard input ("-") or memory; plain, gzip or zstd. Compression is
 * detected from the first bytes. It is transparent to readers: offsets count decompressed bytes.
 *
 * A source is a window that slides over the stream, so an input of any size takes only the window's
 * memory. Readers take bytes between `at` and `end` directly, and call mv_source_need when they
 * want more:
 *
 *      already taken        window                     not read yet
 *     ···················|─────────────────────────|··················
 *                        at                       end */
#ifndef MV_SOURCE_H
#define MV_SOURCE_H

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"

#define MV_SOURCE_WINDOW (256u << 10)

typedef struct mv_source_state mv_source_state;

typedef struct {
    const uint8_t *at;  /* next byte; the reader moves it */
    const uint8_t *end; /* end of the window */
    uint64_t passed;    /* offset of `end` in the stream */
    mv_source_state *state;
} mv_source;

/* Opens `path` ("-" is standard input) and checks its first bytes. Memory comes from `arena`; call
 * mv_source_close even after a failure (a zeroed source can be closed). */
mv_code mv_source_open(mv_arena *arena, const char *path, mv_source *source, mv_err *err);

/* Opens a regular file only, for paths that the user did not type: the folder's owner may replace a
 * file with a pipe at any moment, and a server or a list of files must not wait for a pipe. "-" is
 * a file with that name. Pipes, devices and sockets fail with MV_IO. */
mv_code mv_source_open_file(mv_arena *arena, const char *path, mv_source *source, mv_err *err);

/* For format detection: makes the stream end after this many stored bytes, because a few compressed
 * bytes can be followed by terabytes that decompress to nothing. */
void mv_source_limit(mv_source *source, uint64_t stored_bytes);

mv_code mv_source_over(mv_arena *arena, mv_span bytes, mv_source *source, mv_err *err);

/* Whether `path` is "-" or names a pipe, a device or the like: reading it may wait for another
 * program, and a rename must not replace it. */
bool mv_source_is_special(const char *path);

/* Stores up to `room` more bytes and returns their number; 0 at the end, or with *failure
 * filled. */
typedef uint64_t mv_source_fill_fn(void *user, uint8_t *to, uint64_t room, mv_err *failure);

/* Reads the bytes that `fill` supplies; `user` must live as long as the source. */
mv_code mv_source_from(mv_arena *arena, mv_source_fill_fn *fill, void *user, mv_source *source,
                       mv_err *err);
void mv_source_close(mv_source *source);

/* Makes at least `bytes` contiguous bytes available in the window. False if the stream ends before
 * that (there are fewer bytes then), reading fails or memory runs out; mv_source_fail reports the
 * reason. */
bool mv_source_need(mv_source *source, uint64_t bytes);

/* Reports why mv_source_need returned false: the read error, or MV_TRUNCATED with `what` as
 * detail. */
mv_code mv_source_fail(const mv_source *source, mv_err *err, const char *what);

/* All bytes from `at` on as one span, valid until close. A plain file is mapped, not copied: if it
 * shrinks while it is read, the lost bytes become zeros, so call mv_source_check at the end. */
mv_code mv_source_rest(mv_source *source, mv_span *out, mv_err *err);

/* The same, but only if it takes no memory: returns false if the source is compressed or cannot be
 * mapped. */
bool mv_source_map_rest(mv_source *source, mv_span *out);

/* Whether the source is an uncompressed file, which can be read at any position; *bytes is its
 * size. */
bool mv_source_is_file(const mv_source *source, uint64_t *bytes);

/* Copies bytes of such a file. False when they cannot be read. */
bool mv_source_read_at(const mv_source *source, uint64_t at, void *to, uint64_t bytes);

/* Fails if a mapped file is shorter than when it was opened: everything read from it, including
 * errors, is then invalid. */
mv_code mv_source_check(const mv_source *source, mv_err *err);

/* Reads the rest of the stream, which also checks the end of a compressed file. *left is the number
 * of bytes read, and *are_zero whether all were 0. */
mv_code mv_source_drain(mv_source *source, uint64_t *left, bool *are_zero, mv_err *err);

/* Offset of the next byte in the decompressed stream. */
static inline uint64_t mv_source_offset(const mv_source *source)
{
    return source->passed - (uint64_t)(source->end - source->at);
}

const char *mv_source_compression(const mv_source *source); /* "none", "gzip", "zstd" */
uint64_t mv_source_file_bytes(const mv_source *source);     /* UINT64_MAX on a pipe */
uint64_t mv_source_file_read(const mv_source *source);      /* stored bytes consumed so far */

#endif
