/* Damaged containers: the contents of all intact chunks are read, and a note always reports the
 * damage. */
#include "tests/fixture/fixture_container.h"

typedef struct {
    mv_budget budget;
    mv_arena arena;
    mv_trace trace;
    mv_code code;
    mv_err err;
} outcome;

static void end_outcome(void *what)
{
    outcome *o = what;

    mv_arena_release(&o->arena);
    cr_assert_eq(o->budget.used, 0);
    free(o);
}

/* Reads a copy of exactly the right size with a small budget. The outcome lasts until the test ends,
 * or until mvt_end_now. */
static outcome *try_reading(mv_span bytes)
{
    uint8_t *copy = malloc(bytes.length + (bytes.length == 0));
    outcome *o = calloc(1, sizeof *o);

    cr_assert(copy && o);
    mvt_at_end(end_outcome, o);
    memcpy(copy, bytes.data, bytes.length);
    o->budget.limit = 64 << 20;
    mv_arena_init(&o->arena, &o->budget);
    o->code = mv_trace_read_bytes(&o->arena, (mv_span){copy, bytes.length}, &o->trace, &o->err);
    if (o->code == MV_OK)
        cr_assert_null(mvt_unsound(&o->trace), "%s", mvt_unsound(&o->trace));
    else
        cr_assert(o->err.offset == MV_NO_OFFSET || o->err.offset <= bytes.length);
    free(copy);
    return o;
}

/* Reads a file that is damaged but not beyond use. */
static outcome *read_damaged(mv_span bytes)
{
    outcome *o = try_reading(bytes);

    cr_assert_eq(o->code, MV_OK, "%s", o->err.detail);
    return o;
}

static uint64_t damage(const mv_trace *trace)
{
    return trace->notes[MV_NOTE_DAMAGED].count;
}

static mv_span everything(mv_trace *trace)
{
    *trace = mvt_full_trace(mvt_memory());
    return mvt_snapshot_of(mvt_memory(), trace);
}

/* Returns the first difference between two traces, ignoring their notes, or NULL. */
static const char *difference_in_rows(const mv_trace *a, const mv_trace *b)
{
    mv_trace same_notes = *b;

    memcpy(same_notes.notes, a->notes, sizeof a->notes);
    return mvt_difference(a, &same_notes);
}

LongTest(snapshot_damage, a_file_cut_anywhere_is_reported)
{
    mv_trace trace;
    mv_span bytes = everything(&trace);
    unsigned read = 0;

    for (uint64_t length = 0; length < bytes.length; length++) {
        outcome *o = try_reading((mv_span){bytes.data, length});
        cr_assert(o->code != MV_OK || damage(&o->trace) > 0, "cut to %llu bytes",
                  (unsigned long long)length);
        read += o->code == MV_OK;
        mvt_end_now(o);
    }
    cr_assert_gt(read, bytes.length / 2);
}

LongTest(snapshot_damage, a_byte_changed_anywhere_is_harmless_or_reported)
{
    const uint8_t changes[] = {0x01, 0xff};
    mv_trace trace;
    mv_span bytes = everything(&trace);
    uint8_t *copy = (uint8_t *)mv_arena_text(mvt_memory(), (const char *)bytes.data, bytes.length);
    unsigned read = 0;

    for (uint64_t i = 0; i < bytes.length; i++) {
        for (size_t k = 0; k < sizeof changes; k++) {
            copy[i] ^= changes[k];
            outcome *o = try_reading((mv_span){copy, bytes.length});
            cr_assert(o->code != MV_OK || damage(&o->trace) > 0 ||
                          !mvt_difference(&trace, &o->trace),
                      "byte %llu", (unsigned long long)i);
            read += o->code == MV_OK;
            mvt_end_now(o);
            copy[i] ^= changes[k];
        }
    }
    /* Only damage to the eight bytes of the magic can make the file unreadable. */
    cr_assert_geq(read, (bytes.length - 8) * sizeof changes);
}

