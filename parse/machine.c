#include "parse/machine.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *text;
    uint32_t length;
} word_texts[MV_WORD_COUNT] = {
#define MV_WORD_TEXT(name, text) {text, sizeof text - 1},
    MV_WORD_LIST(MV_WORD_TEXT)
#undef MV_WORD_TEXT
};

static_assert(MV_WORD_KEYS <= 64, "a set of keys is one integer");
static_assert((int)MV_WORD_ANNOTATE - (int)MV_WORD_ALLOC == (int)MV_ACTION_ANNOTATE,
              "action words stand in the order of mv_action");

bool mv_machine_fail(mv_machine *m, mv_code code, const char *format, ...)
{
    va_list args;

    if (m->code != MV_OK)
        return false;
    m->code = code;
    va_start(args, format);
    vsnprintf(m->detail, sizeof m->detail, format, args);
    va_end(args);
    return false;
}

/* The builder fails stickily; this makes its failure the machine's. */
static bool built(mv_machine *m)
{
    return m->build.code == MV_OK || mv_machine_fail(m, m->build.code, "%s", "");
}

/* A bigger block for `*array`, which holds `*capacity` elements; false when memory is out. */
static bool grow_array(mv_machine *m, void *array, uint64_t *capacity, uint64_t wanted,
                       uint64_t size)
{
    uint64_t next = *capacity + *capacity / 2 + 4096;
    void *grown;

    if (next < wanted)
        next = wanted;
    grown = mv_arena_grow(m->scratch, *(void **)array, next * size);
    if (!grown)
        return mv_machine_fail(m, MV_NOMEM, "%s", "");
    *(void **)array = grown;
    *capacity = next;
    return true;
}

static bool grow_rows(mv_machine *m, void *array, uint32_t *capacity, uint64_t size)
{
    uint64_t rows = *capacity;

    if (rows > MV_REF_MASK)
        return mv_machine_fail(m, MV_LIMIT, "%s", "objects");
    if (!grow_array(m, array, &rows, 0, size))
        return false;
    *capacity = (uint32_t)rows;
    return true;
}

bool mv_machine_grow_stack(mv_machine *m)
{
    return grow_array(m, &m->stack, &m->capacity, 0, sizeof *m->stack);
}

static uint64_t word_hash(const char *text, uint64_t length)
{
    uint64_t hash = length;

    for (uint64_t i = 0; i < length; i++)
        hash = mv_mix(hash, (uint8_t)text[i]);
    return hash;
}

void mv_machine_init(mv_machine *m, mv_arena *arena, mv_arena *scratch, mv_trace *out)
{
    *m = (mv_machine){.scratch = scratch, .words = {.arena = scratch}};
    mv_build_init(&m->build, arena, out);
    m->short_strings = mv_push_array(scratch, mv_short_string, MV_SHORT_CACHE);
    m->marks = mv_push_array(scratch, uint64_t, MV_LEAST_MARKS);
    if (!m->short_strings || !m->marks || !mv_machine_grow_stack(m))
        mv_machine_fail(m, MV_NOMEM, "%s", "");
    for (uint32_t w = 0; w < MV_WORD_COUNT; w++) {
        m->word_string[w] = MV_NO_STRING;
        if (!mv_intern_add(&m->words, word_hash(word_texts[w].text, word_texts[w].length), w))
            mv_machine_fail(m, MV_NOMEM, "%s", "");
    }
    m->last_tag = MV_TAG_ROW;
    m->last_tag_id = MV_PLAIN_TAG;
    built(m);
}

/* ---- strings ----------------------------------------------------------------------------- */

static mv_value find_string(mv_machine *m, const char *text, uint64_t length)
{
    mv_string_id id;

    if (length < 24) {
        uint64_t hash = word_hash(text, length);
        for (mv_probe p = mv_intern_start(&m->words, hash); mv_intern_next(&m->words, &p);)
            if (word_texts[p.row].length == length &&
                memcmp(word_texts[p.row].text, text, length) == 0)
                return mv_value_of(MV_VALUE_WORD, p.row);
    }
    id = mv_build_string(&m->build, text, length);
    if (id.row > MV_REF_MASK)
        mv_machine_fail(m, MV_LIMIT, "%s", "strings");
    built(m);
    return mv_value_of(MV_VALUE_STRING, id.row);
}

mv_value mv_machine_string(mv_machine *m, const char *text, uint64_t length)
{
    mv_short_string *seen;
    uint64_t bytes = 0;
    mv_value value;

    if (length > sizeof bytes)
        return find_string(m, text, length);
    memcpy(&bytes, text, length);
    seen = &m->short_strings[mv_mix(bytes, length) % MV_SHORT_CACHE];
    if (seen->length == length + 1 && seen->bytes == bytes)
        return mv_value_of(seen->ref >> MV_REF_BITS, seen->ref & MV_REF_MASK);
    value = find_string(m, text, length);
    *seen = (mv_short_string){bytes, (uint32_t)length + 1,
                              (mv_ref)value.kind << MV_REF_BITS | (mv_ref)value.bits};
    return value;
}

static bool is_text(const mv_value *v)
{
    return v->kind == MV_VALUE_STRING || v->kind == MV_VALUE_WORD;
}

/* A word is interned only when it is used as data (a function may be called "size"). */
static mv_string_id text_of(mv_machine *m, const mv_value *v)
{
    if (v->kind == MV_VALUE_STRING)
        return (mv_string_id){(uint32_t)v->bits};
    if (m->word_string[v->bits].row == MV_NO_ROW)
        m->word_string[v->bits] =
            mv_build_string(&m->build, word_texts[v->bits].text, word_texts[v->bits].length);
    return m->word_string[v->bits];
}

static const char *key_text(mv_machine *m, const mv_value *key)
{
    if (key->kind == MV_VALUE_WORD)
        return word_texts[key->bits].text;
    return mv_string_text(m->build.trace, (mv_string_id){(uint32_t)key->bits});
}

