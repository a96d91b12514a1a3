#include "parse/source/source.h"

#include "base/helper.h"
#include "parse/source/mapping.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

/* Number of padding bytes after the window. Readers may load a few bytes beyond its end without a
 * check. */
#define PAD           32
#define STORED_BUFFER (128u << 10)

/* Limit for holes, which are zeros that take no disk space but that every reader must spend time
 * on. memviz's own recordings have holes of at most 64 MiB, where space is reserved in advance. */
#define MOST_HOLES (1u << 30)

typedef enum { PLAIN, GZIP, ZSTD } compression;

/* Blocks are read while the window is an earlier block. The bytes that are left of that block are
 * copied in front of the new one:
 *
 *     |········ left|──────────────────────|·····|
 *          SPARE         block_bytes         PAD      */
enum { SPARE = 64 << 10, BLOCKS = MV_SOURCE_AHEAD };

static_assert((int)BLOCKS <= (int)MV_HELPER_JOBS,
              "one block is the window, and a job fills each other one");

typedef struct {
    mv_source_state *state;
    uint8_t *bytes;  /* [block_bytes + PAD], after SPARE bytes */
    uint64_t got;    /* number of bytes read; less than block_bytes if none follow */
    uint64_t taken;  /* number of stored bytes read so far */
    unsigned number; /* of this block */
} read_block;

typedef struct {
    mv_helper helper;
    mv_source_ahead how;
    read_block blocks[BLOCKS];
    uint64_t offset; /* of the next block to read, for the helper */
    unsigned window; /* the block that is the window */
    bool has_block;  /* a block is the window; until then, the ordinary window is, in place of
                      * blocks[0] */
    uint64_t taken;  /* blocks[window].taken */
    bool is_last; /* no bytes follow the window. Until then, only the helper uses the fields of the
                      * state from `taken` to `failure` */
} reading_ahead;

struct mv_source_state {
    mv_arena *arena;
    reading_ahead *ahead;    /* NULL: bytes are read when they are needed */
    int fd;                  /* descriptor of the input; -1: the input is in memory */
    mv_span memory;          /* the stored bytes, if `fd` is -1 */
    mv_source_fill_fn *fill; /* function that supplies the stored bytes in place of a file; NULL:
                              * none */
    void *user;
    uint64_t taken;  /* number of stored bytes read so far */
    uint64_t most;   /* largest number of stored bytes to read */
    uint64_t stored; /* size of the file; UINT64_MAX for a pipe */
    compression how;
    bool ended;     /* no bytes follow the window */
    bool fd_ended;  /* no stored bytes follow those in `buffer` */
    bool in_member; /* the position is inside a gzip member or a zstd frame */
    mv_err failure; /* the read error; its code is MV_OK if there is none */

    uint8_t *window; /* [window_bytes + PAD] the window and its padding */
    uint64_t window_bytes;
    uint8_t *buffer; /* buffer for the stored bytes of a compressed file */
    uint64_t buffer_at, buffer_end;
    mv_mapping mapped;

    z_stream gzip;
    bool gzip_open;
    ZSTD_DStream *zstd;
};

/* Returns true if reading was cancelled. This is also checked here so that a cancelled reader stops
 * even where it needs no memory, such as in a hole of terabytes. */
static bool is_given_up(mv_source_state *s)
{
    if (__atomic_load_n(&s->arena->budget->limit, __ATOMIC_RELAXED) != 0)
        return false;
    mv_fail(&s->failure, MV_NOMEM, s->taken, "%s", "input");
    return true;
}

/* Reads up to `room` stored bytes. Returns 0 at the end or after a failure. */
static uint64_t read_stored(mv_source_state *s, uint8_t *to, uint64_t room)
{
    uint64_t left = s->memory.length - s->taken;
    ssize_t got;

    if (s->taken >= s->most || is_given_up(s))
        return 0;
    if (room > s->most - s->taken)
        room = s->most - s->taken;
    if (s->fill) {
        left = s->fill(s->user, to, room, &s->failure);
        s->taken += left;
        return left;
    }
    if (s->fd < 0) {
        if (room > left)
            room = left;
        if (room > 0)
            memcpy(to, s->memory.data + s->taken, room);
        s->taken += room;
        return room;
    }
    do
        got = read(s->fd, to, room);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        mv_fail(&s->failure, MV_IO, s->taken, "%s", strerror(errno));
        return 0;
    }
    s->taken += (uint64_t)got;
    return (uint64_t)got;
}