/* Any contents with correct checksums must be refused or be sound. */
LongTest(snapshot_damage, wrong_numbers_under_right_checksums_are_refused_or_sound)
{
    const uint8_t changes[] = {0x01, 0xff};
    mv_trace trace;
    mvt_container *c = mvt_take_apart(mvt_memory(), everything(&trace));
    unsigned refused = 0;

    for (uint32_t i = 0; i < c->count; i++) {
        mvt_chunk *chunk = &c->chunks[i];
        for (uint64_t at = 0; at < chunk->head.stored_bytes * sizeof changes; at++) {
            mv_arena_mark here = mv_arena_here(mvt_memory());
            chunk->stored[at / sizeof changes] ^= changes[at % sizeof changes];
            outcome *o = try_reading(
                mvt_assemble(mvt_memory(), c, at % 2 ? MVT_WITH_INDEX : MVT_WITHOUT_INDEX));
            refused += o->code != MV_OK;
            mvt_end_now(o);
            chunk->stored[at / sizeof changes] ^= changes[at % sizeof changes];
            mv_arena_rewind(mvt_memory(), here);
        }
    }
    cr_assert_gt(refused, 100);
}

Test(snapshot_damage, wrong_headers_under_right_checksums_are_refused_or_sound)
{
    mv_trace trace;
    mvt_container *c = mvt_take_apart(mvt_memory(), everything(&trace));

    for (uint32_t i = 0; i < c->count; i++) {
        mv_wire_chunk whole = c->chunks[i].head;
        for (uint64_t at = 4; at < offsetof(mv_wire_chunk, stored_bytes); at++) {
            mv_arena_mark here = mv_arena_here(mvt_memory());
            ((uint8_t *)&c->chunks[i].head)[at] ^= 0x81;
            outcome *o = try_reading(mvt_assemble(mvt_memory(), c, MVT_WITH_INDEX));
            mvt_end_now(o);
            c->chunks[i].head = whole;
            mv_arena_rewind(mvt_memory(), here);
        }
    }
}

/* ---- lost chunks ------------------------------------------------------------------------- */

/* The tables whose rows or references may change if a chunk of `kind` is lost. */
static bool may_change(uint16_t lost, const mv_model_table *table)
{
    if (table->kind == lost)
        return true;
    if (lost == MV_WIRE_STRING_BYTES || lost == MV_WIRE_STACK_FRAMES)
        lost--; /* tables that own rows of other tables: strings, stacks */
    if (table->kind == lost || (table->kind == lost + 1 && lost == MV_WIRE_STRINGS) ||
        (table->kind == lost + 1 && lost == MV_WIRE_STACKS))
        return true;
    if (mv_table_child(table).kind == lost)
        return true;
    if (table->kind == MV_WIRE_API_CALLS && lost == MV_WIRE_EVENTS) /* positions among the rows */
        return true;
    if (table->kind == MV_WIRE_FX && lost == MV_WIRE_FRAMES) /* rows that no frame refers to */
        return true;
    for (uint32_t i = 0; i < table->column_count; i++)
        if (mv_ref_kind((mv_row_ref)table->columns[i].ref) == lost)
            return true;
    return false;
}

static bool same_rows(const mv_trace *a, const mv_trace *b, const mv_model_table *table)
{
    uint64_t rows = mv_table_rows(a, table, 0);

    if (rows != mv_table_rows(b, table, 0))
        return false;
    for (uint32_t i = 0; i < table->column_count && rows; i++)
        if (memcmp(mvt_table_values(a, table, 0, &table->columns[i]),
                   mvt_table_values(b, table, 0, &table->columns[i]),
                   rows * table->columns[i].size) != 0)
            return false;
    return true;
}

static void lose_chunk(const mv_trace *trace, mvt_container *c, uint32_t lost, mvt_ending ending)
{
    mvt_chunk chunk = c->chunks[lost];

    mvt_remove_chunk(c, &c->chunks[lost]);
    outcome *o = read_damaged(mvt_assemble(mvt_memory(), c, ending));
    cr_assert(chunk.head.kind == MV_WIRE_NOTES || damage(&o->trace) > 0);
    for (const mv_model_table *table = mv_tables; table->kind; table++)
        cr_assert(may_change(chunk.head.kind, table) || same_rows(trace, &o->trace, table),
                  "without %s: %s", mv_wire_kind_name(chunk.head.kind),
                  mv_wire_kind_name(table->kind));
    mvt_end_now(o);
    memmove(&c->chunks[lost + 1], &c->chunks[lost], (c->count++ - lost) * sizeof chunk);
    c->chunks[lost] = chunk;
}

