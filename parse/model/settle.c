/* Final steps after a trace is filled, which are the same for all readers. */
#include "parse/model/build.h"
#include "parse/model/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static void check_time_order(mv_build *b, uint32_t device, const mv_events *e)
{
    const mv_digest *digest = b->trace->digests ? &b->trace->digests[device] : NULL;

    if (digest && digest->unsorted > 0) {
        mv_build_note(b, MV_NOTE_UNSORTED_TIME, "device %u event %u", device,
                      digest->first_unsorted);
        b->trace->notes[MV_NOTE_UNSORTED_TIME].count += digest->unsorted - 1;
    }
    if (digest)
        return;
    for (uint32_t i = 1; i < e->count; i++)
        if (e->time_us[i] < e->time_us[i - 1])
            mv_build_note(b, MV_NOTE_UNSORTED_TIME, "device %u event %u", device, i);
}

/* Puts the times of calls in order. Rows are in the order in which memory was allocated and freed.
 * In captures made before release 0.2, a free received its number, and therefore its row, before
 * the call, but its time after the call. The time of the next row is an upper limit for the free's
 * time. */
static void order_times(mv_api_calls *c)
{
    int64_t next = INT64_MAX;

    for (uint32_t i = c->count; i-- > 0;) {
        if (c->time_us[i] == MV_NO_TIME)
            continue;
        if (c->time_us[i] > next)
            c->time_us[i] = next;
        next = c->time_us[i];
    }
}

/* Computes missing addresses of blocks. Before PyTorch 2.1, an address is known only because the
 * blocks cover their segment without gaps. After a block of zero bytes, which occurs in damaged
 * files, addresses are unknown. */
static void place_blocks(const mv_segments *s, mv_blocks *k)
{
    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t at = s->address[i];
        uint32_t end = s->first_block[i] + s->blocks[i];
        for (uint32_t j = s->first_block[i]; at != MV_NO_BYTES && j < end; at += k->size[j++]) {
            if (k->address[j] == MV_NO_BYTES && k->size[j] == 0)
                break;
            if (k->address[j] == MV_NO_BYTES)
                k->address[j] = at;
        }
    }
}

static void check_tiles(mv_build *b, const mv_segments *s)
{
    const mv_blocks *k = &b->trace->blocks;

    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t at = s->address[i];
        bool tiled = true;
        for (uint32_t j = s->first_block[i]; j < s->first_block[i] + s->blocks[i]; j++) {
            tiled = tiled && k->address[j] == at;
            if (s->address[i] != MV_NO_BYTES)
                at += k->size[j];
        }
        tiled = tiled && (s->address[i] == MV_NO_BYTES || at - s->address[i] == s->total_size[i]);
        if (!tiled && s->blocks[i] > 0)
            mv_build_note(b, MV_NOTE_UNTILED, "segment %u", i);
    }
}

/* ---- torch.fx data about frames ---------------------------------------------------------- */

#define IS_NONE(fx, number, name, ...) &&(fx)->name[row].row == MV_NO_ROW

/* Returns true if a row has no strings, which happens if a damaged file has lost all of them. */
static bool is_empty_fx(const mv_fx *fx, uint32_t row)
{
    return true MV_FX_COLUMNS(IS_NONE, fx);
}

static bool has_fx(const mv_trace *t, uint32_t frame)
{
    return t->frames.fx[frame] != MV_NO_ROW && !is_empty_fx(&t->fx, t->frames.fx[frame]);
}

/* Returns true if each frame with torch.fx data has a separate row, and no row is empty. */
static bool fx_is_tidy(const mv_trace *t)
{
    uint32_t next = 0;

    for (uint32_t i = 0; i < t->frames.count; i++)
        if (t->frames.fx[i] != MV_NO_ROW && (!has_fx(t, i) || t->frames.fx[i] != next++))
            return false;
    return next == t->fx.count;
}

static void tidy_fx(mv_build *b)
{
    const mv_model_table *table = mv_table_find(MV_WIRE_FX);
    mv_trace *t = b->trace;
    mv_fx tidy = {0};

    for (uint32_t i = 0; i < t->frames.count; i++)
        tidy.count += has_fx(t, i);
    for (uint32_t c = 0; c < table->column_count; c++) {
        const mv_table_column *column = &table->columns[c];
        const char *values = mv_column_of(&t->fx, column);
        char *to = mv_arena_push(b->arena, tidy.count, column->size);
        if (!to) {
            b->code = MV_NOMEM;
            return;
        }
        mv_column_set(&tidy, column, to);
        for (uint32_t i = 0; i < t->frames.count; i++)
            if (has_fx(t, i)) {
                memcpy(to, values + (uint64_t)t->frames.fx[i] * column->size, column->size);
                to += column->size;
            }
    }
    for (uint32_t i = 0, next = 0; i < t->frames.count; i++)
        t->frames.fx[i] = has_fx(t, i) ? next++ : MV_NO_ROW;
    t->fx = tidy;
}

/* ---- lost and duplicate settings --------------------------------------------------------- */

