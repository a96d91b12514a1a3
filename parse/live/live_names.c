#include "parse/live/live_names.h"

#include "base/grow.h"
#include "parse/live/varint.h"

/* Limit for frames of a stack in the model. It is higher than in the file because functions that
 * the compiler inlined become separate frames. */
enum { MOST_FRAMES = 4 * MV_LIVE_MOST_FRAMES };

/* ---- tables ------------------------------------------------------------------------------ */

/* Makes room for `count` rows; new rows are zero, which means "lost". */
#define MAKE_ROWS(n, table, count) mv_room_for((n)->arena, (n)->table, (count), (n)->room.table)

/* Appends a row to a table. */
#define ADD_ROW(n, table, row) \
    mv_append((n)->arena, (n)->table, (n)->made.table, (n)->room.table, (row))

static bool make_all(mv_live_names *n, const mv_live_made *made)
{
    return MAKE_ROWS(n, strings, made->strings) && MAKE_ROWS(n, codes, made->codes) &&
           MAKE_ROWS(n, modules, made->modules) && MAKE_ROWS(n, frames, made->frames) &&
           MAKE_ROWS(n, stacks, made->stacks);
}

void mv_live_names_damaged(mv_live_names *n, const char *what)
{
    mv_build_note(n->build, MV_NOTE_DAMAGED, "names: %s", what);
}

static uint32_t known(mv_live_names *n, uint64_t id, uint32_t count, const char *what)
{
    if (id < count)
        return (uint32_t)id;
    mv_live_names_damaged(n, what);
    return MV_NO_ROW;
}

/* ---- records ----------------------------------------------------------------------------- */

static bool read_string(mv_live_names *n, mv_cursor *c)
{
    mv_live_string row = {.text = mv_take_text(c)};

    return c->overrun || ADD_ROW(n, strings, row);
}

static bool read_code(mv_live_names *n, mv_cursor *c)
{
    uint64_t file = mv_take_varint(c), name = mv_take_varint(c);
    uint64_t line = mv_take_varint(c), version = mv_take_varint(c);
    mv_live_code row = {.table = mv_take_text(c)};

    if (c->overrun)
        return true;
    row.file = known(n, file, n->made.strings, "code in an unknown file");
    row.name = known(n, name, n->made.strings, "code of an unknown name");
    row.first_line = line <= INT32_MAX ? (int32_t)line : 0;
    row.version = version <= UINT16_MAX ? (uint32_t)version : 0;
    return ADD_ROW(n, codes, row);
}

static bool read_module(mv_live_names *n, mv_cursor *c)
{
    uint64_t path = mv_take_varint(c);
    mv_live_module row = {.build_id = mv_take_text(c)};

    row.bias = mv_take_varint(c);
    row.first = mv_take_varint(c);
    row.end = mv_take_varint(c);
    if (c->overrun)
        return true;
    row.path = known(n, path, n->made.strings, "module of an unknown path");
    return ADD_ROW(n, modules, row);
}

static bool read_frame(mv_live_names *n, mv_cursor *c, mv_live_name kind)
{
    mv_live_frame row = {.kind = (uint8_t)kind};
    uint64_t of = mv_take_varint(c);

    row.offset = kind == MV_LIVE_NAME_WORDS ? 0 : mv_take_varint(c);
    if (c->overrun)
        return true;
    if (kind == MV_LIVE_NAME_PYTHON)
        row.of = known(n, of, n->made.codes, "frame of unknown code");
    else if (kind == MV_LIVE_NAME_WORDS)
        row.of = known(n, of, n->made.strings, "frame of an unknown text");
    else
        row.of = of ? known(n, of - 1, n->made.modules, "frame in an unknown module") : MV_NO_ROW;
    return ADD_ROW(n, frames, row);
}

static bool read_stack(mv_live_names *n, mv_cursor *c)
{
    uint64_t caller = mv_take_varint(c), frame = mv_take_varint(c);
    mv_live_stack row = {.caller = MV_NO_ROW};

    if (c->overrun)
        return true;
    if (caller)
        row.caller = known(n, caller - 1, n->made.stacks, "stack of an unknown caller");
    row.frame = known(n, frame, n->made.frames, "stack of an unknown frame");
    return ADD_ROW(n, stacks, row);
}

/* Reads one record. Names of threads are skipped, because the model has no column for them. */
static bool read_record(mv_live_names *n, mv_cursor *c)
{
    uint8_t kind = mv_take_u8(c);

    switch (kind) {
    case MV_LIVE_NAME_STRING:
        return read_string(n, c);
    case MV_LIVE_NAME_CODE:
        return read_code(n, c);
    case MV_LIVE_NAME_MODULE:
        return read_module(n, c);
    case MV_LIVE_NAME_PYTHON:
    case MV_LIVE_NAME_NATIVE:
    case MV_LIVE_NAME_WORDS:
        return read_frame(n, c, (mv_live_name)kind);
    case MV_LIVE_NAME_STACK:
        return read_stack(n, c);
    case MV_LIVE_NAME_THREAD:
        mv_take_varint(c);
        mv_take_varint(c);
        return true;
    default:
        c->overrun = true;
        return true;
    }
}

/* ---- chunks ------------------------------------------------------------------------------ */

static bool is_stated(const mv_live_made *m)
{
    return (m->strings | m->codes | m->modules | m->frames | m->stacks) != 0;
}

static bool is_within(uint32_t number, uint32_t least, uint64_t most)
{
    return number >= least && number <= most;
}