/* ---- memo -------------------------------------------------------------------------------- */

static mv_ref box(mv_machine *m, const mv_value *v)
{
    if (m->box_count == m->box_capacity &&
        !grow_rows(m, &m->boxes, &m->box_capacity, sizeof *m->boxes))
        return MV_VALUE_UNSET;
    m->boxes[m->box_count] = *v;
    m->boxes[m->box_count].fresh = 0;
    return (mv_ref)MV_VALUE_BOXED << MV_REF_BITS | m->box_count++;
}

static mv_ref refer(mv_machine *m, const mv_value *v)
{
    if (v->kind < MV_VALUE_BOXED)
        return (mv_ref)v->kind << MV_REF_BITS | (mv_ref)v->bits;
    return box(m, v);
}

/* The container at stack[at], whose content is not decided yet. */
static mv_ref refer_open(mv_machine *m, uint64_t at)
{
    if (at > MV_REF_MASK)
        mv_machine_fail(m, MV_LIMIT, "%s", "values on the stack");
    return (mv_ref)MV_VALUE_OPEN << MV_REF_BITS | (mv_ref)at;
}

/* A container whose content is still to be decided when something else refers to it. */
static bool is_undecided(const mv_value *v)
{
    return v->fresh &&
           (v->kind == MV_VALUE_DICT || v->kind == MV_VALUE_LIST || v->kind == MV_VALUE_TABLE ||
            v->kind == MV_VALUE_CHAIN || v->kind == MV_VALUE_ROWS);
}

bool mv_machine_put(mv_machine *m, uint64_t slot)
{
    mv_value *top;

    if (m->depth == 0)
        return mv_machine_fail(m, MV_CORRUPT, "%s", "nothing to remember");
    if (slot >= m->memo_capacity) {
        /* Writers number entries densely, so a far index is a lie that would cost memory. */
        if (slot > m->memo_count + (1u << 20))
            return mv_machine_fail(m, MV_RANGE, "memo index %llu", (unsigned long long)slot);
        if (!grow_array(m, &m->memo, &m->memo_capacity, slot + 1, sizeof *m->memo))
            return false;
    }
    if (slot >= m->memo_count)
        m->memo_count = slot + 1;
    top = &m->stack[m->depth - 1];
    if (top->fresh) {
        if (top->slot != MV_NO_SLOT)
            return mv_machine_fail(m, MV_CORRUPT, "%s", "container remembered twice");
        top->slot = (uint32_t)slot;
    }
    m->memo[slot] = is_undecided(top) ? refer_open(m, m->depth - 1) : refer(m, top);
    return m->code == MV_OK;
}

static bool settle(mv_machine *m, uint64_t at);

/* A container that is still on the stack, beside the one that is being filled, is complete (the
 * empty list that a segment without a stack shares with its blocks). Below a mark it is not. */
static bool get_open(mv_machine *m, uint64_t slot)
{
    uint64_t at = m->memo[slot] & MV_REF_MASK;

    for (uint32_t i = m->mark_count; i > 0 && m->marks[i - 1] > at; i--)
        if (m->marks[i - 1] == at + 1)
            return mv_machine_fail(m, MV_CYCLE, "memo entry %llu", (unsigned long long)slot);
    return settle(m, at) && mv_machine_get(m, slot);
}

bool mv_machine_get(mv_machine *m, uint64_t slot)
{
    mv_ref ref = slot < m->memo_count ? m->memo[slot] : 0;
    mv_value_kind kind = ref >> MV_REF_BITS;

    if (kind == MV_VALUE_UNSET)
        return mv_machine_fail(m, MV_CORRUPT, "memo entry %llu is not set",
                               (unsigned long long)slot);
    if (kind == MV_VALUE_OPEN)
        return get_open(m, slot);
    if (kind == MV_VALUE_BOXED)
        return mv_machine_push(m, m->boxes[ref & MV_REF_MASK]);
    return mv_machine_push(m, mv_value_of(kind, ref & MV_REF_MASK));
}

/* After a fresh container turned into something: the memo entry that waits for it learns what. */
static void decided(mv_machine *m, const mv_value *v)
{
    if (v->slot != MV_NO_SLOT && !is_undecided(v))
        m->memo[v->slot] = refer(m, v);
}

/* ---- chains ------------------------------------------------------------------------------ */

static bool new_chain(mv_machine *m, mv_value *v, mv_value_kind kind)
{
    if (m->chain_count == m->chain_capacity &&
        !grow_rows(m, &m->chains, &m->chain_capacity, sizeof *m->chains))
        return false;
    m->chains[m->chain_count] = (mv_chain){0};
    v->kind = (uint8_t)kind;
    v->bits = m->chain_count++;
    return true;
}

static bool add_link(mv_machine *m, const mv_value *to, const mv_value *key, const mv_value *value)
{
    mv_chain *chain = &m->chains[to->bits];

    if (m->link_count == m->link_capacity &&
        !grow_rows(m, &m->links, &m->link_capacity, sizeof *m->links))
        return false;
    m->links[m->link_count] = (mv_link){.value = *value};
    if (key)
        m->links[m->link_count].key = *key;
    m->link_count++;
    if (chain->last)
        m->links[chain->last - 1].next = m->link_count;
    else
        chain->first = m->link_count;
    chain->last = m->link_count;
    chain->count++;
    return true;
}

/* ---- stacks ------------------------------------------------------------------------------ */

static bool new_call(mv_machine *m, mv_stack_id stack, mv_value *v)
{
    if (m->calls == m->call_capacity &&
        !grow_rows(m, &m->stack_of_call, &m->call_capacity, sizeof *m->stack_of_call))
        return false;
    if (m->calls > MV_REF_MASK)
        return mv_machine_fail(m, MV_LIMIT, "%s", "stack objects");
    m->stack_of_call[m->calls] = stack;
    v->kind = MV_VALUE_STACK;
    v->bits = m->calls++;
    return built(m);
}

