/* Reads the compact form (docs/internals/msgpack-format.md). Every open container has a role, which
 * determines what the container may contain. The innermost role determines the meaning of a
 * scalar. */
#include "base/grow.h"
#include "parse/model/build.h"
#include "parse/msgpack/read_msgpack_columns.h"

/* Keys of the root map, in the order in which they are written, and their tables. Rows come before
 * the row numbers that refer to them, so that the reader can check each number immediately. */
#define MV_SECTION_LIST(X)                                      \
    X(FORMAT, "format", 0)                                      \
    X(VERSION, "version", 0)                                    \
    X(NAMES, "names", 0)                                        \
    X(STRINGS, "strings", MV_WIRE_STRINGS)                      \
    X(FRAMES, "frames", MV_WIRE_FRAMES)                         \
    X(STACKS, "stacks", MV_WIRE_STACKS)                         \
    X(STREAMS, "streams", MV_WIRE_STREAMS)                      \
    X(POOLS, "pools", MV_WIRE_POOLS)                            \
    X(TAGS, "tags", MV_WIRE_TAGS)                               \
    X(CALLS, "calls", 0)                                        \
    X(KEYS, "keys", 0)                                          \
    X(HISTORY, "history", MV_WIRE_HISTORY)                      \
    X(BLOCKS, "blocks", MV_WIRE_BLOCKS)                         \
    X(SEGMENTS, "segments", MV_WIRE_SEGMENTS)                   \
    X(HOST_SEGMENTS, "host_segments", MV_WIRE_HOST_SEGMENTS)    \
    X(DEVICE_TRACES, "device_traces", MV_WIRE_EVENTS)           \
    X(HOST_TRACES, "host_traces", MV_WIRE_HOST_EVENTS)          \
    X(ALLOCATOR_SETTINGS, "allocator_settings", 0)              \
    X(ANNOTATIONS, "external_annotations", MV_WIRE_ANNOTATIONS) \
    X(API_CALLS, "api_calls", MV_WIRE_API_CALLS)                \
    X(HEAP_CALLS, "heap_calls", MV_WIRE_HEAP_CALLS)             \
    X(SAMPLES, "samples", MV_WIRE_SAMPLES)                      \
    X(FACTS, "facts", MV_WIRE_FACTS)                            \
    X(NOTES, "notes", 0)

typedef enum {
#define MV_SECTION_ENUM(name, text, table) MV_SECTION_##name,
    MV_SECTION_LIST(MV_SECTION_ENUM) MV_SECTION_COUNT
} section_id;

/* Names of the keys and sections; the last one stands for unknown keys. */
static const struct {
    const char *name;
    uint16_t table; /* mv_wire_kind */
} sections[MV_SECTION_COUNT + 1] = {
#define SECTION(name, text, table) {text, table},
    MV_SECTION_LIST(SECTION)
#undef SECTION
        {"?", 0},
};

enum { NEWEST_VERSION = 1, FRAME_NUMBERS = 3, FX_FRAME_NUMBERS = 7 };

typedef enum {
    ROLE_FILE, /* the level that contains the root map */
    ROLE_ROOT,
    ROLE_STRINGS,
    ROLE_FRAMES,
    ROLE_FRAME,
    ROLE_STACKS,
    ROLE_STACK,
    ROLE_STREAMS,
    ROLE_POOLS,
    ROLE_POOL,
    ROLE_TAGS,
    ROLE_TAG,
    ROLE_DEVICES,
    ROLE_TABLE,
    ROLE_COLUMN,
    ROLE_SETTINGS,
    ROLE_SETTING_TABLE,
    ROLE_NOTES,
    ROLE_NOTE,
    ROLE_SKIPPED
} role;

/* One open container. */
typedef struct {
    uint8_t role;
    bool is_map;
    bool at_key;    /* in a map: whether a key comes next */
    uint32_t key;   /* meaning of the last key: a section, column, tag field, note or string */
    uint32_t index; /* number of items so far */
    uint32_t left;  /* number of items still to come */
} level;

typedef struct {
    bool negative;
    uint64_t bits;
} number;