Test(snapshot_damage, a_lost_chunk_costs_only_its_own_rows)
{
    mv_trace trace;
    mvt_container *c = mvt_take_apart(mvt_memory(), everything(&trace));

    for (uint32_t i = 0; i < c->count; i++) {
        lose_chunk(&trace, c, i, MVT_WITH_INDEX);
        lose_chunk(&trace, c, i, MVT_WITHOUT_INDEX);
    }
}

/* Reads the file without one kind of chunk; if `blind` is set, without the totals as well. */
static outcome *read_without(mv_trace *trace, uint16_t kind, bool blind)
{
    mvt_container *c = mvt_take_apart(mvt_memory(), everything(trace));

    mvt_remove_chunk(c, mvt_chunk_of(c, kind));
    if (blind)
        mvt_remove_chunk(c, mvt_chunk_of(c, MV_WIRE_TRACE));
    outcome *o = read_damaged(mvt_assemble(mvt_memory(), c, MVT_WITHOUT_INDEX));
    cr_assert_gt(damage(&o->trace), 0);
    return o;
}

Test(snapshot_damage, lost_strings_are_absent)
{
    const uint16_t kinds[] = {MV_WIRE_STRINGS, MV_WIRE_STRING_BYTES};

    for (int k = 0; k < 4; k++) {
        mv_trace trace;
        outcome *o = read_without(&trace, kinds[k % 2], k > 1);
        cr_assert_eq(o->trace.frames.count, trace.frames.count);
        for (uint32_t i = 0; i < o->trace.frames.count; i++) {
            cr_assert_eq(o->trace.frames.function[i].row, MV_NO_ROW);
            cr_assert_eq(o->trace.frames.line[i], trace.frames.line[i]);
            cr_assert_eq(o->trace.frames.fx[i], MV_NO_ROW);
        }
        cr_assert_gt(trace.fx.count, 0);
        cr_assert_eq(o->trace.fx.count, 0);
        cr_assert_gt(trace.settings.count, 0);
        cr_assert_eq(o->trace.settings.count, 0);
        mvt_end_now(o);
    }
}

/* The settings that remain if a setting's name or text is lost. */
static void lose_setting(uint32_t row, bool is_its_text)
{
    mv_trace trace = mvt_full_trace(mvt_memory());
    mv_settings *s = &trace.settings;

    *(is_its_text ? &s->text[row] : &s->key[row]) = MV_NO_STRING;
    outcome *o = read_damaged(mvt_snapshot_of(mvt_memory(), &trace));
    cr_assert_gt(damage(&o->trace), 0);
    cr_assert_eq(o->trace.settings.count, s->count - 1);
    for (uint32_t i = 0; i < s->count; i++)
        if (i != row)
            cr_expect_eq(o->trace.settings.key[i - (i > row)].row, s->key[i].row);
}

Test(snapshot_damage, a_lost_setting_leaves_the_others)
{
    mv_trace trace = mvt_full_trace(mvt_memory());

    cr_assert_gt(trace.settings.count, 1);
    for (uint32_t i = 0; i < trace.settings.count; i++) {
        lose_setting(i, false);
        if (trace.settings.kind[i] == MV_SETTING_TEXT)
            lose_setting(i, true);
    }
}

Test(snapshot_damage, lost_stacks_are_unknown)
{
    const uint16_t kinds[] = {MV_WIRE_STACKS, MV_WIRE_STACK_FRAMES};

    for (int k = 0; k < 4; k++) {
        mv_trace trace;
        outcome *o = read_without(&trace, kinds[k % 2], k > 1);
        const mv_events *was = &trace.devices[0].events;
        const mv_events *is = &o->trace.devices[0].events;
        cr_assert_eq(is->count, was->count);
        for (uint32_t i = 0; i < is->count; i++) {
            bool known = was->stack[i].row == MV_EMPTY_STACK.row;
            cr_assert_eq(is->stack[i].row, known ? 0 : MV_NO_ROW, "event %u", i);
            cr_assert_eq(is->addr[i], was->addr[i]);
        }
        mvt_end_now(o);
    }
}

