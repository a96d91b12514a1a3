#include "parse/values/records.h"

/* ---- fields ------------------------------------------------------------------------------ */

bool mv_record_wrong_type(mv_machine *m, mv_word key, const mv_value *v, const char *expected)
{
    return !mv_machine_fail_refused(m, v) &&
           mv_machine_fail(m, MV_TYPE, "\"%s\" is not %s", mv_word_text(key), expected);
}

static bool take_bytes(mv_machine *m, mv_word key, const mv_value *v, uint64_t *out)
{
    if (v->kind == MV_VALUE_INT && (int64_t)v->bits < 0)
        return mv_machine_fail(m, MV_RANGE, "\"%s\" is negative", mv_word_text(key));
    if (v->kind != MV_VALUE_INT && v->kind != MV_VALUE_UINT)
        return mv_record_wrong_type(m, key, v, "an integer");
    *out = v->bits;
    return true;
}

static bool take_int(mv_machine *m, mv_word key, const mv_value *v, int64_t *out)
{
    if (v->kind != MV_VALUE_INT)
        return mv_record_wrong_type(m, key, v, "an integer of 64 bits");
    *out = (int64_t)v->bits;
    return true;
}

/* Reads a line number. For code objects without line numbers, the value is -1, or 2^64 - 1 from
 * PyTorch's Python writer. */
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
    if (!mv_is_ordinal(value))
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
    if (!mv_value_is_text(v))
        return mv_record_wrong_type(m, key, v, "a string");
    *out = mv_machine_text(m, v);
    return true;
}

static bool take_stream(mv_machine *m, const mv_value *v, mv_stream_id *out)
{
    if (v->kind != MV_VALUE_INT && v->kind != MV_VALUE_UINT)
        return mv_record_wrong_type(m, MV_WORD_STREAM, v, "an integer");
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
        return mv_record_wrong_type(m, key, v, "a list of frames");
    *call = (uint32_t)v->bits;
    *stack = m->stack_of_call[v->bits];
    return true;
}

static bool take_pool(mv_machine *m, mv_word key, const mv_value *v, mv_pool_id *out)
{
    if (v->kind != MV_VALUE_POOL)
        return mv_record_wrong_type(m, key, v, "a pair of integers");
    *out = (mv_pool_id){(uint32_t)v->bits};
    return true;
}

bool mv_record_unknown_key(mv_machine *m, const mv_value *key)
{
    mv_build_note(&m->build, MV_NOTE_UNKNOWN_KEY, "\"%.60s\"", mv_machine_quote(m, key));
    return true;
}

/* ---- records ----------------------------------------------------------------------------- */

static mv_word word_of(const mv_value *key)
{
    return key->kind == MV_VALUE_WORD ? (mv_word)key->bits : MV_WORD_COUNT;
}

/* Stores one pair of a dict in the row that is being made from the dict. */
typedef bool field_fn(mv_machine *m, const mv_value *key, const mv_value *v, void *row);

static bool take_pairs(mv_machine *m, mv_pairs p, field_fn *take, void *row)
{
    for (uint64_t i = 0; i < p.count; i++)
        if (!take(m, &p.pair[2 * i], &p.pair[2 * i + 1], row))
            return false;
    return true;
}

static void take_action(mv_machine *m, const mv_value *v, mv_event_row *row, mv_tag_row *tag)
{
    if (v->kind == MV_VALUE_WORD && v->bits >= MV_WORD_ALLOC && v->bits <= MV_WORD_ANNOTATE) {
        row->action = (uint8_t)(v->bits - MV_WORD_ALLOC);
        tag->action = MV_NO_STRING;
        return;
    }
    row->action = MV_ACTION_OTHER;
    /* memviz writes a lost name as "other". */
    tag->action = strcmp(mv_machine_quote(m, v), mv_action_name(MV_ACTION_OTHER)) == 0
                      ? MV_NO_STRING
                      : mv_machine_text(m, v);
    mv_build_note(&m->build, MV_NOTE_UNKNOWN_ACTION, "\"%.60s\"", mv_machine_quote(m, v));
}

typedef struct {
    mv_event_row row;
    mv_tag_row tag;
} event_fields;

