#include "parse/live/live_chunks.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/grow.h"

enum { HEADERS = sizeof(mv_wire_chunk) + sizeof(mv_live_head) };

/* Number of committed bytes of a chunk at the first reading. */
typedef struct {
    uint64_t at, committed;
} seen;

typedef struct {
    mv_arena *arena;
    mv_span file;
    mv_build *build;
    mv_live_chunks *out;
    bool names; /* read only NAMES chunks, or else all other chunks */
    seen *seen; /* [seen_count] in file order */
    uint32_t seen_count, seen_capacity, next_seen;
} search;

bool mv_live_chunk_head(mv_span file, uint64_t at, mv_wire_chunk *head)
{
    if (at > file.length || file.length - at < sizeof *head)
        return false;
    memcpy(head, file.data + at, sizeof *head);
    return memcmp(head->magic, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES) == 0 &&
           head->hash == XXH3_64bits(head, offsetof(mv_wire_chunk, hash));
}

static void note_damage(search *s, uint64_t at, const char *what)
{
    if (s->out->damaged_at == MV_NO_OFFSET || at < s->out->damaged_at)
        s->out->damaged_at = at;
    mv_build_note(s->build, MV_NOTE_DAMAGED, "%s at byte %llu", what, (unsigned long long)at);
}

/* Loads a word that a running capture may be writing. */
static uint64_t load_word(const uint8_t *at)
{
    uint64_t value;

    if (((uintptr_t)at & 7) == 0)
        return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
    memcpy(&value, at, sizeof value);
    return value;
}

bool mv_live_is_blank(mv_span file, uint64_t at)
{
    uint64_t left = file.length - at, end = left < MV_LIVE_PROBE_BYTES ? left : MV_LIVE_PROBE_BYTES;

    for (uint64_t i = left > HEADERS ? HEADERS : 0; i < end; i++)
        if (file.data[at + i])
            return false;
    return true;
}

static bool add(search *s, const mv_live_chunk *chunk)
{
    return mv_append(s->arena, s->out->rows, s->out->count, s->out->capacity, *chunk);
}

mv_live_made mv_live_made_before(const mv_wire_chunk *head)
{
    return (mv_live_made){.strings = (uint32_t)head->first_row,
                          .codes = (uint32_t)(head->first_row >> 32),
                          .modules = head->device,
                          .frames = (uint32_t)head->table_rows,
                          .stacks = (uint32_t)(head->table_rows >> 32)};
}

static uint64_t load_committed(mv_span file, uint64_t body)
{
    return load_word(file.data + body + offsetof(mv_live_head, committed));
}

static uint64_t seen_before(search *s, uint64_t at)
{
    while (s->next_seen < s->seen_count && s->seen[s->next_seen].at < at)
        s->next_seen++;
    return s->next_seen < s->seen_count && s->seen[s->next_seen].at == at
               ? s->seen[s->next_seen].committed
               : 0;
}

/* Finds the records of the chunk whose header is at `at`. Returns false if their position and size
 * are not plausible. */
static bool open_records(search *s, const mv_wire_chunk *head, mv_live_chunk *chunk)
{
    uint64_t body = chunk->at + sizeof *head, room = s->file.length - body;
    uint64_t committed, seal;
    mv_live_head live;

    room = head->stored_bytes < room ? head->stored_bytes : room;
    if (room < sizeof live) {
        note_damage(s, chunk->at, "the file ends inside a chunk");
        return false;
    }
    seal = load_word(s->file.data + body + offsetof(mv_live_head, seal));
    committed = load_committed(s->file, body);
    memcpy(&live, s->file.data + body, sizeof live);
    room -= sizeof live;
    chunk->records = (mv_span){s->file.data + body + sizeof live, committed};
    if (committed > room) {
        note_damage(s, chunk->at, "records beyond the chunk or the file");
        chunk->records.length = room;
    } else if (seal && seal != XXH3_64bits(chunk->records.data, committed)) {
        note_damage(s, chunk->at, "chunk whose checksum does not match");
        return false;
    }
    chunk->is_sealed = seal != 0;
    chunk->seen = chunk->is_folded ? chunk->records.length : seen_before(s, chunk->at);
    chunk->thread = live.thread;
    chunk->first_sequence = live.first_sequence;
    chunk->first_time_us = live.first_time_us;
    return true;
}

/* Returns the position after the chunk at `at`, which may be cut, or after a slot without a
 * chunk. */
static uint64_t place_after(mv_span file, uint64_t at, const mv_wire_chunk *head)
{
    uint64_t left = file.length - at, bytes;

    if (!head)
        return at < MV_LIVE_CHUNK_BYTES ? MV_LIVE_CHUNK_BYTES : at + MV_LIVE_CHUNK_BYTES;
    bytes = head->stored_bytes < left ? head->stored_bytes : left;
    return mv_live_slot_after(at, sizeof *head + bytes);
}

/* Reads chunks for the first time. Only chunks of events are read. */
static bool look_first(search *s)
{
    mv_wire_chunk head;
    bool is_there;

    for (uint64_t at = sizeof(mv_wire_header); at < s->file.length;
         at = place_after(s->file, at, is_there ? &head : NULL)) {
        is_there = mv_live_chunk_head(s->file, at, &head);
        if (!is_there || head.kind != MV_LIVE_EVENTS ||
            s->file.length - at < sizeof head + sizeof(mv_live_head))
            continue;
        seen row = {at, load_committed(s->file, at + sizeof head)};
        if (!mv_append(s->arena, s->seen, s->seen_count, s->seen_capacity, row))
            return false;
    }
    return true;
}

/* Reads the chunk at a position, if one begins there. Returns the next position, or MV_NO_OFFSET
 * when out of memory. */
static uint64_t look_at(search *s, uint64_t at)
{
    mv_live_chunk chunk = {.at = at};
    mv_wire_chunk head;
    uint64_t step;

    if (!mv_live_chunk_head(s->file, at, &head)) {
        if (!s->names && !mv_live_is_blank(s->file, at))
            note_damage(s, at, "damaged bytes");
        return place_after(s->file, at, NULL);
    }
    step = place_after(s->file, at, &head);
    chunk.kind = head.kind;
    chunk.made = mv_live_made_before(&head);
    chunk.is_folded = head.kind == MV_LIVE_FOLDED;
    if (chunk.is_folded) {
        chunk.kind = MV_LIVE_EVENTS;
        s->out->through = head.first_row;
    }
    if (chunk.kind != MV_LIVE_FACTS && chunk.kind != MV_LIVE_EVENTS &&
        chunk.kind != MV_LIVE_NAMES) {
        if (!s->names)
            mv_build_note(s->build, MV_NOTE_UNKNOWN_KEY, "chunk kind %u at byte %llu", head.kind,
                          (unsigned long long)at);
        return step;
    }
    if ((head.kind == MV_LIVE_NAMES) != s->names)
        return step;
    return !open_records(s, &head, &chunk) || add(s, &chunk) ? step : MV_NO_OFFSET;
}

static bool scan(search *s)
{
    uint64_t at = sizeof(mv_wire_header);

    while (at < s->file.length)
        at = look_at(s, at);
    return at != MV_NO_OFFSET;
}

bool mv_live_chunks_find(mv_arena *arena, mv_span file, mv_build *b, mv_live_chunks *out)
{
    search s = {.arena = arena, .file = file, .build = b, .out = out};

    *out = (mv_live_chunks){.damaged_at = MV_NO_OFFSET};
    if (!look_first(&s) || !scan(&s))
        return false;
    s.names = true;
    return scan(&s);
}