typedef struct {
    const mv_trace *trace;
    mv_intern names, keys; /* rows of settings: by name, and by table and key */
} seen_settings;

static uint64_t hash_of(const char *text)
{
    return XXH3_64bits_withSeed(text, strlen(text), mv_hash_key());
}

/* Returns the name of a setting, or of the table that contains it. */
static const char *name_of(const mv_trace *trace, uint32_t row)
{
    const mv_settings *s = &trace->settings;

    return mv_string_text(trace, s->parent[row].row == MV_NO_ROW ? s->key[row] : s->parent[row]);
}

static const char *key_of(const mv_trace *trace, uint32_t row)
{
    return mv_string_text(trace, trace->settings.key[row]);
}

/* Returns true if a later row has the same name. Marks the name as taken. */
static bool name_is_taken(mv_build *b, seen_settings *seen, uint32_t row)
{
    const char *name = name_of(seen->trace, row);
    uint64_t hash = hash_of(name);

    for (mv_probe p = mv_intern_start(&seen->names, hash); mv_intern_next(&seen->names, &p);)
        if (strcmp(name_of(seen->trace, p.row), name) == 0)
            return true;
    if (!mv_intern_add(&seen->names, hash, row))
        b->code = MV_NOMEM;
    return false;
}

/* Returns true if a later row of the same table has the same key. Marks the key as taken. */
static bool key_is_taken(mv_build *b, seen_settings *seen, uint32_t row)
{
    const char *name = name_of(seen->trace, row), *key = key_of(seen->trace, row);
    uint64_t hash = mv_mix(hash_of(name), hash_of(key));

    for (mv_probe p = mv_intern_start(&seen->keys, hash); mv_intern_next(&seen->keys, &p);)
        if (strcmp(key_of(seen->trace, p.row), key) == 0 &&
            strcmp(name_of(seen->trace, p.row), name) == 0)
            return true;
    if (!mv_intern_add(&seen->keys, hash, row))
        b->code = MV_NOMEM;
    return false;
}

static void move_setting(mv_trace *trace, uint32_t to, uint32_t from)
{
    const mv_model_table *table = mv_table_find(MV_WIRE_SETTINGS);

    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *column = &table->columns[i];
        char *values = mv_column_of(&trace->settings, column);
        memmove(values + (uint64_t)to * column->size, values + (uint64_t)from * column->size,
                column->size);
    }
}

/* Returns true if a damaged file has lost a setting's name or text. */
static bool is_lost(const mv_trace *trace, uint32_t row)
{
    const mv_settings *s = &trace->settings;

    return s->key[row].row == MV_NO_ROW ||
           (s->kind[row] == MV_SETTING_TEXT && s->text[row].row == MV_NO_ROW);
}

/* Removes lost and duplicate settings. As in a dict, the last value of a key wins: of several
 * settings with the same name, only the last one is kept. If that is a table, all its rows, which
 * are adjacent, are kept. */
static void tidy_settings(mv_build *b)
{
    mv_settings *s = &b->trace->settings;
    seen_settings seen = {b->trace, {.arena = b->arena}, {.arena = b->arena}};
    uint8_t *is_old = mv_arena_grow(b->arena, NULL, s->count + 1);
    uint32_t kept = 0;
    bool is_taken = false;

    if (!is_old)
        b->code = MV_NOMEM;
    for (uint32_t i = s->count; b->code == MV_OK && i-- > 0;) {
        bool is_nested = s->parent[i].row != MV_NO_ROW, lost = is_lost(b->trace, i);
        bool is_last = i + 1 == s->count || s->parent[i + 1].row != s->parent[i].row;
        if (is_nested ? is_last : !lost)
            is_taken = name_is_taken(b, &seen, i);
        is_old[i] = lost || is_taken || (is_nested && key_is_taken(b, &seen, i));
    }
    for (uint32_t i = 0; b->code == MV_OK && i < s->count; i++)
        if (is_lost(b->trace, i))
            mv_build_note(b, MV_NOTE_DAMAGED, "a setting");
        else if (is_old[i])
            mv_build_note(b, MV_NOTE_DUPLICATE_KEY, "\"%.60s\"", key_of(b->trace, i));
        else
            move_setting(b->trace, kept++, i);
    if (b->code == MV_OK)
        s->count = kept;
    mv_arena_drop(b->arena, seen.keys.slots);
    mv_arena_drop(b->arena, seen.names.slots);
    mv_arena_drop(b->arena, is_old);
}

void mv_build_settle(mv_build *b)
{
    mv_trace *t = b->trace;

    for (uint32_t i = 0; i < t->device_count; i++)
        check_time_order(b, i, &t->devices[i].events);
    order_times(&t->api_calls);
    place_blocks(&t->segments, &t->blocks);
    place_blocks(&t->host_segments, &t->blocks);
    check_tiles(b, &t->segments);
    check_tiles(b, &t->host_segments);
    if (t->settings.count > 0)
        tidy_settings(b);
    if (!fx_is_tidy(t))
        tidy_fx(b);
}