static bool event_field(mv_machine *m, const mv_value *key, const mv_value *v, void *into)
{
    mv_event_row *row = &((event_fields *)into)->row;
    mv_tag_row *tag = &((event_fields *)into)->tag;
    mv_word word = word_of(key);
    uint32_t call;

    switch (word) {
    case MV_WORD_ACTION:
        if (!mv_value_is_text(v))
            return mv_record_wrong_type(m, word, v, "a string");
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
    case MV_WORD_OP:
        return take_text(m, word, v, &tag->op);
    case MV_WORD_SHAPES:
        return take_text(m, word, v, &tag->shapes);
    case MV_WORD_POOL_ID:
        return take_pool(m, word, v, &tag->pool);
    case MV_WORD_FORWARD_FRAMES:
        return take_stack(m, word, v, &tag->forward, &call);
    case MV_WORD_CPP_FRAMES:
        return take_stack(m, word, v, &tag->cpp, &call);
    default:
        return mv_record_unknown_key(m, key);
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

bool mv_record_event(mv_machine *m, mv_event_row *row, const mv_tag_row *tag, mv_value *out)
{
    row->tag = tag_of(m, tag);
    out->kind = MV_VALUE_EVENT;
    out->bits = mv_build_event(&m->build, row);
    if (out->bits > MV_REF_MASK)
        return mv_machine_fail(m, MV_LIMIT, "%s", "events");
    return mv_machine_built(m);
}

static bool make_event(mv_machine *m, mv_pairs p, mv_value *out)
{
    event_fields event = {MV_EVENT_ROW, MV_TAG_ROW};

    return take_pairs(m, p, event_field, &event) && mv_record_event(m, &event.row, &event.tag, out);
}

static bool frame_field(mv_machine *m, const mv_value *key, const mv_value *v, void *into)
{
    mv_frame_row *row = into;
    mv_word word = word_of(key);

    switch (word) {
    case MV_WORD_NAME:
        return take_text(m, word, v, &row->function);
    case MV_WORD_FILENAME:
        return take_text(m, word, v, &row->file);
    case MV_WORD_LINE:
        return take_line(m, v, &row->line);
    case MV_WORD_FX_NODE_OP:
        return take_text(m, word, v, &row->fx.op);
    case MV_WORD_FX_NODE_NAME:
        return take_text(m, word, v, &row->fx.name);
    case MV_WORD_FX_NODE_TARGET:
        return take_text(m, word, v, &row->fx.target);
    case MV_WORD_FX_ORIGINAL_TRACE:
        return take_text(m, word, v, &row->fx.trace);
    default:
        return mv_record_unknown_key(m, key);
    }
}

static bool make_frame(mv_machine *m, mv_pairs p, mv_value *out)
{
    mv_frame_row row = MV_FRAME_ROW;

    if (!take_pairs(m, p, frame_field, &row))
        return false;
    out->kind = MV_VALUE_FRAME;
    out->bits = mv_build_frame(&m->build, &row).row;
    if (out->bits > MV_REF_MASK)
        return mv_machine_fail(m, MV_LIMIT, "%s", "frames");
    return mv_machine_built(m);
}

static bool take_state(mv_machine *m, const mv_value *v, uint8_t *out)
{
    if (!mv_value_is_text(v))
        return mv_record_wrong_type(m, MV_WORD_STATE, v, "a string");
    if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_INACTIVE)
        *out = MV_BLOCK_INACTIVE;
    else if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_ACTIVE_ALLOCATED)
        *out = MV_BLOCK_ALLOCATED;
    else if (v->kind == MV_VALUE_WORD &&
             (v->bits == MV_WORD_ACTIVE_PENDING_FREE || v->bits == MV_WORD_ACTIVE_AWAITING_FREE))
        *out = MV_BLOCK_PENDING_FREE;
    else
        mv_build_note(&m->build, MV_NOTE_UNKNOWN_STATE, "\"%.60s\"", mv_machine_quote(m, v));
    return true;
}

static bool block_field(mv_machine *m, const mv_value *key, const mv_value *v, void *into)
{
    mv_block_row *row = into;
    mv_word word = word_of(key);
    mv_range rows = {0};
    uint32_t call;

    switch (word) {
    case MV_WORD_ADDRESS:
        m->build.trace->keys |= MV_KEY_BLOCK_ADDRESS;
        return take_bytes(m, word, v, &row->address);
    case MV_WORD_SIZE:
        return take_bytes(m, word, v, &row->size);
    case MV_WORD_REQUESTED_SIZE:
        return take_bytes(m, word, v, &row->requested);
    case MV_WORD_STATE:
        return take_state(m, v, &row->state);
    case MV_WORD_FRAMES:
        return take_stack(m, word, v, &row->stack, &row->call);
    case MV_WORD_FORWARD_FRAMES:
        return take_stack(m, word, v, &row->forward, &call);
    case MV_WORD_HISTORY:
        if (!mv_record_rows(m, word, MV_VALUE_HISTORY, v, &rows))
            return false;
        row->first_history = rows.first;
        row->histories = rows.count;
        return true;
    default:
        return mv_record_unknown_key(m, key);
    }
}

static bool take_segment_type(mv_machine *m, const mv_value *v, uint8_t *out)
{
    if (!mv_value_is_text(v))
        return mv_record_wrong_type(m, MV_WORD_SEGMENT_TYPE, v, "a string");
    if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_SMALL)
        *out = MV_SEGMENT_SMALL;
    else if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_LARGE)
        *out = MV_SEGMENT_LARGE;
    else
        mv_build_note(&m->build, MV_NOTE_UNKNOWN_STATE, "\"%.60s\"", mv_machine_quote(m, v));
    return true;
}