/* A text in place of a frame: forward_frames and cpp_frames are lists of strings. */
static bool frame_of(mv_machine *m, const mv_value *v, mv_frame_id *out)
{
    mv_frame_row row = MV_FRAME_ROW;

    if (v->kind == MV_VALUE_FRAME) {
        *out = (mv_frame_id){(uint32_t)v->bits};
        return true;
    }
    if (!is_text(v))
        return false;
    row.function = text_of(m, v);
    *out = mv_build_frame(&m->build, &row);
    return true;
}

static bool reserve_frames(mv_machine *m, uint64_t count)
{
    return count <= m->frame_capacity ||
           grow_array(m, &m->frames, &m->frame_capacity, count, sizeof *m->frames);
}

/* ---- being put into something ------------------------------------------------------------ */

static bool settle_table(mv_machine *m, uint64_t at);

/* A list that was filled bit by bit becomes a stack if its items are frames. */
static bool settle_chain(mv_machine *m, uint64_t at)
{
    mv_chain chain = m->chains[m->stack[at].bits];
    uint64_t count = 0;

    if (!reserve_frames(m, chain.count))
        return false;
    for (uint32_t link = chain.first; link; link = m->links[link - 1].next)
        if (!frame_of(m, &m->links[link - 1].value, &m->frames[count++]))
            return true;
    return new_call(m, mv_build_stack(&m->build, m->frames, (uint32_t)count), &m->stack[at]);
}

/* From now on stack[at] is fixed: it goes into a container or is the result. */
static bool settle(mv_machine *m, uint64_t at)
{
    mv_value *v = &m->stack[at];

    if (!v->fresh)
        return true;
    if (v->kind == MV_VALUE_CHAIN && !settle_chain(m, at))
        return false;
    if (v->kind == MV_VALUE_TABLE && !settle_table(m, at))
        return false;
    v = &m->stack[at];
    if (v->kind == MV_VALUE_DICT || v->kind == MV_VALUE_LIST)
        v->kind = MV_VALUE_EMPTY;
    v->fresh = 0;
    decided(m, v);
    v->slot = MV_NO_SLOT;
    return m->code == MV_OK;
}

/* ---- fields ------------------------------------------------------------------------------ */

static bool wrong_type(mv_machine *m, mv_word key, const char *expected)
{
    return mv_machine_fail(m, MV_TYPE, "\"%s\" is not %s", word_texts[key].text, expected);
}

static bool take_bytes(mv_machine *m, mv_word key, const mv_value *v, uint64_t *out)
{
    if (v->kind == MV_VALUE_INT && (int64_t)v->bits < 0)
        return mv_machine_fail(m, MV_RANGE, "\"%s\" is negative", word_texts[key].text);
    if (v->kind != MV_VALUE_INT && v->kind != MV_VALUE_UINT)
        return wrong_type(m, key, "an integer");
    *out = v->bits;
    return true;
}

static bool take_int(mv_machine *m, mv_word key, const mv_value *v, int64_t *out)
{
    if (v->kind != MV_VALUE_INT)
        return wrong_type(m, key, "an integer of 64 bits");
    *out = (int64_t)v->bits;
    return true;
}

/* Code objects without line numbers write -1, the Python writer as 2^64 - 1. */
static bool take_line(mv_machine *m, const mv_value *v, int64_t *out)
{
    if (v->kind == MV_VALUE_UINT) {
        *out = v->bits == UINT64_MAX ? MV_NO_LINE : INT64_MAX;
        return true;
    }
    return take_int(m, MV_WORD_LINE, v, out);
}

static bool take_ordinal(mv_machine *m, const mv_value *v, int32_t *out)
{
    int64_t value = 0;

    if (!take_int(m, MV_WORD_DEVICE, v, &value))
        return false;
    if (value < -1 || value > 4095)
        return mv_machine_fail(m, MV_RANGE, "device %lld", (long long)value);
    *out = (int32_t)value;
    return true;
}

static bool take_text(mv_machine *m, mv_word key, const mv_value *v, mv_string_id *out)
{
    if (v->kind == MV_VALUE_NONE) {
        *out = MV_NO_STRING;
        return true;
    }
    if (!is_text(v))
        return wrong_type(m, key, "a string");
    *out = text_of(m, v);
    return true;
}

static bool take_stream(mv_machine *m, const mv_value *v, mv_stream_id *out)
{
    if (v->kind != MV_VALUE_INT && v->kind != MV_VALUE_UINT)
        return wrong_type(m, MV_WORD_STREAM, "an integer");
    *out = mv_build_stream(&m->build, v->bits);
    return true;
}

static bool take_stack(mv_machine *m, mv_word key, const mv_value *v, mv_stack_id *stack,
                       uint32_t *call)
{
    if (v->kind == MV_VALUE_EMPTY) {
        *stack = MV_EMPTY_STACK;
        *call = MV_NO_CALL;
        return true;
    }
    if (v->kind != MV_VALUE_STACK)
        return wrong_type(m, key, "a list of frames");
    *call = (uint32_t)v->bits;
    *stack = m->stack_of_call[v->bits];
    return true;
}

static bool take_pool(mv_machine *m, mv_word key, const mv_value *v, mv_pool_id *out)
{
    if (v->kind != MV_VALUE_POOL)
        return wrong_type(m, key, "a pair of integers");
    *out = (mv_pool_id){(uint32_t)v->bits};
    return true;
}

static bool take_rows(mv_machine *m, mv_word key, mv_value_kind rows_of, const mv_value *v,
                      mv_range *out)
{
    if (v->kind == MV_VALUE_EMPTY) {
        *out = (mv_range){0, 0};
        return true;
    }
    if (v->kind != MV_VALUE_ROWS || v->rows_of != rows_of)
        return wrong_type(m, key, "a list of its records");
    *out = (mv_range){(uint32_t)v->bits, (uint32_t)(v->bits >> 32)};
    return true;
}

