#include "parse/live/live_progress.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "parse/live/live_chunks.h"
#include "parse/live/varint.h"

typedef mv_live_headers headers;

static bool read_headers(int fd, uint64_t at, headers *out)
{
    return pread(fd, out, sizeof *out, (off_t)at) == (ssize_t)sizeof *out &&
           mv_live_headers_good(out);
}

static bool is_text(mv_span span, const char *text)
{
    return span.length == strlen(text) && memcmp(span.data, text, span.length) == 0;
}

/* Like mv_live_facts_have_end, but reads only the FACTS chunk. *hash is that of the facts. */
static bool have_end(int fd, const headers *facts, uint64_t *hash)
{
    uint8_t bytes[MV_LIVE_CHUNK_BYTES];
    uint64_t length = facts->live.committed < sizeof bytes ? facts->live.committed : sizeof bytes;
    ssize_t got = pread(fd, bytes, length, (off_t)(sizeof(mv_wire_header) + sizeof *facts));
    mv_cursor c = mv_cursor_over((mv_span){bytes, got > 0 ? (uint64_t)got : 0});
    bool has = false;

    *hash = XXH3_64bits(c.span.data, c.span.length);
    while (!has && !c.overrun && c.at < c.span.length) {
        mv_span key = mv_take_text(&c);
        mv_take_text(&c);
        has = !c.overrun && (is_text(key, "end_us") || is_text(key, "stopped"));
    }
    return has;
}

static uint64_t slot_after(uint64_t at, uint64_t bytes, uint64_t most)
{
    return mv_live_slot_after(at, bytes < most - at ? bytes : most - at);
}

/* Computes the mark of a file. Skips parts that were removed from a bounded recording
 * (docs/recorder.md). */
static uint64_t find_mark(int fd, const struct stat *st)
{
    uint64_t mark = mv_mix((uint64_t)st->st_dev, (uint64_t)st->st_ino);
    uint64_t end = (uint64_t)st->st_size;
    off_t data;
    headers h;

    for (uint64_t at = MV_LIVE_CHUNK_BYTES; at < end;) {
        if (read_headers(fd, at, &h)) {
            mark = mv_mix(mv_mix(mark, at), h.live.committed);
            at = slot_after(at, sizeof h.wire + h.wire.stored_bytes, end);
            continue;
        }
        data = lseek(fd, (off_t)(at + 1), SEEK_DATA);
        if (data < 0)
            break;
        at = slot_after((uint64_t)data - 1, 1, end);
    }
    return mark;
}

bool mv_live_progress_find(const char *path, mv_live_progress *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    headers facts;
    uint64_t hash;
    bool is_live;

    *out = (mv_live_progress){0};
    if (fd < 0)
        return false;
    is_live = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
              read_headers(fd, sizeof(mv_wire_header), &facts) && facts.wire.kind == MV_LIVE_FACTS;
    if (is_live) {
        out->has_ended = have_end(fd, &facts, &hash);
        out->mark = mv_mix(find_mark(fd, &st), hash);
    }
    close(fd);
    return is_live;
}
