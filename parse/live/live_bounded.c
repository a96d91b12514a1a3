#include "parse/readers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "parse/live/live_chunks.h"

enum { HEADERS = sizeof(mv_wire_chunk) + sizeof(mv_live_head) };

typedef struct {
    mv_arena *arena;
    int live;
    uint64_t live_bytes;
    uint8_t *bytes; /* [count] */
    uint64_t count, capacity;
} image;

int mv_live_folded_open(const char *path)
{
    char folded[PATH_MAX + sizeof MV_FOLDED_SUFFIX];
    size_t length = strlen(path);

    if (length < 5 || strcmp(path + length - 5, ".live") != 0 || length >= PATH_MAX)
        return -1;
    snprintf(folded, sizeof folded, "%s%s", path, MV_FOLDED_SUFFIX);
    return open(folded, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* Appends bytes of a file, and zeros for bytes beyond its end. Returns false when out of memory. */
static bool append(image *i, int fd, uint64_t at, uint64_t length)
{
    uint64_t done;

    if (!mv_room_for(i->arena, i->bytes, i->count + length, i->capacity))
        return false;
    done = mv_read_at(fd, at, i->bytes + i->count, length);
    memset(i->bytes + i->count + done, 0, length - done);
    i->count += length;
    return true;
}

/* Reads the header of the chunk at `at`. Returns the number of bytes in the chunk's slots; 0 if
 * there is no chunk. */
static uint64_t chunk_at(int fd, uint64_t at, uint64_t file_bytes, mv_wire_chunk *head)
{
    uint8_t bytes[sizeof *head];
    uint64_t left = file_bytes - at, length;

    if (at >= file_bytes || pread(fd, bytes, sizeof bytes, (off_t)at) != sizeof bytes ||
        !mv_live_chunk_head((mv_span){bytes, sizeof bytes}, 0, head))
        return 0;
    length = head->stored_bytes < left ? head->stored_bytes : left;
    return mv_live_slot_after(0, length + sizeof *head);
}

/* Appends a chunk that may still be growing. The seal is read before the count, because the count
 * is final once the chunk is sealed. */
static bool append_chunk(image *i, uint64_t at, uint64_t bytes)
{
    uint64_t seal = 0, head = i->count + sizeof(mv_wire_chunk) + offsetof(mv_live_head, seal);
    off_t seal_at = (off_t)(at + sizeof(mv_wire_chunk) + offsetof(mv_live_head, seal));

    if (pread(i->live, &seal, sizeof seal, seal_at) != sizeof seal)
        return true;
    if (!append(i, i->live, at, bytes))
        return false;
    memcpy(i->bytes + head, &seal, sizeof seal);
    return true;
}

/* Appends the chunks of one kind at `places`, and all chunks of this kind at or after `start`. */
static bool append_kind(image *i, uint16_t kind, const uint64_t *places, uint64_t count,
                        uint64_t start)
{
    mv_wire_chunk head;
    uint64_t bytes;

    for (uint64_t k = 0; k < count; k++) {
        bytes = chunk_at(i->live, places[k], i->live_bytes, &head);
        if (bytes && head.kind == kind && !append_chunk(i, places[k], bytes))
            return false;
    }
    for (uint64_t at = start; at < i->live_bytes; at += bytes) {
        bytes = chunk_at(i->live, at, i->live_bytes, &head);
        if (bytes && head.kind == kind && !append_chunk(i, at, bytes))
            return false;
        bytes = bytes ? bytes : MV_LIVE_CHUNK_BYTES;
    }
    return true;
}

/* Reads the contents of a PLACES chunk. Returns NULL when out of memory. */
static uint64_t *read_places(mv_arena *arena, int folded, uint64_t at, uint64_t bytes,
                             uint64_t *count)
{
    mv_live_head head;
    uint64_t *places;
    ssize_t got;

    *count = 0;
    if (bytes &&
        pread(folded, &head, sizeof head, (off_t)(at + sizeof(mv_wire_chunk))) == sizeof head)
        *count = (head.committed < bytes - HEADERS ? head.committed : bytes - HEADERS) / 8;
    places = mv_push_array(arena, uint64_t, *count + 1);
    if (places && *count) {
        got = pread(folded, places, *count * 8, (off_t)(at + HEADERS));
        *count = got > 0 ? (uint64_t)got / 8 : 0;
    }
    return places;
}

mv_code mv_live_bounded_bytes(mv_arena *arena, int live, int folded, mv_span *out, mv_err *err)
{
    image i = {.arena = arena, .live = live};
    uint64_t at = 2 * MV_LIVE_CHUNK_BYTES, bytes, places_bytes, count, *places;
    mv_wire_chunk head = {0}, next = {0};
    struct stat a, b;

    if (fstat(live, &a) != 0 || fstat(folded, &b) != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", strerror(errno));
    i.live_bytes = (uint64_t)a.st_size;
    bytes = chunk_at(folded, at, (uint64_t)b.st_size, &head);
    if (!bytes || head.kind != MV_LIVE_FOLDED)
        return mv_fail(err, MV_CORRUPT, at, "%s", "the folded part is damaged");
    places_bytes = chunk_at(folded, at + bytes, (uint64_t)b.st_size, &next);
    places = read_places(arena, folded, at + bytes, next.kind == MV_LIVE_PLACES ? places_bytes : 0,
                         &count);
    /* Names are committed before the records that use them, so names are read last. */
    if (!places || !append(&i, live, 0, MV_LIVE_CHUNK_BYTES) ||
        !append(&i, folded, MV_LIVE_CHUNK_BYTES, MV_LIVE_CHUNK_BYTES + bytes) ||
        !append_kind(&i, MV_LIVE_EVENTS, places, count, head.table_rows) ||
        !append_kind(&i, MV_LIVE_NAMES, places, count, head.table_rows))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "a bounded recording");
    *out = (mv_span){i.bytes, i.count};
    return MV_OK;
}