static bool fill_buffer(mv_source_state *s)
{
    if (s->buffer_at < s->buffer_end)
        return true;
    s->buffer_at = 0;
    s->buffer_end = read_stored(s, s->buffer, STORED_BUFFER);
    return s->buffer_end > 0;
}

static uint64_t damaged(mv_source_state *s, uint64_t offset, const char *why)
{
    mv_fail(&s->failure, MV_DECOMPRESS, offset, "%s", why);
    return 0;
}

/* Decompresses gzip. As in zcat, members may follow one another, and bytes that do not begin a
 * member end the data. */
static uint64_t inflate_some(mv_source_state *s, uint8_t *to, uint64_t room, uint64_t offset)
{
    s->gzip.next_out = to;
    s->gzip.avail_out = (uInt)room;
    while (s->gzip.avail_out == room) {
        int status;
        if (!fill_buffer(s))
            return s->in_member ? damaged(s, offset, "gzip data ends early") : 0;
        if (!s->in_member && s->buffer[s->buffer_at] != 0x1f)
            return 0;
        s->in_member = true;
        s->gzip.next_in = s->buffer + s->buffer_at;
        s->gzip.avail_in = (uInt)(s->buffer_end - s->buffer_at);
        status = inflate(&s->gzip, Z_NO_FLUSH);
        s->buffer_at = s->buffer_end - s->gzip.avail_in;
        if (status == Z_STREAM_END) {
            s->in_member = false;
            inflateReset(&s->gzip);
        } else if (status != Z_OK && status != Z_BUF_ERROR) {
            return damaged(s, offset, s->gzip.msg ? s->gzip.msg : "gzip data is damaged");
        }
    }
    return room - s->gzip.avail_out;
}

static uint64_t unzstd_some(mv_source_state *s, uint8_t *to, uint64_t room, uint64_t offset)
{
    ZSTD_outBuffer out = {to, room, 0};

    while (out.pos == 0) {
        ZSTD_inBuffer in;
        size_t status;
        if (!fill_buffer(s))
            return s->in_member ? damaged(s, offset, "zstd data ends early") : 0;
        in = (ZSTD_inBuffer){s->buffer, s->buffer_end, s->buffer_at};
        status = ZSTD_decompressStream(s->zstd, &out, &in);
        s->buffer_at = in.pos;
        if (ZSTD_isError(status))
            return damaged(s, offset, ZSTD_getErrorName(status));
        s->in_member = status != 0;
    }
    return out.pos;
}

/* Reads up to `room` decompressed bytes. Returns 0 at the end or after a failure. */
static uint64_t read_some(mv_source_state *s, uint8_t *to, uint64_t room, uint64_t offset)
{
    if (room > (1u << 30))
        room = 1u << 30;
    if (s->failure.code != MV_OK)
        return 0;
    if (s->how == GZIP)
        return inflate_some(s, to, room, offset);
    if (s->how == ZSTD)
        return unzstd_some(s, to, room, offset);
    if (s->buffer_at < s->buffer_end) { /* these are the first bytes, which were read to detect the
                                         * format */
        uint64_t left = s->buffer_end - s->buffer_at;
        if (room > left)
            room = left;
        memcpy(to, s->buffer + s->buffer_at, room);
        s->buffer_at += room;
        return room;
    }
    return read_stored(s, to, room);
}

static bool grow_window(mv_source *source, uint64_t wanted)
{
    mv_source_state *s = source->state;
    uint64_t kept = (uint64_t)(source->end - source->at);
    uint8_t *window;

    if (wanted <= s->window_bytes)
        return true;
    window = mv_arena_grow(s->arena, s->window, wanted + PAD);
    if (!window) {
        mv_fail(&s->failure, MV_NOMEM, mv_source_offset(source), "%s", "input window");
        return false;
    }
    s->window = window;
    s->window_bytes = wanted;
    source->at = window;
    source->end = window + kept;
    return true;
}

/* ---- reading ahead ------------------------------------------------------------------------ */