static bool segment_field(mv_machine *m, const mv_value *key, const mv_value *v, void *into)
{
    mv_segment_row *row = into;
    mv_word word = word_of(key);
    mv_range rows = {0};
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
            return mv_record_wrong_type(m, word, v, "true or false");
        row->is_expandable = (uint8_t)v->bits;
        return true;
    case MV_WORD_FRAMES:
        return take_stack(m, word, v, &row->stack, &row->call);
    case MV_WORD_FORWARD_FRAMES:
        return take_stack(m, word, v, &row->forward, &call);
    case MV_WORD_BLOCKS:
        if (!mv_record_rows(m, word, MV_VALUE_BLOCK, v, &rows))
            return false;
        row->first_block = rows.first;
        row->blocks = rows.count;
        return true;
    default:
        return mv_record_unknown_key(m, key);
    }
}

static bool history_field(mv_machine *m, const mv_value *key, const mv_value *v, void *into)
{
    mv_history_row *row = into;
    mv_word word = word_of(key);
    uint32_t call;

    switch (word) {
    case MV_WORD_ADDR:
        return take_bytes(m, word, v, &row->addr);
    case MV_WORD_REAL_SIZE:
        return take_bytes(m, word, v, &row->real_size);
    case MV_WORD_FRAMES:
        return take_stack(m, word, v, &row->stack, &row->call);
    case MV_WORD_CPP_FRAMES:
        return take_stack(m, word, v, &row->cpp, &call);
    default:
        return mv_record_unknown_key(m, key);
    }
}

static bool annotation_field(mv_machine *m, const mv_value *key, const mv_value *v, void *into)
{
    mv_annotation_row *row = into;
    mv_word word = word_of(key);

    switch (word) {
    case MV_WORD_NAME:
        return take_text(m, word, v, &row->name);
    case MV_WORD_TIME_US:
        return take_int(m, word, v, &row->time_us);
    case MV_WORD_DEVICE:
        return take_ordinal(m, v, &row->device);
    case MV_WORD_STAGE:
        if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_START)
            row->stage = MV_STAGE_START;
        else if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_END)
            row->stage = MV_STAGE_END;
        else if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_MARK)
            row->stage = MV_STAGE_MARK;
        return !mv_machine_fail_refused(m, v);
    default:
        return mv_record_unknown_key(m, key);
    }
}

static bool take_role(mv_machine *m, const mv_value *v, uint8_t *out)
{
    if (!mv_value_is_text(v))
        return mv_record_wrong_type(m, MV_WORD_ROLE, v, "a string");
    for (int role = 0; role < MV_TENSOR_NAMED; role++)
        if (strcmp(mv_machine_quote(m, v), mv_tensor_role_name((uint8_t)role)) == 0)
            *out = (uint8_t)role;
    return true;
}

static bool tensor_field(mv_machine *m, const mv_value *key, const mv_value *v, void *into)
{
    mv_tensor_row *row = into;
    mv_word word = word_of(key);

    switch (word) {
    case MV_WORD_NAME:
        return take_text(m, word, v, &row->name);
    case MV_WORD_ROLE:
        return take_role(m, v, &row->role);
    case MV_WORD_SLOT:
        return take_text(m, word, v, &row->slot);
    case MV_WORD_SHAPE:
        return take_text(m, word, v, &row->shape);
    case MV_WORD_DTYPE:
        return take_text(m, word, v, &row->dtype);
    case MV_WORD_DEVICE:
        return take_ordinal(m, v, &row->device);
    case MV_WORD_ADDRESS:
        return take_bytes(m, word, v, &row->address);
    case MV_WORD_BYTES:
        return take_bytes(m, word, v, &row->bytes);
    default:
        return mv_record_unknown_key(m, key);
    }
}

/* Makes a row from a dict. */
#define MAKE_ROW(name, NAME)                                          \
    static bool make_##name(mv_machine *m, mv_pairs p, mv_value *out) \
    {                                                                 \
        mv_##name##_row row = MV_##NAME##_ROW;                        \
        if (!take_pairs(m, p, name##_field, &row))                    \
            return false;                                             \
        out->kind = MV_VALUE_##NAME;                                  \
        out->bits = mv_build_##name(&m->build, &row);                 \
        return mv_machine_built(m);                                   \
    }
MAKE_ROW(block, BLOCK)
MAKE_ROW(segment, SEGMENT)
MAKE_ROW(history, HISTORY)
MAKE_ROW(annotation, ANNOTATION)
MAKE_ROW(tensor, TENSOR)

/* ---- record types ------------------------------------------------------------------------ */

#define BIT(word) (1ull << MV_WORD_##word)

/* Returns the function for the record type with these keys, or NULL. The root is not a record, even
 * if the user added a "state" or "stage". */
mv_record_make_fn *mv_record_maker(uint64_t keys)
{
    if (keys & (BIT(SEGMENTS) | BIT(DEVICE_TRACES)))
        return NULL;
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
    if ((keys & (BIT(ROLE) | BIT(DTYPE))) == (BIT(ROLE) | BIT(DTYPE)))
        return make_tensor;
    return NULL;
}