typedef struct {
    mv_build build;
    mv_msgpack_fault fault;
    mv_column_reader columns;
    level levels[MSGPACK_EMBED_STACK_SIZE + 1];
    level *top;
    uint32_t version;
    uint32_t sections; /* set of sections read so far */

    mv_range devices[MV_MOST_DEVICES];
    mv_build_ranges ranges;
    mv_note notes[MV_NOTE_COUNT]; /* notes in the file */

    number numbers[FX_FRAME_NUMBERS]; /* numbers of the current frame or pool */
    mv_tag_row tag;
    mv_arena *scratch;
    mv_frame_id *frames; /* frames of the current stack */
    uint64_t frame_capacity;
} compact;

/* Returns the name of the section whose rows a reference refers to. */
static const char *section_of(mv_row_ref ref)
{
    section_id i = 0;

    while (i < MV_SECTION_COUNT &&
           (ref == MV_REF_CALL ? i != MV_SECTION_CALLS
                               : !sections[i].table || sections[i].table != mv_ref_kind(ref)))
        i++;
    return sections[i].name;
}

static int refuse(compact *c, mv_code code, const char *what)
{
    return mv_msgpack_refuse(&c->fault, code, "\"%s\": %s",
                             c->version ? sections[c->levels[1].key].name : "format", what);
}

static int wrong_type(compact *c)
{
    return refuse(c, MV_TYPE, "a value of this type does not belong here");
}

/* ---- interned tables --------------------------------------------------------------------- */

/* Returns the builder for a row that must not be merged with an equal row: each row of the file
 * becomes a row of the model. Equal rows occur if the file was converted from a damaged file. Row 0
 * of some tables already exists. */
static mv_build *build_row(compact *c)
{
    mv_build *b = &c->build;

    b->strings.is_blind = b->frames.is_blind = b->stacks.is_blind = b->streams.is_blind =
        b->pools.is_blind = b->tags.is_blind = c->top->index > 0;
    return b;
}

static int built(compact *c, uint32_t row, uint32_t expected)
{
    mv_build *b = &c->build;

    b->strings.is_blind = b->frames.is_blind = b->stacks.is_blind = b->streams.is_blind =
        b->pools.is_blind = b->tags.is_blind = false;
    if (c->build.code != MV_OK)
        return mv_msgpack_refuse(&c->fault, c->build.code, "%s", "");
    if (row != expected)
        return mv_msgpack_refuse(&c->fault, MV_CORRUPT, "\"%s\": row %u has an invalid value",
                                 sections[c->levels[1].key].name, expected);
    return 0;
}

/* Checks a row number, which is -1 for none. */
static int take_row(compact *c, number n, mv_row_ref ref, uint32_t *out)
{
    if (n.bits >= mv_ref_rows(c->build.trace, ref) && !(n.negative && n.bits == UINT64_MAX))
        return mv_msgpack_refuse(&c->fault, MV_RANGE, "\"%s\": no such row of \"%s\"",
                                 sections[c->levels[1].key].name, section_of(ref));
    *out = (uint32_t)n.bits;
    return 0;
}

static int close_frame(compact *c, const level *frame)
{
    mv_frame_row row = MV_FRAME_ROW;
    mv_string_id *const strings[FX_FRAME_NUMBERS] = {
        &row.function, &row.file, NULL, &row.fx.op, &row.fx.name, &row.fx.target, &row.fx.trace};

    for (uint32_t i = 0; i < frame->index; i++)
        if (strings[i] && take_row(c, c->numbers[i], MV_REF_STRING, &strings[i]->row) != 0)
            return -1;
    if (!c->numbers[2].negative && c->numbers[2].bits > INT64_MAX)
        return refuse(c, MV_RANGE, "line number");
    row.line = (int64_t)c->numbers[2].bits;
    return built(c, mv_build_frame(build_row(c), &row).row, c->top->index);
}

static int close_stack(compact *c, const level *stack)
{
    return built(c, mv_build_stack(build_row(c), c->frames, stack->index).row, c->top->index);
}

static int close_pool(compact *c)
{
    if (c->numbers[0].negative || c->numbers[1].negative)
        return refuse(c, MV_RANGE, "negative pool id");
    return built(c, mv_build_pool(build_row(c), c->numbers[0].bits, c->numbers[1].bits).row,
                 c->top->index);
}

