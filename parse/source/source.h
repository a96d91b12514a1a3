/* Reads the bytes of an input: a file, standard input ("-") or memory, either plain or compressed
 * with gzip or zstd. Compression is detected from the first bytes, and is transparent to readers:
 * offsets count decompressed bytes.
 *
 * A source is a window that slides over the stream, so that an input of any size takes no more
 * memory than the window. Readers take bytes between `at` and `end` directly, and call
 * mv_source_need when they need more bytes:
 *
 *      already taken        window                     not read yet
 *     ···················|─────────────────────────|··················
 *                        at                       end */
#pragma once

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"

#define MV_SOURCE_WINDOW (256u << 10)

typedef struct mv_source_state mv_source_state;

typedef struct {
    const uint8_t *at;  /* the next byte; readers advance it */
    const uint8_t *end; /* end of the window */
    uint64_t passed;    /* offset of `end` in the stream */
    mv_source_state *state;
} mv_source;

/* Opens `path` ("-" is standard input) and checks its first bytes. Memory comes from `arena`. Call
 * mv_source_close even after a failure (a zeroed source can be closed too). */
mv_code mv_source_open(mv_arena *arena, const char *path, mv_source *source, mv_err *err);

/* Opens only regular files. Used for paths that the user did not type. The folder's owner may
 * replace a file with a pipe at any time, and a server or a list of files must not wait for a pipe.
 * Here, "-" is a file with that name. Pipes, devices and sockets fail with MV_IO. */
mv_code mv_source_open_file(mv_arena *arena, const char *path, mv_source *source, mv_err *err);

/* Makes the stream end after this many stored bytes. Used for detecting formats, because a few
 * compressed bytes can be followed by terabytes that decompress to nothing. */
void mv_source_limit(mv_source *source, uint64_t stored_bytes);

mv_code mv_source_over(mv_arena *arena, mv_span bytes, mv_source *source, mv_err *err);

/* Returns true if `path` is "-" or names a pipe, a device or something similar. In that case,
 * reading may wait for another program, and a rename must not replace the file. */
bool mv_source_is_special(const char *path);

/* Stores up to `room` more bytes and returns their number. Returns 0 at the end, and after a
 * failure, for which it fills *failure. */
typedef uint64_t mv_source_fill_fn(void *user, uint8_t *to, uint64_t room, mv_err *failure);

/* Opens a source of the bytes that `fill` supplies; `user` must stay valid until the source is
 * closed. */
mv_code mv_source_from(mv_arena *arena, mv_source_fill_fn *fill, void *user, mv_source *source,
                       mv_err *err);
void mv_source_close(mv_source *source);

/* Makes at least `bytes` contiguous bytes available in the window. Returns false if the stream ends
 * earlier (the window then contains fewer bytes), reading fails or memory runs out; mv_source_fail
 * reports the reason. */
bool mv_source_need(mv_source *source, uint64_t bytes);

/* Another thread reads the next MV_SOURCE_AHEAD blocks while the window is used. It calls `work`
 * before it reads a block, and mv_source_need calls `prepare` before that, on its own thread. */
enum { MV_SOURCE_AHEAD = 4 };

typedef struct {
    uint32_t block_bytes;
    void (*prepare)(void *user, unsigned number); /* `number` is less than MV_SOURCE_AHEAD */
    void (*work)(void *user, unsigned number);
    void *user;
} mv_source_ahead;

/* Reads ahead until mv_source_stop_ahead or mv_source_close, which changes nothing else. Returns
 * false if the source is a pipe or compressed (how much of damaged data is unpacked depends on the
 * window), or if there is no thread for it, or little memory. */
bool mv_source_read_ahead(mv_source *source, const mv_source_ahead *how);
void mv_source_stop_ahead(mv_source *source);

/* Reports why mv_source_need returned false: the read error, or MV_TRUNCATED with `what` as
 * detail. */
mv_code mv_source_fail(const mv_source *source, mv_err *err, const char *what);

/* Returns all bytes starting at `at` as one span, which is valid until the source is closed. A
 * plain file is mapped, not copied. If the file shrinks while it is read, the lost bytes become
 * zeros, so call mv_source_check at the end. */
mv_code mv_source_rest(mv_source *source, mv_span *out, mv_err *err);

/* Like mv_source_rest, but only if this takes no memory. Returns false if the source is compressed or
 * cannot be mapped. */
bool mv_source_map_rest(mv_source *source, mv_span *out);

/* Returns true if the source is an uncompressed file, which can be read at any position; *bytes is
 * its size. */
bool mv_source_is_file(const mv_source *source, uint64_t *bytes);

/* Reads bytes of an open file at a position, and fewer at its end or after a failure. Returns their
 * number. */
uint64_t mv_read_at(int fd, uint64_t at, void *to, uint64_t bytes);

/* Copies bytes of an uncompressed file. Returns false if they cannot be read. */
bool mv_source_read_at(const mv_source *source, uint64_t at, void *to, uint64_t bytes);

/* Fails if a mapped file has become shorter since it was opened, in which case everything read from
 * it, including errors, is invalid. */
mv_code mv_source_check(const mv_source *source, mv_err *err);

/* Reads the stream to its end, which also checks the end of a compressed file. *left is set to the
 * number of bytes read, and *are_zero to true if all of them were 0. */
mv_code mv_source_drain(mv_source *source, uint64_t *left, bool *are_zero, mv_err *err);

/* Returns the offset of the next byte in the decompressed stream. */
static inline uint64_t mv_source_offset(const mv_source *source)
{
    return source->passed - (uint64_t)(source->end - source->at);
}

const char *mv_source_compression(const mv_source *source); /* "none", "gzip", "zstd" */
uint64_t mv_source_file_bytes(const mv_source *source);     /* size of the file; UINT64_MAX for a
                                                             * pipe */
uint64_t mv_source_file_read(const mv_source *source);      /* number of stored bytes consumed so
                                                             * far */