static bool unknown_key(mv_machine *m, const mv_value *key)
{
    mv_build_note(&m->build, MV_NOTE_UNKNOWN_KEY, "\"%.60s\"", key_text(m, key));
    return true;
}

/* ---- records ----------------------------------------------------------------------------- */

/* Pairs of a dict: stack[from] is the first key. */
typedef struct {
    const mv_value *pair;
    uint64_t count;
} pairs;

static void take_action(mv_machine *m, const mv_value *v, mv_event_row *row, mv_tag_row *tag)
{
    if (v->kind == MV_VALUE_WORD && v->bits >= MV_WORD_ALLOC && v->bits <= MV_WORD_ANNOTATE) {
        row->action = (uint8_t)(v->bits - MV_WORD_ALLOC);
        tag->action = MV_NO_STRING;
        return;
    }
    row->action = MV_ACTION_OTHER;
    tag->action = text_of(m, v);
    mv_build_note(&m->build, MV_NOTE_UNKNOWN_ACTION, "\"%.60s\"", key_text(m, v));
}

static bool event_field(mv_machine *m, const mv_value *key, const mv_value *v, mv_event_row *row,
                        mv_tag_row *tag)
{
    mv_word word = key->kind == MV_VALUE_WORD ? (mv_word)key->bits : MV_WORD_COUNT;
    uint32_t call;

    switch (word) {
    case MV_WORD_ACTION:
        if (!is_text(v))
            return wrong_type(m, word, "a string");
        take_action(m, v, row, tag);
        return true;
    case MV_WORD_ADDR:
    case MV_WORD_DEVICE_FREE:
        return take_bytes(m, word, v, &row->addr);
    case MV_WORD_SIZE:
        return take_bytes(m, word, v, &row->size);
    case MV_WORD_STREAM:
        return take_stream(m, v, &row->stream);
    case MV_WORD_TIME_US:
        return take_int(m, word, v, &row->time_us);
    case MV_WORD_FRAMES:
        return take_stack(m, word, v, &row->stack, &row->call);
    case MV_WORD_COMPILE_CONTEXT:
        return take_text(m, word, v, &tag->compile_context);
    case MV_WORD_USER_METADATA:
        return take_text(m, word, v, &tag->user_metadata);
    case MV_WORD_INTERNAL_METADATA:
        return take_text(m, word, v, &tag->internal_metadata);
    case MV_WORD_CATEGORY:
        return take_text(m, word, v, &tag->category);
    case MV_WORD_POOL_ID:
        return take_pool(m, word, v, &tag->pool);
    case MV_WORD_FORWARD_FRAMES:
        return take_stack(m, word, v, &tag->forward, &call);
    case MV_WORD_CPP_FRAMES:
        return take_stack(m, word, v, &tag->cpp, &call);
    default:
        return unknown_key(m, key);
    }
}

static mv_tag_id tag_of(mv_machine *m, const mv_tag_row *tag)
{
    if (memcmp(tag, &m->last_tag, sizeof *tag) != 0) {
        m->last_tag = *tag;
        m->last_tag_id = mv_build_tag(&m->build, tag);
    }
    return m->last_tag_id;
}

static bool make_event(mv_machine *m, pairs p, mv_value *out)
{
    mv_event_row row = MV_EVENT_ROW;
    mv_tag_row tag = MV_TAG_ROW;
    uint32_t at;

    for (uint64_t i = 0; i < p.count; i++)
        if (!event_field(m, &p.pair[2 * i], &p.pair[2 * i + 1], &row, &tag))
            return false;
    row.tag = tag_of(m, &tag);
    at = mv_build_event(&m->build, &row);
    if (at > MV_REF_MASK)
        return mv_machine_fail(m, MV_LIMIT, "%s", "events");
    out->kind = MV_VALUE_EVENT;
    out->bits = at;
    return built(m);
}

static bool make_frame(mv_machine *m, pairs p, mv_value *out)
{
    mv_frame_row row = MV_FRAME_ROW;

    for (uint64_t i = 0; i < p.count; i++) {
        const mv_value *key = &p.pair[2 * i], *v = &p.pair[2 * i + 1];
        mv_word word = key->kind == MV_VALUE_WORD ? (mv_word)key->bits : MV_WORD_COUNT;
        bool taken;
        switch (word) {
        case MV_WORD_NAME:
            taken = take_text(m, word, v, &row.function);
            break;
        case MV_WORD_FILENAME:
            taken = take_text(m, word, v, &row.file);
            break;
        case MV_WORD_LINE:
            taken = take_line(m, v, &row.line);
            break;
        case MV_WORD_FX_NODE_OP:
            taken = take_text(m, word, v, &row.fx_op);
            break;
        case MV_WORD_FX_NODE_NAME:
            taken = take_text(m, word, v, &row.fx_name);
            break;
        case MV_WORD_FX_NODE_TARGET:
            taken = take_text(m, word, v, &row.fx_target);
            break;
        case MV_WORD_FX_ORIGINAL_TRACE:
            taken = take_text(m, word, v, &row.fx_trace);
            break;
        default:
            taken = unknown_key(m, key);
        }
        if (!taken)
            return false;
    }
    out->kind = MV_VALUE_FRAME;
    out->bits = mv_build_frame(&m->build, &row).row;
    if (out->bits > MV_REF_MASK)
        return mv_machine_fail(m, MV_LIMIT, "%s", "frames");
    return built(m);
}

static bool take_state(mv_machine *m, const mv_value *v, uint8_t *out)
{
    if (!is_text(v))
        return wrong_type(m, MV_WORD_STATE, "a string");
    if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_INACTIVE)
        *out = MV_BLOCK_INACTIVE;
    else if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_ACTIVE_ALLOCATED)
        *out = MV_BLOCK_ALLOCATED;
    else if (v->kind == MV_VALUE_WORD &&
             (v->bits == MV_WORD_ACTIVE_PENDING_FREE || v->bits == MV_WORD_ACTIVE_AWAITING_FREE))
        *out = MV_BLOCK_PENDING_FREE;
    else
        mv_build_note(&m->build, MV_NOTE_UNKNOWN_STATE, "\"%.60s\"", key_text(m, v));
    return true;
}