static int add_stack_frame(compact *c, number n)
{
    uint32_t at = c->top->index;
    uint32_t row = MV_NO_ROW;

    if (n.negative)
        return refuse(c, MV_RANGE, "negative frame number");
    if (take_row(c, n, MV_REF_FRAME, &row) != 0)
        return -1;
    if (!mv_room(c->scratch, c->frames, at, c->frame_capacity))
        return mv_msgpack_refuse(&c->fault, MV_NOMEM, "%s", "");
    c->frames[at].row = row;
    return 0;
}

static int add_tag_field(compact *c, number n)
{
    const mv_table_column *column = &mv_table_find(MV_WIRE_TAGS)->columns[c->top->key];
    uint32_t row = MV_NO_ROW;

    if (take_row(c, n, column->ref, &row) != 0)
        return -1;
    memcpy((char *)&c->tag + column->row_at, &row, sizeof row);
    return 0;
}

/* ---- scalars ----------------------------------------------------------------------------- */

static mv_setting_row setting_of(mv_setting_kind kind)
{
    mv_setting_row row = MV_SETTING_ROW;

    row.kind = (uint8_t)kind;
    return row;
}

static int add_setting(compact *c, mv_setting_row row)
{
    const level *above = c->top - 1;

    row.parent = c->top->role == ROLE_SETTING_TABLE ? (mv_string_id){above->key} : MV_NO_STRING;
    row.key = (mv_string_id){c->top->key};
    mv_build_setting(&c->build, &row);
    return built(c, 0, 0);
}

static int add_integer_setting(compact *c, number n)
{
    mv_setting_row row = setting_of(MV_SETTING_INT);

    if (!n.negative && n.bits > INT64_MAX)
        return refuse(c, MV_RANGE, "a setting with more than 63 bits");
    row.integer = (int64_t)n.bits;
    return add_setting(c, row);
}

static int add_text_setting(compact *c, const char *text, uint32_t length)
{
    mv_setting_row row = setting_of(MV_SETTING_TEXT);

    row.text = mv_build_string(&c->build, text, length);
    return add_setting(c, row);
}

static int root_number(compact *c, number n)
{
    switch (c->top->key) {
    case MV_SECTION_VERSION:
        if (n.negative || n.bits == 0 || n.bits > NEWEST_VERSION)
            return mv_msgpack_refuse(&c->fault, MV_VERSION, "version %lld", (long long)n.bits);
        c->version = (uint32_t)n.bits;
        return 0;
    case MV_SECTION_CALLS:
        if (n.bits > MV_NO_CALL)
            return refuse(c, MV_RANGE, "too many");
        c->build.trace->calls = (uint32_t)n.bits;
        return 0;
    case MV_SECTION_KEYS:
        if (n.bits > UINT32_MAX)
            return refuse(c, MV_RANGE, "not a set of keys");
        c->build.trace->keys = (uint32_t)n.bits;
        return 0;
    case MV_SECTION_NAMES:
    case MV_SECTION_COUNT:
        return 0;
    default:
        return wrong_type(c);
    }
}

static int other_number(compact *c, number n)
{
    level *top = c->top;

    if (top->is_map && top->at_key)
        return refuse(c, MV_TYPE, "a key is not a string");
    switch ((role)top->role) {
    case ROLE_ROOT:
        return root_number(c, n);
    case ROLE_FRAME:
    case ROLE_POOL:
        c->numbers[top->index] = n;
        return 0;
    case ROLE_STACK:
        return add_stack_frame(c, n);
    case ROLE_STREAMS:
        return built(c, mv_build_stream(build_row(c), n.bits).row, top->index);
    case ROLE_TAG:
        return add_tag_field(c, n);
    case ROLE_SETTINGS:
    case ROLE_SETTING_TABLE:
        return add_integer_setting(c, n);
    case ROLE_NOTE:
        if (n.negative || top->key != 0)
            return wrong_type(c);
        c->notes[(top - 1)->key].count = n.bits;
        return 0;
    case ROLE_SKIPPED:
        return 0;
    default:
        return wrong_type(c);
    }
}

static inline int on_number(compact *c, bool negative, uint64_t bits)
{
    if (c->top->role == ROLE_COLUMN)
        return mv_columns_number(&c->columns, negative, bits);
    return other_number(c, (number){negative, bits});
}