/* Returns true if the counts in a chunk's header can follow the ids made so far. */
static bool can_follow(const mv_live_made *made, const mv_live_made *stated, uint64_t most)
{
    return is_within(stated->strings, made->strings, most) &&
           is_within(stated->codes, made->codes, most) &&
           is_within(stated->modules, made->modules, most) &&
           is_within(stated->frames, made->frames, most) &&
           is_within(stated->stacks, made->stacks, most);
}

/* Adds rows for a lost chunk. Their numbers are in use, although their content is unknown. */
static void lose_rows(mv_live_names *n, const mv_live_made *stated)
{
    for (; n->made.strings < stated->strings; n->made.strings++)
        n->strings[n->made.strings] = (mv_live_string){.text = {(const uint8_t *)"", 0}};
    for (; n->made.codes < stated->codes; n->made.codes++)
        n->codes[n->made.codes] = (mv_live_code){.file = MV_NO_ROW, .name = MV_NO_ROW};
    for (; n->made.modules < stated->modules; n->made.modules++)
        n->modules[n->made.modules] = (mv_live_module){.path = MV_NO_ROW};
    for (; n->made.frames < stated->frames; n->made.frames++)
        n->frames[n->made.frames] = (mv_live_frame){.of = MV_NO_ROW};
    for (; n->made.stacks < stated->stacks; n->made.stacks++)
        n->stacks[n->made.stacks] = (mv_live_stack){.caller = MV_NO_ROW, .frame = MV_NO_ROW};
}

/* Raises the counts to the ones in the chunk's header. Sets *usable to false if the ids of the
 * chunk's records cannot be determined. */
static bool catch_up(mv_live_names *n, const mv_live_chunk *chunk, bool damaged, uint64_t most,
                     bool *usable)
{
    const mv_live_made *stated = &chunk->made;

    *usable =
        is_stated(stated) ? can_follow(&n->made, stated, most) : !damaged || !is_stated(&n->made);
    if (!*usable) {
        mv_build_note(n->build, MV_NOTE_DAMAGED, "names at byte %llu: their numbers are lost",
                      (unsigned long long)chunk->at);
        return true;
    }
    if (!is_stated(stated))
        return true;
    if (!make_all(n, stated))
        return false;
    lose_rows(n, stated);
    return true;
}

bool mv_live_names_add(mv_live_names *n, const mv_live_chunk *chunk, uint64_t from, uint64_t most)
{
    mv_cursor c = {.span = chunk->records, .at = from};
    bool usable = true;

    if (from == 0 && !catch_up(n, chunk, n->is_damaged, most, &usable))
        return false;
    while (usable && c.at < c.span.length && !c.overrun) {
        uint64_t at = c.at;
        if (!read_record(n, &c))
            return false;
        if (!c.overrun)
            continue;
        n->is_damaged = true;
        mv_build_note(
            n->build, MV_NOTE_DAMAGED, "name at byte %llu",
            (unsigned long long)(chunk->at + sizeof(mv_wire_chunk) + sizeof(mv_live_head) + at));
    }
    return true;
}

void mv_live_names_init(mv_arena *arena, mv_build *b, mv_live_names *out)
{
    *out = (mv_live_names){.arena = arena, .build = b};
}

bool mv_live_names_read(mv_arena *arena, const mv_live_chunks *chunks, uint64_t most, mv_build *b,
                        mv_live_names *out)
{
    mv_live_names_init(arena, b, out);
    for (uint32_t i = 0; i < chunks->count; i++) {
        const mv_live_chunk *chunk = &chunks->rows[i];
        if (chunk->kind != MV_LIVE_NAMES)
            continue;
        out->is_damaged = out->is_damaged || chunks->damaged_at < chunk->at;
        if (!mv_live_names_add(out, chunk, 0, most))
            return false;
    }
    return true;
}

/* ---- ids --------------------------------------------------------------------------------- */

mv_span mv_live_names_text(const mv_live_names *n, uint64_t id_and_1)
{
    if (id_and_1 == 0 || id_and_1 > n->made.strings)
        return (mv_span){(const uint8_t *)"", 0};
    return n->strings[id_and_1 - 1].text;
}

mv_string_id mv_live_names_string(mv_live_names *n, uint64_t id_and_1)
{
    mv_live_string *s;

    if (id_and_1 == 0)
        return MV_NO_STRING;
    if (id_and_1 > n->made.strings) {
        mv_live_names_damaged(n, "unknown text");
        return MV_NO_STRING;
    }
    s = &n->strings[id_and_1 - 1];
    if (s->string == 0)
        s->string = mv_build_string(n->build, (const char *)s->text.data, s->text.length).row + 1;
    return (mv_string_id){s->string - 1};
}

mv_stack_id mv_live_names_stack(mv_live_names *n, uint64_t id_and_1)
{
    mv_frame_id frames[MOST_FRAMES];
    uint32_t count = 0, depth = 0, id;

    if (id_and_1 == 0)
        return MV_NO_STACK;
    if (id_and_1 > n->made.stacks) {
        mv_live_names_damaged(n, "unknown stack");
        return MV_NO_STACK;
    }
    id = (uint32_t)id_and_1 - 1;
    if (n->stacks[id].stack)
        return (mv_stack_id){n->stacks[id].stack - 1};
    for (uint32_t at = id; at != MV_NO_ROW && depth++ < MV_LIVE_MOST_FRAMES;
         at = n->stacks[at].caller) {
        const mv_live_frame *f =
            n->stacks[at].frame == MV_NO_ROW ? NULL : &n->frames[n->stacks[at].frame];
        for (uint32_t k = 0; f && k < f->count && count < MOST_FRAMES; k++)
            frames[count++] = n->resolved[f->first + k];
    }
    n->stacks[id].stack = mv_build_stack(n->build, frames, count).row + 1;
    return (mv_stack_id){n->stacks[id].stack - 1};
}