static bool make_block(mv_machine *m, pairs p, mv_value *out)
{
    mv_block_row row = MV_BLOCK_ROW;
    uint32_t call;

    for (uint64_t i = 0; i < p.count; i++) {
        const mv_value *key = &p.pair[2 * i], *v = &p.pair[2 * i + 1];
        mv_word word = key->kind == MV_VALUE_WORD ? (mv_word)key->bits : MV_WORD_COUNT;
        bool taken;
        switch (word) {
        case MV_WORD_ADDRESS:
            taken = take_bytes(m, word, v, &row.address);
            break;
        case MV_WORD_SIZE:
            taken = take_bytes(m, word, v, &row.size);
            break;
        case MV_WORD_REQUESTED_SIZE:
            taken = take_bytes(m, word, v, &row.requested);
            break;
        case MV_WORD_STATE:
            taken = take_state(m, v, &row.state);
            break;
        case MV_WORD_FRAMES:
            taken = take_stack(m, word, v, &row.stack, &row.call);
            break;
        case MV_WORD_FORWARD_FRAMES:
            taken = take_stack(m, word, v, &row.forward, &call);
            break;
        case MV_WORD_HISTORY:
            taken = take_rows(m, word, MV_VALUE_HISTORY, v, &row.history);
            break;
        default:
            taken = unknown_key(m, key);
        }
        if (!taken)
            return false;
    }
    out->kind = MV_VALUE_BLOCK;
    out->bits = mv_build_block(&m->build, &row);
    return built(m);
}

static bool take_segment_type(mv_machine *m, const mv_value *v, uint8_t *out)
{
    if (!is_text(v))
        return wrong_type(m, MV_WORD_SEGMENT_TYPE, "a string");
    if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_SMALL)
        *out = MV_SEGMENT_SMALL;
    else if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_LARGE)
        *out = MV_SEGMENT_LARGE;
    else
        mv_build_note(&m->build, MV_NOTE_UNKNOWN_STATE, "\"%.60s\"", key_text(m, v));
    return true;
}

static bool segment_field(mv_machine *m, const mv_value *key, const mv_value *v,
                          mv_segment_row *row)
{
    mv_word word = key->kind == MV_VALUE_WORD ? (mv_word)key->bits : MV_WORD_COUNT;
    uint32_t call;

    switch (word) {
    case MV_WORD_DEVICE:
        return take_ordinal(m, v, &row->device);
    case MV_WORD_ADDRESS:
        return take_bytes(m, word, v, &row->address);
    case MV_WORD_TOTAL_SIZE:
        return take_bytes(m, word, v, &row->total_size);
    case MV_WORD_ALLOCATED_SIZE:
        return take_bytes(m, word, v, &row->allocated);
    case MV_WORD_ACTIVE_SIZE:
        return take_bytes(m, word, v, &row->active);
    case MV_WORD_REQUESTED_SIZE:
        return take_bytes(m, word, v, &row->requested);
    case MV_WORD_STREAM:
        return take_stream(m, v, &row->stream);
    case MV_WORD_SEGMENT_TYPE:
        return take_segment_type(m, v, &row->kind);
    case MV_WORD_SEGMENT_POOL_ID:
        return take_pool(m, word, v, &row->pool);
    case MV_WORD_IS_EXPANDABLE:
        if (v->kind != MV_VALUE_BOOL)
            return wrong_type(m, word, "true or false");
        row->is_expandable = (uint8_t)v->bits;
        return true;
    case MV_WORD_FRAMES:
        return take_stack(m, word, v, &row->stack, &row->call);
    case MV_WORD_FORWARD_FRAMES:
        return take_stack(m, word, v, &row->forward, &call);
    case MV_WORD_BLOCKS:
        return take_rows(m, word, MV_VALUE_BLOCK, v, &row->blocks);
    default:
        return unknown_key(m, key);
    }
}

static bool make_segment(mv_machine *m, pairs p, mv_value *out)
{
    mv_segment_row row = MV_SEGMENT_ROW;

    row.stream = mv_build_stream(&m->build, 0);
    for (uint64_t i = 0; i < p.count; i++)
        if (!segment_field(m, &p.pair[2 * i], &p.pair[2 * i + 1], &row))
            return false;
    out->kind = MV_VALUE_SEGMENT;
    out->bits = mv_build_segment(&m->build, &row);
    return built(m);
}

static bool make_history(mv_machine *m, pairs p, mv_value *out)
{
    mv_history_row row = {
        .addr = MV_NO_BYTES, .stack = MV_NO_STACK, .call = MV_NO_CALL, .cpp = MV_NO_STACK};
    uint32_t call;

    for (uint64_t i = 0; i < p.count; i++) {
        const mv_value *key = &p.pair[2 * i], *v = &p.pair[2 * i + 1];
        mv_word word = key->kind == MV_VALUE_WORD ? (mv_word)key->bits : MV_WORD_COUNT;
        bool taken;
        switch (word) {
        case MV_WORD_ADDR:
            taken = take_bytes(m, word, v, &row.addr);
            break;
        case MV_WORD_REAL_SIZE:
            taken = take_bytes(m, word, v, &row.real_size);
            break;
        case MV_WORD_FRAMES:
            taken = take_stack(m, word, v, &row.stack, &row.call);
            break;
        case MV_WORD_CPP_FRAMES:
            taken = take_stack(m, word, v, &row.cpp, &call);
            break;
        default:
            taken = unknown_key(m, key);
        }
        if (!taken)
            return false;
    }
    out->kind = MV_VALUE_HISTORY;
    out->bits = mv_build_history(&m->build, &row);
    return built(m);
}