/* Handles nil, true, false and floats, which occur in settings; nil also occurs in columns. */
static int on_scalar(compact *c, mv_setting_row row)
{
    if (c->top->is_map && c->top->at_key)
        return refuse(c, MV_TYPE, "a key is not a string");
    if (c->top->role == ROLE_COLUMN && row.kind == MV_SETTING_NONE)
        return mv_columns_nil(&c->columns);
    if (c->top->role == ROLE_SETTINGS || c->top->role == ROLE_SETTING_TABLE)
        return add_setting(c, row);
    if (c->top->role == ROLE_SKIPPED)
        return 0;
    return c->top->role == ROLE_ROOT && c->top->key == MV_SECTION_COUNT ? 0 : wrong_type(c);
}

static int on_nil(compact *c)
{
    return on_scalar(c, setting_of(MV_SETTING_NONE));
}

static int on_bool(compact *c, bool value)
{
    mv_setting_row row = setting_of(MV_SETTING_BOOL);

    row.integer = value;
    return on_scalar(c, row);
}

static int on_real(compact *c, double value)
{
    mv_setting_row row = setting_of(MV_SETTING_FLOAT);

    row.real = value;
    return on_scalar(c, row);
}

/* ---- keys and texts ---------------------------------------------------------------------- */

static bool is_text(const char *text, uint32_t length, const char *name)
{
    return strlen(name) == length && memcmp(text, name, length) == 0;
}

static void note_unknown(compact *c, const char *text, uint32_t length)
{
    mv_build_note(&c->build, MV_NOTE_UNKNOWN_KEY, "\"%.*s\"", length < 60 ? (int)length : 60, text);
}

static int root_key(compact *c, const char *text, uint32_t length)
{
    section_id section = 0;

    while (section < MV_SECTION_COUNT && !is_text(text, length, sections[section].name))
        section++;
    c->top->key = section;
    if (section == MV_SECTION_COUNT) {
        note_unknown(c, text, length);
        return 0;
    }
    if (c->sections & (1u << section))
        return refuse(c, MV_CORRUPT, "given twice");
    c->sections |= 1u << section;
    if (section > MV_SECTION_VERSION && c->version == 0)
        return refuse(c, MV_CORRUPT, "the version must come first");
    return 0;
}

static int on_key(compact *c, const char *text, uint32_t length)
{
    level *top = c->top;

    top->at_key = false;
    switch ((role)top->role) {
    case ROLE_ROOT:
        return root_key(c, text, length);
    case ROLE_TABLE:
        top->key = mv_columns_find(c->columns.table, text, length);
        if (top->key == MV_TABLE_COLUMNS)
            note_unknown(c, text, length);
        return 0;
    case ROLE_TAG:
        top->key = mv_columns_find(mv_table_find(MV_WIRE_TAGS), text, length);
        return top->key < MV_TABLE_COLUMNS ? 0 : refuse(c, MV_CORRUPT, "unknown field");
    case ROLE_SETTINGS:
    case ROLE_SETTING_TABLE:
        top->key = mv_build_string(&c->build, text, length).row;
        return built(c, 0, 0);
    case ROLE_NOTES:
        for (top->key = 0; top->key < MV_NOTE_COUNT; top->key++)
            if (is_text(text, length, mv_note_name(top->key)))
                return 0;
        note_unknown(c, text, length);
        return 0;
    case ROLE_NOTE:
        top->key = is_text(text, length, "count") ? 0 : is_text(text, length, "first") ? 1 : 2;
        return 0;
    default:
        return 0;
    }
}

static int add_note_text(compact *c, const char *text, uint32_t length)
{
    if (c->top->key != 1)
        return wrong_type(c);
    mv_note_describe(&c->notes[(c->top - 1)->key], text, length);
    return 0;
}

static int on_value_text(compact *c, const char *text, uint32_t length)
{
    switch ((role)c->top->role) {
    case ROLE_STRINGS:
        return built(c, mv_build_string(build_row(c), text, length).row, c->top->index);
    case ROLE_ROOT:
        if (c->top->key == MV_SECTION_FORMAT && !is_text(text, length, "memviz-compact"))
            return refuse(c, MV_FORMAT, "not memviz-compact");
        if (c->top->key == MV_SECTION_FORMAT || c->top->key == MV_SECTION_COUNT)
            return 0;
        return wrong_type(c);
    case ROLE_SETTINGS:
    case ROLE_SETTING_TABLE:
        return add_text_setting(c, text, length);
    case ROLE_NOTE:
        return add_note_text(c, text, length);
    case ROLE_SKIPPED:
        return 0;
    default:
        return wrong_type(c);
    }
}