static void fill_block(void *user)
{
    read_block *b = user;
    mv_source_state *s = b->state;
    reading_ahead *a = s->ahead;

    b->got = 0;
    a->how.work(a->how.user, b->number);
    while (b->got < a->how.block_bytes && !s->ended && s->failure.code == MV_OK) {
        uint64_t got = read_some(s, b->bytes + b->got, a->how.block_bytes - b->got, a->offset);
        b->got += got;
        a->offset += got;
        s->ended = got == 0;
    }
    b->taken = s->taken;
}

static void begin_block(reading_ahead *a, unsigned number)
{
    a->how.prepare(a->how.user, number);
    mv_helper_give(&a->helper, fill_block, &a->blocks[number]);
}

/* Returns true if memory is left for several files of this size, so that it cannot run out because of
 * the blocks. */
static bool has_room(const mv_source_state *s, uint64_t block_bytes)
{
    uint64_t limit = __atomic_load_n(&s->arena->budget->limit, __ATOMIC_RELAXED);
    uint64_t used = __atomic_load_n(&s->arena->budget->used, __ATOMIC_RELAXED);

    return used < limit && (limit - used) / 4 > s->stored + BLOCKS * block_bytes;
}

bool mv_source_read_ahead(mv_source *source, const mv_source_ahead *how)
{
    mv_source_state *s = source->state;
    reading_ahead *a;

    if (s->ahead || s->how != PLAIN || s->fill || s->stored == UINT64_MAX || s->mapped.data ||
        !has_room(s, (uint64_t)SPARE + how->block_bytes + PAD))
        return false;
    a = mv_push_struct(s->arena, reading_ahead);
    if (!a)
        return false;
    a->how = *how;
    a->offset = source->passed;
    a->taken = s->taken;
    for (unsigned i = 0; i < BLOCKS; i++) {
        uint8_t *at = mv_push_array(s->arena, uint8_t, (uint64_t)SPARE + how->block_bytes + PAD);
        if (!at)
            return false;
        a->blocks[i] = (read_block){.state = s, .bytes = at + SPARE, .number = i};
    }
    if (!mv_helper_start(&a->helper))
        return false;
    s->ahead = a;
    for (unsigned i = 1; i < BLOCKS; i++)
        begin_block(a, i);
    return true;
}

/* Waits until the state is no longer used by the helper. */
static void settle_ahead(reading_ahead *a)
{
    while (mv_helper_wait(&a->helper))
        ;
    a->is_last = true;
}

/* Makes the next block the window. The helper can then fill the previous window. */
static void take_block(mv_source *source, uint64_t left)
{
    reading_ahead *a = source->state->ahead;
    unsigned before = a->window;
    read_block *b = &a->blocks[(before + 1) % BLOCKS];

    mv_helper_wait(&a->helper);
    memcpy(b->bytes - left, source->at, left);
    memset(b->bytes + b->got, 0, PAD);
    source->at = b->bytes - left;
    source->end = b->bytes + b->got;
    source->passed += b->got;
    a->window = b->number;
    a->has_block = true;
    a->taken = b->taken;
    if (b->got < a->how.block_bytes)
        settle_ahead(a);
    else
        begin_block(a, before);
}

/* Stops reading ahead, and moves all bytes that were read to the ordinary window. Returns false when
 * out of memory. */
static bool leave_ahead(mv_source *source)
{
    mv_source_state *s = source->state;
    reading_ahead *a = s->ahead;
    const uint8_t *at = source->at;
    uint64_t left = (uint64_t)(source->end - at), bytes = left;

    mv_helper_stop(&a->helper);
    s->ahead = NULL;
    for (unsigned i = 1; i < BLOCKS && !a->is_last; i++)
        bytes += a->blocks[(a->window + i) % BLOCKS].got;
    if (!a->has_block) { /* the window may move when it grows */
        memmove(s->window, at, left);
        source->at = at = s->window;
        source->end = s->window + left;
    }
    if (!grow_window(source, bytes)) {
        source->at = source->end = s->window;
        return false;
    }
    if (a->has_block)
        memcpy(s->window, at, left);
    source->at = s->window;
    source->end = s->window + left;
    for (unsigned i = 1; i < BLOCKS && !a->is_last; i++) {
        const read_block *b = &a->blocks[(a->window + i) % BLOCKS];
        memcpy(s->window + (source->end - source->at), b->bytes, b->got);
        source->end += b->got;
        source->passed += b->got;
    }
    return true;
}