Test(snapshot_damage, lost_streams_and_frames_are_one_unknown_row)
{
    mv_trace trace;

    outcome *o = read_without(&trace, MV_WIRE_STREAMS, true);
    cr_assert_eq(o->trace.streams.count, 1);
    cr_assert_eq(o->trace.streams.value[0], MV_NO_BYTES);
    o = read_without(&trace, MV_WIRE_FRAMES, true);
    cr_assert_eq(o->trace.frames.count, 1);
    cr_assert_eq(o->trace.frames.function[0].row, MV_NO_ROW);
    cr_assert_eq(o->trace.frames.line[0], MV_NO_LINE);
}

Test(snapshot_damage, lost_tags_and_pools_are_plain_and_unknown)
{
    mv_trace trace;

    outcome *o = read_without(&trace, MV_WIRE_TAGS, true);
    for (uint32_t i = 0; i < o->trace.devices[0].events.count; i++)
        cr_assert_eq(o->trace.devices[0].events.tag[i].row, 0);
    o = read_without(&trace, MV_WIRE_POOLS, true);
    cr_assert_eq(o->trace.segments.pool[0].row, MV_NO_ROW);
    cr_assert_eq(o->trace.pools.count, 1);
}

Test(snapshot_damage, segments_of_lost_blocks_have_no_blocks)
{
    mv_trace trace;

    outcome *o = read_without(&trace, MV_WIRE_BLOCKS, false);
    cr_assert_eq(o->trace.segments.count, trace.segments.count);
    cr_assert_eq(o->trace.segments.blocks[0], 0);
    cr_assert_eq(o->trace.segments.total_size[0], trace.segments.total_size[0]);
}

/* ---- many chunks ------------------------------------------------------------------------- */

static bool is_part(const mv_events *is, const mv_events *of, uint32_t first)
{
    return memcmp(is->time_us, of->time_us + first, is->count * sizeof *is->time_us) == 0 &&
           memcmp(is->addr, of->addr + first, is->count * sizeof *is->addr) == 0 &&
           memcmp(is->call, of->call + first, is->count * sizeof *is->call) == 0 &&
           memcmp(is->action, of->action + first, is->count) == 0;
}

LongTest(snapshot_damage, a_file_cut_between_chunks_gives_all_chunks_before_the_cut)
{
    mv_trace trace = mvt_load(mvt_memory(), "generate");
    const mv_events *was = &trace.devices[0].events;

    cr_assert_gt(was->count, 2 * 65536);
    mv_span bytes = mvt_snapshot_of(mvt_memory(), &trace);
    mvt_container *c = mvt_take_apart(mvt_memory(), bytes);
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t events = 0, tables = 0;
        for (uint32_t k = 0; k < i; k++) {
            tables += mv_table_find(c->chunks[k].head.kind) != NULL;
            events += c->chunks[k].head.kind == MV_WIRE_EVENTS ? c->chunks[k].head.count : 0;
        }
        outcome *o = try_reading((mv_span){bytes.data, c->chunks[i].at});
        if (tables == 0) {
            cr_assert_eq(o->code, MV_CORRUPT);
        } else {
            cr_assert_eq(o->code, MV_OK, "%s", o->err.detail);
            cr_assert_gt(damage(&o->trace), 0);
            cr_assert_eq(o->trace.devices[0].events.count, events);
            cr_assert(is_part(&o->trace.devices[0].events, was, 0));
        }
        mvt_end_now(o);
    }
}

LongTest(snapshot_damage, events_after_lost_ones_move_up)
{
    mv_trace trace = mvt_load(mvt_memory(), "generate");
    mvt_container *c = mvt_take_apart(mvt_memory(), mvt_snapshot_of(mvt_memory(), &trace));
    mvt_chunk *chunk = mvt_chunk_of(c, MV_WIRE_EVENTS);
    uint32_t lost = chunk->head.count;

    mvt_remove_chunk(c, chunk);
    outcome *o = read_damaged(mvt_assemble(mvt_memory(), c, MVT_WITH_INDEX));
    cr_assert_eq(damage(&o->trace), 1);
    mv_events rest = o->trace.devices[0].events;
    cr_assert_eq(rest.count, trace.devices[0].events.count - lost);
    cr_assert(is_part(&rest, &trace.devices[0].events, lost));
}