static int on_text(compact *c, const char *text, uint32_t length)
{
    if (length == 0)
        text = "";
    if (c->top->is_map && c->top->at_key)
        return on_key(c, text, length);
    return on_value_text(c, text, length);
}

/* ---- containers -------------------------------------------------------------------------- */

/* The containers that are allowed inside each role, and their roles. */
static const struct {
    uint8_t in;      /* role of the enclosing container */
    uint8_t section; /* key of the container, if it is in the root map */
    bool is_map;
    uint8_t role;
} places[] = {
    {ROLE_FILE, 0, true, ROLE_ROOT},
    {ROLE_ROOT, MV_SECTION_STRINGS, false, ROLE_STRINGS},
    {ROLE_ROOT, MV_SECTION_FRAMES, false, ROLE_FRAMES},
    {ROLE_ROOT, MV_SECTION_STACKS, false, ROLE_STACKS},
    {ROLE_ROOT, MV_SECTION_STREAMS, false, ROLE_STREAMS},
    {ROLE_ROOT, MV_SECTION_POOLS, false, ROLE_POOLS},
    {ROLE_ROOT, MV_SECTION_TAGS, false, ROLE_TAGS},
    {ROLE_ROOT, MV_SECTION_HISTORY, true, ROLE_TABLE},
    {ROLE_ROOT, MV_SECTION_BLOCKS, true, ROLE_TABLE},
    {ROLE_ROOT, MV_SECTION_SEGMENTS, true, ROLE_TABLE},
    {ROLE_ROOT, MV_SECTION_HOST_SEGMENTS, true, ROLE_TABLE},
    {ROLE_ROOT, MV_SECTION_DEVICE_TRACES, false, ROLE_DEVICES},
    {ROLE_ROOT, MV_SECTION_HOST_TRACES, true, ROLE_TABLE},
    {ROLE_ROOT, MV_SECTION_ALLOCATOR_SETTINGS, true, ROLE_SETTINGS},
    {ROLE_ROOT, MV_SECTION_ANNOTATIONS, true, ROLE_TABLE},
    {ROLE_ROOT, MV_SECTION_API_CALLS, true, ROLE_TABLE},
    {ROLE_ROOT, MV_SECTION_HEAP_CALLS, true, ROLE_TABLE},
    {ROLE_ROOT, MV_SECTION_SAMPLES, true, ROLE_TABLE},
    {ROLE_ROOT, MV_SECTION_FACTS, true, ROLE_TABLE},
    {ROLE_ROOT, MV_SECTION_NOTES, true, ROLE_NOTES},
    {ROLE_ROOT, MV_SECTION_NAMES, true, ROLE_SKIPPED},
    {ROLE_FRAMES, 0, false, ROLE_FRAME},
    {ROLE_STACKS, 0, false, ROLE_STACK},
    {ROLE_POOLS, 0, false, ROLE_POOL},
    {ROLE_TAGS, 0, true, ROLE_TAG},
    {ROLE_DEVICES, 0, true, ROLE_TABLE},
    {ROLE_TABLE, 0, false, ROLE_COLUMN},
    {ROLE_SETTINGS, 0, true, ROLE_SETTING_TABLE},
    {ROLE_NOTES, 0, true, ROLE_NOTE},
};

/* Returns true if the value of an unknown key is being skipped. Such a value may be anything. */
static bool is_skipped(const level *around)
{
    switch ((role)around->role) {
    case ROLE_SKIPPED:
        return true;
    case ROLE_ROOT:
        return around->key == MV_SECTION_COUNT;
    case ROLE_TABLE:
        return around->key == MV_TABLE_COLUMNS;
    case ROLE_NOTES:
        return around->key == MV_NOTE_COUNT;
    default:
        return false;
    }
}

static bool find_role(const level *around, bool is_map, uint8_t *out)
{
    if (is_skipped(around)) {
        *out = ROLE_SKIPPED;
        return true;
    }
    for (uint32_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i].in != around->role || places[i].is_map != is_map ||
            (around->role == ROLE_ROOT && places[i].section != around->key))
            continue;
        *out = places[i].role;
        return true;
    }
    return false;
}