void mv_source_stop_ahead(mv_source *source)
{
    if (source->state->ahead)
        leave_ahead(source);
}

/* Makes at least `bytes` bytes available from blocks. *is_done stays false if they have to come from
 * the ordinary window. */
static bool need_ahead(mv_source *source, uint64_t bytes, bool *is_done)
{
    const reading_ahead *a = source->state->ahead;
    uint64_t left = (uint64_t)(source->end - source->at);

    while (left < bytes && left <= SPARE && bytes <= a->how.block_bytes && !a->is_last) {
        take_block(source, left);
        left = (uint64_t)(source->end - source->at);
    }
    *is_done = left >= bytes || a->is_last;
    return *is_done ? left >= bytes : leave_ahead(source);
}

bool mv_source_need(mv_source *source, uint64_t bytes)
{
    mv_source_state *s = source->state;
    uint64_t kept = (uint64_t)(source->end - source->at);
    bool is_done = kept >= bytes, has_bytes = true;

    if (!is_done && s->ahead)
        has_bytes = need_ahead(source, bytes, &is_done);
    if (is_done || !has_bytes)
        return has_bytes;
    kept = (uint64_t)(source->end - source->at);
    if (source->at != s->window) {
        memmove(s->window, source->at, kept);
        source->at = s->window;
        source->end = s->window + kept;
    }
    while (kept < bytes && !s->ended && s->failure.code == MV_OK) {
        uint64_t got;
        /* A length in the input cannot be trusted, so the window grows only as bytes arrive. */
        if (kept == s->window_bytes && !grow_window(source, s->window_bytes * 2))
            break;
        got = read_some(s, s->window + kept, s->window_bytes - kept, source->passed);
        s->ended = got == 0;
        kept += got;
        source->end += got;
        source->passed += got;
    }
    memset(s->window + kept, 0, PAD);
    return kept >= bytes;
}

/* Returns true if another thread may be using the state. */
static bool is_reading(const mv_source_state *s)
{
    return s->ahead && !s->ahead->is_last;
}

mv_code mv_source_fail(const mv_source *source, mv_err *err, const char *what)
{
    const mv_source_state *s = source->state;

    if (!is_reading(s) && s->failure.code != MV_OK) {
        *err = s->failure;
        return err->code;
    }
    return mv_fail(err, MV_TRUNCATED, source->passed, "%s", what);
}

/* Returns true if the bytes begin zstd data. pzstd files and zstd's seekable format begin with a
 * skippable frame, which contains the size of the next frame. */
static bool begins_zstd(const uint8_t *head)
{
    uint32_t magic = mv_load_u32(head);

    return magic == ZSTD_MAGICNUMBER ||
           (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

static mv_code start_decompressor(mv_source_state *s, mv_err *err)
{
    const uint8_t *head = s->buffer;
    uint64_t have = s->buffer_end;

    if (have >= 2 && head[0] == 0x1f && head[1] == 0x8b) {
        s->how = GZIP;
        if (inflateInit2(&s->gzip, 16 + MAX_WBITS) != Z_OK)
            return mv_fail(err, MV_NOMEM, 0, "%s", "gzip");
        s->gzip_open = true;
    } else if (have >= 4 && begins_zstd(head)) {
        s->how = ZSTD;
        s->zstd = ZSTD_createDStream();
        if (!s->zstd)
            return mv_fail(err, MV_NOMEM, 0, "%s", "zstd");
        /* zstd -19 --long=27 and --ultra files need windows of up to 128 MiB. */
        ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, 27);
    }
    return MV_OK;
}

static mv_code start(mv_arena *arena, mv_source *source, mv_source_state *s, mv_err *err)
{
    s->arena = arena;
    s->most = UINT64_MAX;
    source->state = s;
    s->buffer = mv_push_array(arena, uint8_t, STORED_BUFFER);
    s->window = mv_arena_grow(arena, NULL, MV_SOURCE_WINDOW + PAD);
    if (!s->buffer || !s->window)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "input window");
    s->window_bytes = MV_SOURCE_WINDOW;
    source->at = source->end = s->window;
    /* A pipe may deliver its first bytes one at a time. */
    while (s->buffer_end < 64) {
        uint64_t got = read_stored(s, s->buffer + s->buffer_end, STORED_BUFFER - s->buffer_end);
        if (got == 0)
            break;
        s->buffer_end += got;
    }
    if (s->failure.code != MV_OK) {
        *err = s->failure;
        return err->code;
    }
    return start_decompressor(s, err);
}