static bool make_annotation(mv_machine *m, pairs p, mv_value *out)
{
    mv_annotation_row row = {.name = MV_NO_STRING, .time_us = MV_NO_TIME, .stage = MV_STAGE_OTHER};

    for (uint64_t i = 0; i < p.count; i++) {
        const mv_value *key = &p.pair[2 * i], *v = &p.pair[2 * i + 1];
        mv_word word = key->kind == MV_VALUE_WORD ? (mv_word)key->bits : MV_WORD_COUNT;
        bool taken = true;
        switch (word) {
        case MV_WORD_NAME:
            taken = take_text(m, word, v, &row.name);
            break;
        case MV_WORD_TIME_US:
            taken = take_int(m, word, v, &row.time_us);
            break;
        case MV_WORD_DEVICE:
            taken = take_ordinal(m, v, &row.device);
            break;
        case MV_WORD_STAGE:
            if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_START)
                row.stage = MV_STAGE_START;
            else if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_END)
                row.stage = MV_STAGE_END;
            break;
        default:
            taken = unknown_key(m, key);
        }
        if (!taken)
            return false;
    }
    out->kind = MV_VALUE_ANNOTATION;
    out->bits = mv_build_annotation(&m->build, &row);
    return built(m);
}

/* ---- filling dicts ----------------------------------------------------------------------- */

#define BIT(word) (1ull << MV_WORD_##word)

/* Which keys stand in `count` pairs from stack[from] on; settles their values. */
static bool collect_keys(mv_machine *m, uint64_t from, uint64_t count, uint64_t *keys)
{
    uint64_t set = 0;

    for (uint64_t i = 0; i < count; i++) {
        const mv_value *key = &m->stack[from + 2 * i];
        if (!is_text(key))
            return mv_machine_fail(m, MV_TYPE, "%s", "a key is not a string");
        if (key->kind == MV_VALUE_WORD && key->bits < MV_WORD_KEYS) {
            if (set & (1ull << key->bits))
                mv_build_note(&m->build, MV_NOTE_DUPLICATE_KEY, "\"%s\"", key_text(m, key));
            set |= 1ull << key->bits;
        }
        if (m->stack[from + 2 * i + 1].fresh && !settle(m, from + 2 * i + 1))
            return false;
    }
    *keys = set;
    return true;
}

typedef bool record_maker(mv_machine *m, pairs p, mv_value *out);

/* What a dict is, from its keys; NULL when it is none of the records. */
static record_maker *maker_for(uint64_t keys)
{
    if (keys & BIT(ACTION))
        return make_event;
    if (keys & BIT(FILENAME) || (keys & (BIT(NAME) | BIT(LINE))) == (BIT(NAME) | BIT(LINE)))
        return make_frame;
    if (keys & (BIT(BLOCKS) | BIT(TOTAL_SIZE)))
        return make_segment;
    if (keys & BIT(STATE))
        return make_block;
    if (keys & BIT(REAL_SIZE))
        return make_history;
    if (keys & BIT(STAGE))
        return make_annotation;
    return NULL;
}

/* A dict that came pair by pair: all its pairs again, now that the keys are known. */
static bool settle_table(mv_machine *m, uint64_t at)
{
    mv_chain chain = m->chains[m->stack[at].bits];
    uint64_t from = m->depth, keys;
    record_maker *make;

    for (uint32_t link = chain.first; link; link = m->links[link - 1].next)
        if (!mv_machine_push(m, m->links[link - 1].key) ||
            !mv_machine_push(m, m->links[link - 1].value))
            return false;
    m->depth = from;
    if (!collect_keys(m, from, chain.count, &keys))
        return false;
    make = maker_for(keys);
    return !make || make(m, (pairs){m->stack + from, chain.count}, &m->stack[at]);
}

bool mv_machine_set_items(mv_machine *m, uint64_t from)
{
    uint64_t count = (m->depth - from) / 2, keys;
    mv_value *dict = &m->stack[from - 1];
    record_maker *make;

    if ((m->depth - from) % 2 != 0)
        return mv_machine_fail(m, MV_CORRUPT, "%s", "a key without a value");
    if (!dict->fresh || (dict->kind != MV_VALUE_DICT && dict->kind != MV_VALUE_TABLE))
        return mv_machine_fail(m, MV_CORRUPT, "%s", "items for something that is no open dict");
    if (!collect_keys(m, from, count, &keys))
        return false;
    m->depth = from;
    if (count == 0)
        return true;
    dict = &m->stack[from - 1];
    make = dict->kind == MV_VALUE_DICT && count > 1 ? maker_for(keys) : NULL;
    if (make) {
        if (!make(m, (pairs){m->stack + from, count}, dict))
            return false;
        dict->fresh = 0;
        decided(m, dict);
        return m->code == MV_OK;
    }
    if (dict->kind == MV_VALUE_DICT && !new_chain(m, dict, MV_VALUE_TABLE))
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (!add_link(m, dict, &m->stack[from + 2 * i], &m->stack[from + 2 * i + 1]))
            return false;
    return true;
}

/* ---- filling lists ----------------------------------------------------------------------- */

/* The usual case: a list of frames, whole. False (without failing) when it is something else. */
static bool append_frames(mv_machine *m, uint64_t from, uint64_t count, bool *done)
{
    const mv_value *item = &m->stack[from];
    mv_value *list = &m->stack[from - 1];

    if (!reserve_frames(m, count))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (item[i].kind != MV_VALUE_FRAME)
            return true;
        m->frames[i].row = (uint32_t)item[i].bits;
    }
    if (!new_call(m, mv_build_stack(&m->build, m->frames, (uint32_t)count), list))
        return false;
    decided(m, list);
    *done = true;
    return m->code == MV_OK;
}

static bool is_row(uint8_t kind)
{
    return kind >= MV_VALUE_EVENT && kind <= MV_VALUE_ANNOTATION;
}