static int open_table(compact *c)
{
    section_id section = c->levels[1].key;
    const mv_model_table *table = mv_table_find(sections[section].table);

    mv_columns_start(&c->columns, table, sections[section].name, mv_build_rows(&c->build, table));
    return 0;
}

static int open_column(compact *c, uint32_t count)
{
    uint32_t index = (c->top - 1)->key;
    const mv_table_column *column = &c->columns.table->columns[index];

    return mv_columns_open(&c->columns, index, count, mv_ref_rows(c->build.trace, column->ref));
}

static int opened(compact *c, uint32_t count)
{
    switch ((role)c->top->role) {
    case ROLE_TABLE:
        return open_table(c);
    case ROLE_COLUMN:
        return open_column(c, count);
    case ROLE_TAG:
        c->tag = MV_TAG_ROW;
        return 0;
    case ROLE_FRAME:
        if (count != FRAME_NUMBERS && count != FX_FRAME_NUMBERS)
            return refuse(c, MV_CORRUPT, "a frame has 3 or 7 numbers");
        return 0;
    case ROLE_POOL:
        return count == 2 ? 0 : refuse(c, MV_CORRUPT, "a pool has 2 numbers");
    case ROLE_DEVICES:
        return count <= MV_MOST_DEVICES ? 0 : refuse(c, MV_RANGE, "too many devices");
    default:
        return 0;
    }
}

static int close_table(compact *c)
{
    const mv_column_reader *r = &c->columns;
    mv_range range;

    if (mv_columns_finish(&c->columns) != 0)
        return -1;
    range = (mv_range){r->base, r->count};
    switch ((section_id)c->levels[1].key) {
    case MV_SECTION_DEVICE_TRACES:
        c->devices[c->ranges.device_count++] = range;
        break;
    case MV_SECTION_HOST_TRACES:
        c->ranges.host_events = range;
        break;
    case MV_SECTION_SEGMENTS:
        c->ranges.segments = range;
        break;
    case MV_SECTION_HOST_SEGMENTS:
        c->ranges.host_segments = range;
        break;
    default:
        break;
    }
    return 0;
}

static int close_container(compact *c)
{
    level closed = *c->top--;

    switch ((role)closed.role) {
    case ROLE_FRAME:
        return close_frame(c, &closed);
    case ROLE_STACK:
        return close_stack(c, &closed);
    case ROLE_POOL:
        return close_pool(c);
    case ROLE_TAG:
        return built(c, mv_build_tag(build_row(c), &c->tag).row, c->top->index);
    case ROLE_TABLE:
        return close_table(c);
    default:
        return 0;
    }
}

static int open_container(compact *c, bool is_map, uint32_t count)
{
    level *around = c->top;
    uint8_t role_found;

    if (around->is_map && around->at_key)
        return refuse(c, MV_TYPE, "a key is not a string");
    if (!find_role(around, is_map, &role_found))
        return wrong_type(c);
    *++c->top = (level){.role = role_found, .is_map = is_map, .at_key = is_map, .left = count};
    if (opened(c, count) != 0)
        return -1;
    return count ? 0 : close_container(c);
}

static inline int end_item(compact *c)
{
    level *top = c->top;

    top->at_key = true;
    top->index++;
    return --top->left ? 0 : close_container(c);
}

/* ---- the parser -------------------------------------------------------------------------- */