bool mv_source_is_special(const char *path)
{
    struct stat st;

    return strcmp(path, "-") == 0 ||
           (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

enum { NOT_REGULAR = -2 }; /* no descriptor, but errno does not have the reason */

/* Opens a file without waiting for a pipe's writer or for a device. */
static int open_regular(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        close(fd);
        return NOT_REGULAR;
    }
    return fd;
}

/* Opens a file. Waits for pipes, unless the path was a regular file just before. */
static int open_any(const char *path)
{
    struct stat st;

    if (strcmp(path, "-") == 0)
        return STDIN_FILENO;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        return open_regular(path);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Returns the number of bytes in holes, which are counted only until they exceed MOST_HOLES; 0 if
 * the file system cannot report holes. */
static uint64_t holes_of(int fd, off_t bytes)
{
    uint64_t holes = 0;
#ifdef SEEK_HOLE
    off_t here = lseek(fd, 0, SEEK_CUR), at = 0;

    while (here >= 0 && at < bytes && holes <= MOST_HOLES) {
        off_t hole = lseek(fd, at, SEEK_HOLE);
        if (hole < 0 || hole >= bytes)
            break;
        at = lseek(fd, hole, SEEK_DATA);
        if (at < 0)
            at = bytes;
        holes += (uint64_t)(at - hole);
    }
    if (here >= 0)
        lseek(fd, here, SEEK_SET);
#else
    (void)fd, (void)bytes;
#endif
    return holes;
}

static mv_code open_by(int (*opens)(const char *), mv_arena *arena, const char *path,
                       mv_source *source, mv_err *err)
{
    mv_source_state *s = mv_push_struct(arena, mv_source_state);
    struct stat st;

    *source = (mv_source){0};
    if (!s)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "input");
    s->fd = opens(path);
    if (s->fd < 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s%s",
                       s->fd == NOT_REGULAR ? "not a regular file" : strerror(errno),
                       strstr(path, "://") ? ": memviz reads files; download it first" : "");
    source->state = s;
    if (fstat(s->fd, &st) != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", strerror(errno));
    if (S_ISDIR(st.st_mode))
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", strerror(EISDIR));
    if (S_ISREG(st.st_mode) && holes_of(s->fd, st.st_size) > MOST_HOLES)
        return mv_fail(
            err, MV_IO, MV_NO_OFFSET,
            "more than 1 GiB of it was never written (holes): is a download or a copy of "
            "it unfinished?");
    s->stored = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : UINT64_MAX;
    return start(arena, source, s, err);
}

mv_code mv_source_open(mv_arena *arena, const char *path, mv_source *source, mv_err *err)
{
    return open_by(open_any, arena, path, source, err);
}

mv_code mv_source_open_file(mv_arena *arena, const char *path, mv_source *source, mv_err *err)
{
    return open_by(open_regular, arena, path, source, err);
}

void mv_source_limit(mv_source *source, uint64_t stored_bytes)
{
    source->state->most = stored_bytes;
}

mv_code mv_source_over(mv_arena *arena, mv_span bytes, mv_source *source, mv_err *err)
{
    mv_source_state *s = mv_push_struct(arena, mv_source_state);

    *source = (mv_source){0};
    if (!s)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "input");
    s->fd = -1;
    s->memory = bytes;
    s->stored = bytes.length;
    return start(arena, source, s, err);
}

mv_code mv_source_from(mv_arena *arena, mv_source_fill_fn *fill, void *user, mv_source *source,
                       mv_err *err)
{
    mv_source_state *s = mv_push_struct(arena, mv_source_state);

    *source = (mv_source){0};
    if (!s)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "input");
    s->fd = -1;
    s->fill = fill;
    s->user = user;
    s->stored = UINT64_MAX;
    return start(arena, source, s, err);
}