/* Rows are made in file order, so a list of them is a range. */
static bool append_rows(mv_machine *m, uint64_t from, uint64_t count)
{
    const mv_value *item = &m->stack[from];
    mv_value *list = &m->stack[from - 1];
    uint64_t first = (uint32_t)list->bits, rows = list->bits >> 32;

    if (list->kind == MV_VALUE_LIST) {
        list->kind = MV_VALUE_ROWS;
        list->rows_of = item->kind;
        first = item->bits;
        rows = 0;
    }
    for (uint64_t i = 0; i < count; i++)
        if (item[i].kind != list->rows_of || item[i].bits != first + rows + i)
            return mv_machine_fail(m, MV_CORRUPT, "%s",
                                   "a record stands in two lists, or in a list of others");
    list->bits = (rows + count) << 32 | first;
    return true;
}

/* A stack that gets more frames (PyTorch writes at most 1000 at a time) is a chain until used. */
static bool reopen_stack(mv_machine *m, uint64_t at)
{
    mv_stack_id stack = m->stack_of_call[m->stack[at].bits];
    mv_value *list = &m->stack[at];
    const mv_frame_id *frame;
    uint32_t count;

    frame = mv_stack_frames(m->build.trace, stack, &count);
    if (!new_chain(m, list, MV_VALUE_CHAIN))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        mv_value v = mv_value_of(MV_VALUE_FRAME, frame[i].row);
        if (!add_link(m, list, NULL, &v))
            return false;
    }
    if (list->slot != MV_NO_SLOT)
        m->memo[list->slot] = refer_open(m, at);
    return m->code == MV_OK;
}

static bool append_links(mv_machine *m, uint64_t from, uint64_t count)
{
    if (m->stack[from - 1].kind == MV_VALUE_LIST &&
        !new_chain(m, &m->stack[from - 1], MV_VALUE_CHAIN))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (!settle(m, from + i))
            return false;
        if (!add_link(m, &m->stack[from - 1], NULL, &m->stack[from + i]))
            return false;
    }
    return true;
}

/* A pool id is a pair of integers that are not negative. */
static bool is_pair(const mv_value *item, uint64_t count)
{
    return count == 2 && item[0].kind == MV_VALUE_INT && item[1].kind == MV_VALUE_INT &&
           (int64_t)item[0].bits >= 0 && (int64_t)item[1].bits >= 0;
}

static void make_pair(mv_machine *m, uint64_t from, mv_value *out)
{
    const mv_value *item = &m->stack[from];
    mv_pool_id pool = mv_build_pool(&m->build, item[0].bits, item[1].bits);

    out->kind = MV_VALUE_POOL;
    out->bits = pool.row;
}

static bool append_to(mv_machine *m, uint64_t from, uint64_t count)
{
    mv_value *list = &m->stack[from - 1];
    bool done = false;

    if (list->kind == MV_VALUE_LIST && !append_frames(m, from, count, &done))
        return false;
    if (done)
        return true;
    if (list->kind == MV_VALUE_ROWS || (list->kind == MV_VALUE_LIST && is_row(m->stack[from].kind)))
        return append_rows(m, from, count);
    if (list->kind == MV_VALUE_LIST && is_pair(&m->stack[from], count)) {
        make_pair(m, from, list);
        decided(m, list);
        return built(m);
    }
    if (list->kind == MV_VALUE_STACK && !reopen_stack(m, from - 1))
        return false;
    if (list->kind == MV_VALUE_POOL)
        list->kind = MV_VALUE_OTHER;
    if (list->kind == MV_VALUE_OTHER)
        return true;
    return append_links(m, from, count);
}

bool mv_machine_append_items(mv_machine *m, uint64_t from)
{
    uint64_t count = m->depth - from;
    mv_value_kind kind = m->stack[from - 1].kind;

    if (!m->stack[from - 1].fresh || kind == MV_VALUE_DICT || kind == MV_VALUE_TABLE)
        return mv_machine_fail(m, MV_CORRUPT, "%s", "items for something that is no open list");
    if (count > 0 && !append_to(m, from, count))
        return false;
    m->depth = from;
    return true;
}

bool mv_machine_make_tuple(mv_machine *m, uint64_t from)
{
    uint64_t count = m->depth - from;
    mv_value tuple = mv_value_of(count ? MV_VALUE_OTHER : MV_VALUE_EMPTY, 0);

    for (uint64_t i = from; i < m->depth; i++)
        if (!settle(m, i))
            return false;
    if (is_pair(&m->stack[from], count))
        make_pair(m, from, &tuple);
    m->depth = from;
    return built(m) && mv_machine_push(m, tuple);
}

/* ---- the end ----------------------------------------------------------------------------- */

static bool take_setting(mv_machine *m, mv_string_id parent, const mv_value *key, const mv_value *v)
{
    mv_setting_row row = {.parent = parent, .key = text_of(m, key), .text = MV_NO_STRING};

    if (v->kind == MV_VALUE_INT || v->kind == MV_VALUE_UINT) {
        row.kind = MV_SETTING_INT;
        row.integer = (int64_t)v->bits;
    } else if (v->kind == MV_VALUE_BOOL) {
        row.kind = MV_SETTING_BOOL;
        row.integer = (int64_t)v->bits;
    } else if (v->kind == MV_VALUE_FLOAT) {
        row.kind = MV_SETTING_FLOAT;
        memcpy(&row.real, &v->bits, sizeof row.real);
    } else if (v->kind == MV_VALUE_NONE) {
        row.kind = MV_SETTING_NONE;
    } else if (is_text(v)) {
        row.kind = MV_SETTING_TEXT;
        row.text = text_of(m, v);
    } else {
        return v->kind == MV_VALUE_EMPTY || unknown_key(m, key);
    }
    mv_build_setting(&m->build, &row);
    return built(m);
}