#define msgpack_unpack_struct(name)           struct compact##name
#define msgpack_unpack_func(ret, name)        static inline ret compact##name
#define msgpack_unpack_callback(name)         compact_on##name
#define msgpack_unpack_object                 char
#define msgpack_unpack_user                   compact
#define compact_on_root(c)                    ((void)(c), 0)
#define compact_on_uint8(c, v, o)             (*(o) = 0, on_number((c), false, (v)))
#define compact_on_uint16(c, v, o)            (*(o) = 0, on_number((c), false, (v)))
#define compact_on_uint32(c, v, o)            (*(o) = 0, on_number((c), false, (v)))
#define compact_on_uint64(c, v, o)            (*(o) = 0, on_number((c), false, (v)))
#define compact_on_int8(c, v, o)              compact_on_int64(c, v, o)
#define compact_on_int16(c, v, o)             compact_on_int64(c, v, o)
#define compact_on_int32(c, v, o)             compact_on_int64(c, v, o)
#define compact_on_int64(c, v, o)             (*(o) = 0, on_number((c), (v) < 0, (uint64_t)(int64_t)(v)))
#define compact_on_float(c, v, o)             (*(o) = 0, on_real((c), (double)(v)))
#define compact_on_double(c, v, o)            (*(o) = 0, on_real((c), (v)))
#define compact_on_nil(c, o)                  (*(o) = 0, on_nil(c))
#define compact_on_true(c, o)                 (*(o) = 0, on_bool((c), true))
#define compact_on_false(c, o)                (*(o) = 0, on_bool((c), false))
#define compact_on_array(c, n, o)             (*(o) = 0, open_container((c), false, (n)))
#define compact_on_map(c, n, o)               (*(o) = 0, open_container((c), true, (n)))
#define compact_on_array_item(c, list, item)  ((void)(item), end_item(c))
#define compact_on_map_item(c, map, key, val) ((void)(key), (void)(val), end_item(c))
#define compact_on_str(c, base, at, n, o)     (*(o) = 0, (void)(base), on_text((c), (at), (n)))
#define compact_on_bin(c, base, at, n, o)     (*(o) = 0, (void)(base), on_text((c), (at), (n)))
#define compact_on_ext(c, base, at, n, o)     ((void)(base), (void)(at), (void)(n), (void)(o), -1)
#include <msgpack/unpack_template.h>

static mv_msgpack_step step(void *parser, mv_span window)
{
    struct compact_context *context = parser;
    mv_msgpack_step s = {0};

    s.status = compact_execute(context, (const char *)window.data, window.length, &s.used);
    s.state = context->cs;
    s.wanted = context->trail;
    return s;
}

/* ---- the end ----------------------------------------------------------------------------- */

static bool ranges_fit(const uint32_t *first, const uint32_t *count, uint32_t ranges, uint32_t rows)
{
    uint64_t taken = 0;

    for (uint32_t i = 0; i < ranges; i++)
        if (!mv_child_take(&taken, rows, first[i], count[i]))
            return false;
    return true;
}

static mv_code finish(compact *c, mv_err *err)
{
    const mv_segments *s = &c->build.segments;
    mv_trace *t = c->build.trace;

    if (c->version == 0)
        return mv_fail(err, MV_CORRUPT, MV_NO_OFFSET, "%s", "no version");
    if (!ranges_fit(s->first_block, s->blocks, s->count, t->blocks.count))
        return mv_fail(err, MV_RANGE, MV_NO_OFFSET, "%s",
                       "segments: blocks beyond the end of the table");
    if (!ranges_fit(t->blocks.first_history, t->blocks.histories, t->blocks.count,
                    t->history.count))
        return mv_fail(err, MV_RANGE, MV_NO_OFFSET, "%s",
                       "blocks: history beyond the end of the table");
    c->ranges.devices = c->devices;
    if (mv_build_finish(&c->build, &c->ranges, err) != MV_OK)
        return err->code;
    if (mv_api_call_beyond(t, 0) != MV_NO_ROW)
        return mv_fail(err, MV_RANGE, MV_NO_OFFSET, "%s",
                       "api_calls: an event beyond the end of the table");
    for (mv_note_code i = 0; i < MV_NOTE_COUNT; i++) {
        if (c->notes[i].count == 0 || mv_note_is_found(i))
            continue;
        c->notes[i].count += t->notes[i].count;
        t->notes[i] = c->notes[i];
    }
    return MV_OK;
}

mv_code mv_msgpack_compact_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts,
                                mv_trace *out, mv_err *err)
{
    mv_arena scratch;
    struct compact_context *context;
    mv_code code;

    mv_arena_init(&scratch, arena->budget);
    context = mv_push_struct(&scratch, struct compact_context);
    if (context) {
        compact *c = &context->user;
        c->scratch = &scratch;
        c->top = c->levels;
        c->columns = (mv_column_reader){.arena = arena, .fault = &c->fault};
        mv_build_init(&c->build, arena, out);
        compact_init(context);
        code = mv_msgpack_feed(source, opts, step, context, &c->fault, err);
        if (code == MV_OK)
            code = finish(c, err);
    } else {
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    }
    mv_arena_release(&scratch);
    return code;
}