/* Bytes are inserted or removed before everything else, and each chunk is still found. */
Test(snapshot_damage, chunks_are_found_again_after_inserted_or_missing_bytes)
{
    mv_trace trace;
    mv_span bytes = everything(&trace);
    uint8_t *moved = mv_arena_push(mvt_memory(), bytes.length + 3, 1);
    uint64_t trace_end = sizeof(mv_wire_header) + sizeof(mv_wire_chunk);

    memcpy(moved, bytes.data, sizeof(mv_wire_header));
    memset(moved + sizeof(mv_wire_header), MV_WIRE_MAGIC[0], 3);
    memcpy(moved + sizeof(mv_wire_header) + 3, bytes.data + sizeof(mv_wire_header),
           bytes.length - sizeof(mv_wire_header));
    outcome *o = read_damaged((mv_span){moved, bytes.length + 3});
    cr_assert_eq(damage(&o->trace), 1);
    cr_assert_null(difference_in_rows(&trace, &o->trace));

    memcpy(moved, bytes.data, trace_end); /* also, five bytes are missing */
    memcpy(moved + trace_end, bytes.data + trace_end + 5, bytes.length - trace_end - 5);
    o = read_damaged((mv_span){moved, bytes.length - 5});
    cr_assert_gt(damage(&o->trace), 0);
    cr_assert_eq(o->trace.devices[2].events.count, trace.devices[2].events.count);
    cr_assert_eq(o->trace.settings.count, trace.settings.count);
}

Test(snapshot_damage, a_file_without_index_has_all_rows)
{
    mv_trace trace;
    mvt_container *c = mvt_take_apart(mvt_memory(), everything(&trace));

    outcome *o = read_damaged(mvt_assemble(mvt_memory(), c, MVT_WITHOUT_INDEX));
    cr_assert_eq(damage(&o->trace), 1);
    cr_assert_null(difference_in_rows(&trace, &o->trace));
}

Test(snapshot_damage, bytes_after_the_end_are_counted)
{
    mv_trace trace;
    mv_span bytes = everything(&trace);
    uint8_t *longer = mv_arena_push(mvt_memory(), bytes.length + 5, 1);

    memcpy(longer, bytes.data, bytes.length);
    outcome *o = read_damaged((mv_span){longer, bytes.length + 5});
    cr_assert_eq(o->trace.notes[MV_NOTE_TRAILING].count, 5);
    cr_assert_eq(damage(&o->trace), 0);
    cr_assert_null(difference_in_rows(&trace, &o->trace));
}

/* ---- hostile files ----------------------------------------------------------------------- */

static mv_code code_with(mvt_container *c)
{
    return try_reading(mvt_assemble(mvt_memory(), c, MVT_WITH_INDEX))->code;
}

Test(snapshot_damage, huge_counts_are_refused)
{
    mv_trace trace;
    mvt_container *c = mvt_take_apart(mvt_memory(), everything(&trace));
    mvt_chunk *events = mvt_chunk_of(c, MV_WIRE_HOST_EVENTS), whole = *events;
    mvt_chunk *totals = mvt_chunk_of(c, MV_WIRE_TRACE);

    events->head.table_rows = (uint64_t)1 << 40;
    cr_assert_eq(code_with(c), MV_CORRUPT);
    *events = whole;
    ((mv_wire_trace *)(void *)totals->stored)->devices = MV_MOST_DEVICES + 1;
    cr_assert_eq(code_with(c), MV_RANGE);
    mvt_remove_chunk(c, totals);
    events = mvt_chunk_of(c, MV_WIRE_HOST_EVENTS);
    events->head.table_rows = (uint64_t)1 << 40;
    cr_assert_eq(code_with(c), MV_LIMIT);
    events->head.table_rows = 1u << 31;
    events->head.first_row = (1u << 31) - events->head.count;
    cr_assert_eq(code_with(c), MV_NOMEM);
}

/* A file that a writer made from a model that no reader produces. */
static mv_code code_of(const mv_trace *trace)
{
    return try_reading(mvt_snapshot_of(mvt_memory(), trace))->code;
}