static bool take_settings(mv_machine *m, const mv_value *v)
{
    if (v->kind == MV_VALUE_EMPTY)
        return true;
    if (v->kind != MV_VALUE_TABLE)
        return wrong_type(m, MV_WORD_ALLOCATOR_SETTINGS, "a dict");
    m->build.trace->settings.count = 0;
    for (uint32_t at = m->chains[v->bits].first; at; at = m->links[at - 1].next) {
        mv_link link = m->links[at - 1];
        if (link.value.kind != MV_VALUE_TABLE) {
            if (!take_setting(m, MV_NO_STRING, &link.key, &link.value))
                return false;
            continue;
        }
        for (uint32_t in = m->chains[link.value.bits].first; in; in = m->links[in - 1].next)
            if (!take_setting(m, text_of(m, &link.key), &m->links[in - 1].key,
                              &m->links[in - 1].value))
                return false;
    }
    return true;
}

static bool take_traces(mv_machine *m, const mv_value *v, mv_build_ranges *ranges)
{
    mv_chain chain;
    mv_range *devices;
    uint32_t count = 0;

    if (v->kind == MV_VALUE_EMPTY)
        return true;
    if (v->kind != MV_VALUE_CHAIN)
        return wrong_type(m, MV_WORD_DEVICE_TRACES, "a list of lists of events");
    chain = m->chains[v->bits];
    if (chain.count > 4096)
        return mv_machine_fail(m, MV_RANGE, "%u devices", chain.count);
    devices = mv_push_array(m->scratch, mv_range, chain.count);
    if (!devices)
        return mv_machine_fail(m, MV_NOMEM, "%s", "");
    for (uint32_t at = chain.first; at; at = m->links[at - 1].next)
        if (!take_rows(m, MV_WORD_DEVICE_TRACES, MV_VALUE_EVENT, &m->links[at - 1].value,
                       &devices[count++]))
            return false;
    ranges->devices = devices;
    ranges->device_count = count;
    return true;
}

static bool root_field(mv_machine *m, const mv_link *link, mv_build_ranges *ranges,
                       mv_range *annotations, uint64_t *keys)
{
    const mv_value *v = &link->value;
    mv_word word = link->key.kind == MV_VALUE_WORD ? (mv_word)link->key.bits : MV_WORD_COUNT;

    if (word < MV_WORD_KEYS)
        *keys |= 1ull << word;
    switch (word) {
    case MV_WORD_SEGMENTS:
        return take_rows(m, word, MV_VALUE_SEGMENT, v, &ranges->segments);
    case MV_WORD_DEVICE_TRACES:
        return take_traces(m, v, ranges);
    case MV_WORD_ALLOCATOR_SETTINGS:
        return take_settings(m, v);
    case MV_WORD_EXTERNAL_ANNOTATIONS:
        return take_rows(m, word, MV_VALUE_ANNOTATION, v, annotations);
    case MV_WORD_HOST_SEGMENTS:
        return take_rows(m, word, MV_VALUE_SEGMENT, v, &ranges->host_segments);
    case MV_WORD_HOST_TRACES:
        return take_rows(m, word, MV_VALUE_EVENT, v, &ranges->host_events);
    default:
        return unknown_key(m, &link->key);
    }
}

/* Rows that were made but stand in no list of the root. */
static void note_loose(mv_machine *m, const mv_build_ranges *ranges, mv_range annotations)
{
    uint64_t placed = ranges->host_events.count;
    uint64_t segments = ranges->segments.count + (uint64_t)ranges->host_segments.count;

    for (uint32_t i = 0; i < ranges->device_count; i++)
        placed += ranges->devices[i].count;
    if (placed < m->build.events.count)
        mv_build_note(&m->build, MV_NOTE_LOOSE, "%llu events",
                      (unsigned long long)(m->build.events.count - placed));
    if (segments < m->build.segments.count)
        mv_build_note(&m->build, MV_NOTE_LOOSE, "%llu segments",
                      (unsigned long long)(m->build.segments.count - segments));
    if (annotations.count < m->build.trace->annotations.count)
        mv_build_note(&m->build, MV_NOTE_LOOSE, "%u annotations",
                      m->build.trace->annotations.count - annotations.count);
}

static bool take_root(mv_machine *m, const mv_value *root, mv_build_ranges *ranges)
{
    mv_range annotations = {0, 0};
    uint64_t keys = 0;

    if (root->kind == MV_VALUE_EMPTY || root->kind == MV_VALUE_ROWS) {
        mv_build_note(&m->build, MV_NOTE_LIST_ROOT, "%s", "");
        return take_rows(m, MV_WORD_SEGMENTS, MV_VALUE_SEGMENT, root, &ranges->segments);
    }
    if (root->kind != MV_VALUE_TABLE)
        return mv_machine_fail(m, MV_FORMAT, "%s", "not a snapshot: no dict of lists");
    for (uint32_t at = m->chains[root->bits].first; at; at = m->links[at - 1].next) {
        mv_link link = m->links[at - 1];
        if (!root_field(m, &link, ranges, &annotations, &keys))
            return false;
    }
    if (!(keys & (BIT(SEGMENTS) | BIT(DEVICE_TRACES))))
        return mv_machine_fail(m, MV_FORMAT, "%s",
                               "not a snapshot: neither \"segments\" nor \"device_traces\"");
    note_loose(m, ranges, annotations);
    return true;
}

mv_code mv_machine_finish(mv_machine *m, mv_err *err)
{
    mv_build_ranges ranges = {0};

    if (m->code == MV_OK && m->depth != 1)
        mv_machine_fail(m, MV_CORRUPT, "%llu values left at the end", (unsigned long long)m->depth);
    if (m->code == MV_OK && settle(m, 0))
        take_root(m, &m->stack[0], &ranges);
    if (m->code != MV_OK)
        return mv_fail(err, m->code, MV_NO_OFFSET, "%s", m->detail);
    m->build.trace->calls = m->calls;
    return mv_build_finish(&m->build, &ranges, err);
}