void mv_source_close(mv_source *source)
{
    mv_source_state *s = source->state;

    if (!s)
        return;
    if (s->ahead)
        mv_helper_stop(&s->ahead->helper);
    if (s->fd > STDIN_FILENO)
        close(s->fd);
    if (s->gzip_open)
        inflateEnd(&s->gzip);
    if (s->zstd)
        ZSTD_freeDStream(s->zstd);
    mv_mapping_close(&s->mapped);
    *source = (mv_source){0};
}

bool mv_source_map_rest(mv_source *source, mv_span *out)
{
    mv_source_state *s = source->state;
    uint64_t offset = mv_source_offset(source);
    off_t here;

    if (s->how != PLAIN || s->fill || s->ahead)
        return false;
    if (s->fd < 0) {
        *out = (mv_span){s->memory.data + offset, s->memory.length - offset};
        return true;
    }
    here = lseek(s->fd, 0, SEEK_CUR);
    if (s->stored == UINT64_MAX || s->stored == 0 || here < 0 || (uint64_t)here != s->taken)
        return false;
    if (s->mapped.data || !mv_mapping_open(s->fd, s->stored, &s->mapped))
        return false;
    *out = (mv_span){(const uint8_t *)s->mapped.data + offset, s->stored - offset};
    return true;
}

mv_code mv_source_rest(mv_source *source, mv_span *out, mv_err *err)
{
    if (mv_source_map_rest(source, out))
        return MV_OK;
    while (mv_source_need(source, (uint64_t)(source->end - source->at) + 1))
        ;
    if (source->state->failure.code != MV_OK)
        return mv_source_fail(source, err, "");
    *out = (mv_span){source->at, (uint64_t)(source->end - source->at)};
    return MV_OK;
}

bool mv_source_is_file(const mv_source *source, uint64_t *bytes)
{
    const mv_source_state *s = source->state;

    *bytes = s->stored;
    return s->how == PLAIN && !s->fill && s->fd >= 0 && s->stored != UINT64_MAX;
}

uint64_t mv_read_at(int fd, uint64_t at, void *to, uint64_t bytes)
{
    uint64_t done = 0;

    while (done < bytes) {
        ssize_t got = pread(fd, (char *)to + done, bytes - done, (off_t)(at + done));
        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        done += got > 0 ? (uint64_t)got : 0;
    }
    return done;
}

bool mv_source_read_at(const mv_source *source, uint64_t at, void *to, uint64_t bytes)
{
    return mv_read_at(source->state->fd, at, to, bytes) == bytes;
}

mv_code mv_source_drain(mv_source *source, uint64_t *left, bool *are_zero, mv_err *err)
{
    *left = 0;
    *are_zero = true;
    while (source->at < source->end || mv_source_need(source, 1)) {
        *left += (uint64_t)(source->end - source->at);
        for (; *are_zero && source->at < source->end; source->at++)
            *are_zero = *source->at == 0;
        source->at = source->end;
    }
    if (mv_source_fail(source, err, "") != MV_TRUNCATED)
        return err->code;
    *err = (mv_err){.offset = MV_NO_OFFSET};
    return MV_OK;
}

mv_code mv_source_check(const mv_source *source, mv_err *err)
{
    const mv_source_state *s = source->state;
    struct stat st;

    if (!s || !s->mapped.data)
        return MV_OK;
    if (fstat(s->fd, &st) == 0 && (uint64_t)st.st_size < s->stored)
        return mv_fail(err, MV_IO, (uint64_t)st.st_size, "the file shrank while it was read");
    if (mv_mapping_is_torn(&s->mapped))
        return mv_fail(err, MV_IO, MV_NO_OFFSET,
                       "the file shrank, or could not be read, while "
                       "it was read");
    return MV_OK;
}

const char *mv_source_compression(const mv_source *source)
{
    static const char *const names[] = {"none", "gzip", "zstd"};
    return names[source->state->how];
}

uint64_t mv_source_file_bytes(const mv_source *source)
{
    return source->state->stored;
}

uint64_t mv_source_file_read(const mv_source *source)
{
    const mv_source_state *s = source->state;

    return is_reading(s) ? s->ahead->taken : s->taken;
}