Test(snapshot_damage, devices_are_ordinals_or_absent)
{
    mv_trace trace = mvt_full_trace(mvt_memory());
    int32_t *columns[] = {trace.segments.device, trace.annotations.device, trace.api_calls.device,
                          trace.heap_calls.device, trace.samples.device};

    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        int32_t was = *columns[i];
        *columns[i] = MV_MOST_DEVICES;
        cr_assert_eq(code_of(&trace), MV_RANGE, "column %zu", i);
        *columns[i] = -2;
        cr_assert_eq(code_of(&trace), MV_RANGE, "column %zu", i);
        *columns[i] = was;
    }
    trace.segments.device[0] = MV_MOST_DEVICES - 1;
    cr_assert_eq(code_of(&trace), MV_OK);
}

/* Reading a million segments that all refer to the same million blocks would take hours. */
Test(snapshot_damage, segments_do_not_share_blocks)
{
    mv_trace trace = mvt_full_trace(mvt_memory());

    trace.segments.first_block[0] = 0;
    trace.segments.blocks[0] = trace.blocks.count;
    trace.segments.blocks[1] = trace.host_segments.blocks[0] = 0;
    cr_assert_eq(code_of(&trace), MV_OK);
    trace.host_segments.blocks[0] = 1;
    cr_assert_eq(code_of(&trace), MV_RANGE);
}

/* Makes `chunks` chunks of a few bytes each that claim many rows with one value. */
static mvt_container *bomb_of(uint32_t rows, uint32_t chunks)
{
    static mv_trace trace;
    mvt_container *c = mvt_take_apart(mvt_memory(), everything(&trace));
    mvt_chunk bomb = *mvt_chunk_of(c, MV_WIRE_HOST_EVENTS);
    mv_wire_column *columns = (mv_wire_column *)(void *)bomb.stored;

    mvt_remove_chunk(c, mvt_chunk_of(c, MV_WIRE_TRACE));
    mvt_remove_chunk(c, mvt_chunk_of(c, MV_WIRE_HOST_EVENTS));
    for (uint32_t i = 0; i < columns[0].columns; i++)
        columns[i].width = columns[i].transform = columns[i].planes = 0;
    bomb.head.count = rows;
    bomb.head.table_rows = (uint64_t)chunks * rows;
    for (uint32_t i = 0; i < chunks; i++) {
        bomb.head.first_row = (uint64_t)i * rows;
        c->chunks[c->count++] = bomb;
    }
    return c;
}

Test(snapshot_damage, chunks_have_no_more_rows_than_writers_make)
{
    cr_assert_eq(code_with(bomb_of(MV_WIRE_CHUNK_ROWS, 1)), MV_RANGE);
    cr_assert_eq(code_with(bomb_of(65537, 1)), MV_RANGE);
    cr_assert_eq(code_with(bomb_of(65536, 1)), MV_OK);
}

Test(snapshot_damage, a_bomb_of_constant_columns_meets_the_budget)
{
    cr_assert_eq(code_with(bomb_of(65536, 200)), MV_NOMEM);
}

/* A hundred thousand headers with wrong checksums, each of which claims the rest of the file. */
Test(snapshot_damage, false_headers_take_linear_time)
{
    enum { HEADERS = 100000 };
    mv_trace trace;
    mv_span bytes = everything(&trace);
    uint64_t length = bytes.length + HEADERS * sizeof(mv_wire_chunk);
    uint8_t *file = mv_arena_push(mvt_memory(), length, 1);

    memcpy(file, bytes.data, bytes.length);
    for (uint64_t i = 0; i < HEADERS; i++) {
        uint64_t at = bytes.length - sizeof(mv_wire_footer) + i * sizeof(mv_wire_chunk);
        mv_wire_chunk head = {.kind = MV_WIRE_LIVE_KINDS,
                              .stored_bytes = length - at - sizeof head};
        mvt_seal_chunk(&head);
        memcpy(file + at, &head, sizeof head);
    }
    outcome *o = read_damaged((mv_span){file, length});
    cr_assert_null(difference_in_rows(&trace, &o->trace));
}

Test(snapshot_damage, a_file_without_a_usable_chunk_is_refused)
{
    mv_trace trace;
    mv_span bytes = everything(&trace);
    uint8_t *zeros = mv_arena_push(mvt_memory(), bytes.length, 1);

    memcpy(zeros, bytes.data, sizeof(mv_wire_header));
    outcome *o = try_reading((mv_span){zeros, bytes.length});
    cr_assert_eq(o->code, MV_CORRUPT);
    cr_assert_eq(o->err.offset, sizeof(mv_wire_header));
}
