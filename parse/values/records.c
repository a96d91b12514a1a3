#include "parse/values/records.h"

/* ---- values ------------------------------------------------------------------------------ */

bool mv_record_wrong_type(mv_machine *m, mv_word key, const mv_value *v, const char *expected)
{
    return !mv_machine_fail_refused(m, v) &&
           mv_machine_fail(m, MV_TYPE, "\"%s\" is not %s", mv_word_text(key), expected);
}

/* Stores the value of a key in `out`, which is the member of the row for this key, or the row. */
typedef bool take_fn(mv_machine *m, mv_word key, const mv_value *v, void *out);

static bool take_bytes(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    if (v->kind == MV_VALUE_INT && (int64_t)v->bits < 0)
        return mv_machine_fail(m, MV_RANGE, "\"%s\" is negative", mv_word_text(key));
    if (v->kind != MV_VALUE_INT && v->kind != MV_VALUE_UINT)
        return mv_record_wrong_type(m, key, v, "an integer");
    *(uint64_t *)out = v->bits;
    return true;
}

static bool take_int(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    if (v->kind != MV_VALUE_INT)
        return mv_record_wrong_type(m, key, v, "an integer of 64 bits");
    *(int64_t *)out = (int64_t)v->bits;
    return true;
}

/* Reads a line number. For code objects without line numbers, the value is -1, or 2^64 - 1 from
 * PyTorch's Python writer. */
static bool take_line(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    if (v->kind == MV_VALUE_UINT) {
        *(int64_t *)out = v->bits == UINT64_MAX ? MV_NO_LINE : INT64_MAX;
        return true;
    }
    return take_int(m, key, v, out);
}

static bool take_ordinal(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    int64_t value = 0;

    if (!take_int(m, key, v, &value))
        return false;
    if (!mv_is_ordinal(value))
        return mv_machine_fail(m, MV_RANGE, "device %lld", (long long)value);
    *(int32_t *)out = (int32_t)value;
    return true;
}

static bool take_text(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    if (v->kind != MV_VALUE_NONE && !mv_value_is_text(v))
        return mv_record_wrong_type(m, key, v, "a string");
    *(mv_string_id *)out = v->kind == MV_VALUE_NONE ? MV_NO_STRING : mv_machine_text(m, v);
    return true;
}

static bool take_stream(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    if (v->kind != MV_VALUE_INT && v->kind != MV_VALUE_UINT)
        return mv_record_wrong_type(m, key, v, "an integer");
    *(mv_stream_id *)out = mv_build_stream(&m->build, v->bits);
    return true;
}

static bool take_call(mv_machine *m, mv_word key, const mv_value *v, mv_stack_id *stack,
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

static bool take_stack(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    uint32_t call;

    return take_call(m, key, v, out, &call);
}

static bool take_pool(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    if (v->kind != MV_VALUE_POOL)
        return mv_record_wrong_type(m, key, v, "a pair of integers");
    *(mv_pool_id *)out = (mv_pool_id){(uint32_t)v->bits};
    return true;
}

bool mv_record_unknown_key(mv_machine *m, const mv_value *key)
{
    mv_build_note(&m->build, MV_NOTE_UNKNOWN_KEY, "\"%.60s\"", mv_machine_quote(m, key));
    return true;
}

/* ---- records ----------------------------------------------------------------------------- */

/* Which function takes the value of a key, and the place of its member in the row. */
typedef struct {
    take_fn *take; /* NULL: the record has no such key */
    size_t at;
} record_field;

static bool take_pairs(mv_machine *m, mv_pairs p, const record_field fields[MV_WORD_COUNT],
                       void *row)
{
    for (uint64_t i = 0; i < p.count; i++) {
        const mv_value *key = &p.pair[2 * i], *v = key + 1;
        const record_field *field =
            key->kind == MV_VALUE_WORD && fields[key->bits].take ? &fields[key->bits] : NULL;
        if (!(field ? field->take(m, (mv_word)key->bits, v, (char *)row + field->at)
                    : mv_record_unknown_key(m, key)))
            return false;
    }
    return true;
}

/* Takes the stack of a row, and its call. */
#define TAKE_FRAMES(name)                                                                      \
    static bool take_##name##_frames(mv_machine *m, mv_word key, const mv_value *v, void *out) \
    {                                                                                          \
        mv_##name##_row *row = out;                                                            \
        return take_call(m, key, v, &row->stack, &row->call);                                  \
    }
TAKE_FRAMES(event)
TAKE_FRAMES(block)
TAKE_FRAMES(segment)
TAKE_FRAMES(history)

typedef struct {
    mv_event_row row;
    mv_tag_row tag;
} event_fields;

static bool take_action(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    event_fields *event = out;

    if (!mv_value_is_text(v))
        return mv_record_wrong_type(m, key, v, "a string");
    if (v->kind == MV_VALUE_WORD && v->bits >= MV_WORD_ALLOC && v->bits <= MV_WORD_ANNOTATE) {
        event->row.action = (uint8_t)(v->bits - MV_WORD_ALLOC);
        event->tag.action = MV_NO_STRING;
        return true;
    }
    event->row.action = MV_ACTION_OTHER;
    /* memviz writes a lost name as "other". */
    event->tag.action = strcmp(mv_machine_quote(m, v), mv_action_name(MV_ACTION_OTHER)) == 0
                            ? MV_NO_STRING
                            : mv_machine_text(m, v);
    mv_build_note(&m->build, MV_NOTE_UNKNOWN_ACTION, "\"%.60s\"", mv_machine_quote(m, v));
    return true;
}

static const record_field event_keys[MV_WORD_COUNT] = {
    [MV_WORD_ACTION] = {take_action, 0},
    [MV_WORD_ADDR] = {take_bytes, offsetof(event_fields, row.addr)},
    [MV_WORD_DEVICE_FREE] = {take_bytes, offsetof(event_fields, row.addr)},
    [MV_WORD_SIZE] = {take_bytes, offsetof(event_fields, row.size)},
    [MV_WORD_STREAM] = {take_stream, offsetof(event_fields, row.stream)},
    [MV_WORD_TIME_US] = {take_int, offsetof(event_fields, row.time_us)},
    [MV_WORD_FRAMES] = {take_event_frames, offsetof(event_fields, row)},
    [MV_WORD_COMPILE_CONTEXT] = {take_text, offsetof(event_fields, tag.compile_context)},
    [MV_WORD_USER_METADATA] = {take_text, offsetof(event_fields, tag.user_metadata)},
    [MV_WORD_INTERNAL_METADATA] = {take_text, offsetof(event_fields, tag.internal_metadata)},
    [MV_WORD_CATEGORY] = {take_text, offsetof(event_fields, tag.category)},
    [MV_WORD_OP] = {take_text, offsetof(event_fields, tag.op)},
    [MV_WORD_SHAPES] = {take_text, offsetof(event_fields, tag.shapes)},
    [MV_WORD_POOL_ID] = {take_pool, offsetof(event_fields, tag.pool)},
    [MV_WORD_FORWARD_FRAMES] = {take_stack, offsetof(event_fields, tag.forward)},
    [MV_WORD_CPP_FRAMES] = {take_stack, offsetof(event_fields, tag.cpp)},
};

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

    return take_pairs(m, p, event_keys, &event) && mv_record_event(m, &event.row, &event.tag, out);
}

static const record_field frame_keys[MV_WORD_COUNT] = {
    [MV_WORD_NAME] = {take_text, offsetof(mv_frame_row, function)},
    [MV_WORD_FILENAME] = {take_text, offsetof(mv_frame_row, file)},
    [MV_WORD_LINE] = {take_line, offsetof(mv_frame_row, line)},
    [MV_WORD_FX_NODE_OP] = {take_text, offsetof(mv_frame_row, fx.op)},
    [MV_WORD_FX_NODE_NAME] = {take_text, offsetof(mv_frame_row, fx.name)},
    [MV_WORD_FX_NODE_TARGET] = {take_text, offsetof(mv_frame_row, fx.target)},
    [MV_WORD_FX_ORIGINAL_TRACE] = {take_text, offsetof(mv_frame_row, fx.trace)},
};

static bool make_frame(mv_machine *m, mv_pairs p, mv_value *out)
{
    mv_frame_row row = MV_FRAME_ROW;

    if (!take_pairs(m, p, frame_keys, &row))
        return false;
    out->kind = MV_VALUE_FRAME;
    out->bits = mv_build_frame(&m->build, &row).row;
    if (out->bits > MV_REF_MASK)
        return mv_machine_fail(m, MV_LIMIT, "%s", "frames");
    return mv_machine_built(m);
}

/* Stores the code of a word. Other strings are counted, and do not change the row. */
static bool take_code(mv_machine *m, mv_word key, const mv_value *v,
                      const uint8_t codes[MV_WORD_COUNT], uint8_t *out)
{
    if (!mv_value_is_text(v))
        return mv_record_wrong_type(m, key, v, "a string");
    if (v->kind == MV_VALUE_WORD && codes[v->bits])
        *out = (uint8_t)(codes[v->bits] - 1);
    else
        mv_build_note(&m->build, MV_NOTE_UNKNOWN_STATE, "\"%.60s\"", mv_machine_quote(m, v));
    return true;
}

static bool take_state(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    static const uint8_t codes[MV_WORD_COUNT] = {
        /* plus 1 */
        [MV_WORD_INACTIVE] = 1 + MV_BLOCK_INACTIVE,
        [MV_WORD_ACTIVE_ALLOCATED] = 1 + MV_BLOCK_ALLOCATED,
        [MV_WORD_ACTIVE_PENDING_FREE] = 1 + MV_BLOCK_PENDING_FREE,
        [MV_WORD_ACTIVE_AWAITING_FREE] = 1 + MV_BLOCK_PENDING_FREE,
    };

    return take_code(m, key, v, codes, out);
}

static bool take_block_address(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    m->build.trace->keys |= MV_KEY_BLOCK_ADDRESS;
    return take_bytes(m, key, v, out);
}

static bool take_history(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    mv_block_row *row = out;
    mv_range rows = {0};

    if (!mv_record_rows(m, key, MV_VALUE_HISTORY, v, &rows))
        return false;
    row->first_history = rows.first;
    row->histories = rows.count;
    return true;
}

static const record_field block_keys[MV_WORD_COUNT] = {
    [MV_WORD_ADDRESS] = {take_block_address, offsetof(mv_block_row, address)},
    [MV_WORD_SIZE] = {take_bytes, offsetof(mv_block_row, size)},
    [MV_WORD_REQUESTED_SIZE] = {take_bytes, offsetof(mv_block_row, requested)},
    [MV_WORD_STATE] = {take_state, offsetof(mv_block_row, state)},
    [MV_WORD_FRAMES] = {take_block_frames, 0},
    [MV_WORD_FORWARD_FRAMES] = {take_stack, offsetof(mv_block_row, forward)},
    [MV_WORD_HISTORY] = {take_history, 0},
};

static bool take_segment_type(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    static const uint8_t codes[MV_WORD_COUNT] = {
        /* plus 1 */
        [MV_WORD_SMALL] = 1 + MV_SEGMENT_SMALL,
        [MV_WORD_LARGE] = 1 + MV_SEGMENT_LARGE,
    };

    return take_code(m, key, v, codes, out);
}

static bool take_bool(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    if (v->kind != MV_VALUE_BOOL)
        return mv_record_wrong_type(m, key, v, "true or false");
    *(uint8_t *)out = (uint8_t)v->bits;
    return true;
}

static bool take_blocks(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    mv_segment_row *row = out;
    mv_range rows = {0};

    if (!mv_record_rows(m, key, MV_VALUE_BLOCK, v, &rows))
        return false;
    row->first_block = rows.first;
    row->blocks = rows.count;
    return true;
}

static const record_field segment_keys[MV_WORD_COUNT] = {
    [MV_WORD_DEVICE] = {take_ordinal, offsetof(mv_segment_row, device)},
    [MV_WORD_ADDRESS] = {take_bytes, offsetof(mv_segment_row, address)},
    [MV_WORD_TOTAL_SIZE] = {take_bytes, offsetof(mv_segment_row, total_size)},
    [MV_WORD_ALLOCATED_SIZE] = {take_bytes, offsetof(mv_segment_row, allocated)},
    [MV_WORD_ACTIVE_SIZE] = {take_bytes, offsetof(mv_segment_row, active)},
    [MV_WORD_REQUESTED_SIZE] = {take_bytes, offsetof(mv_segment_row, requested)},
    [MV_WORD_STREAM] = {take_stream, offsetof(mv_segment_row, stream)},
    [MV_WORD_SEGMENT_TYPE] = {take_segment_type, offsetof(mv_segment_row, kind)},
    [MV_WORD_SEGMENT_POOL_ID] = {take_pool, offsetof(mv_segment_row, pool)},
    [MV_WORD_IS_EXPANDABLE] = {take_bool, offsetof(mv_segment_row, is_expandable)},
    [MV_WORD_FRAMES] = {take_segment_frames, 0},
    [MV_WORD_FORWARD_FRAMES] = {take_stack, offsetof(mv_segment_row, forward)},
    [MV_WORD_BLOCKS] = {take_blocks, 0},
};

static const record_field history_keys[MV_WORD_COUNT] = {
    [MV_WORD_ADDR] = {take_bytes, offsetof(mv_history_row, addr)},
    [MV_WORD_REAL_SIZE] = {take_bytes, offsetof(mv_history_row, real_size)},
    [MV_WORD_FRAMES] = {take_history_frames, 0},
    [MV_WORD_CPP_FRAMES] = {take_stack, offsetof(mv_history_row, cpp)},
};

static bool take_stage(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    uint8_t *stage = out;

    (void)key;
    if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_START)
        *stage = MV_STAGE_START;
    else if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_END)
        *stage = MV_STAGE_END;
    else if (v->kind == MV_VALUE_WORD && v->bits == MV_WORD_MARK)
        *stage = MV_STAGE_MARK;
    return !mv_machine_fail_refused(m, v);
}

static const record_field annotation_keys[MV_WORD_COUNT] = {
    [MV_WORD_NAME] = {take_text, offsetof(mv_annotation_row, name)},
    [MV_WORD_TIME_US] = {take_int, offsetof(mv_annotation_row, time_us)},
    [MV_WORD_DEVICE] = {take_ordinal, offsetof(mv_annotation_row, device)},
    [MV_WORD_STAGE] = {take_stage, offsetof(mv_annotation_row, stage)},
};

static bool take_role(mv_machine *m, mv_word key, const mv_value *v, void *out)
{
    if (!mv_value_is_text(v))
        return mv_record_wrong_type(m, key, v, "a string");
    for (int role = 0; role < MV_TENSOR_NAMED; role++)
        if (strcmp(mv_machine_quote(m, v), mv_tensor_role_name((uint8_t)role)) == 0)
            *(uint8_t *)out = (uint8_t)role;
    return true;
}

static const record_field tensor_keys[MV_WORD_COUNT] = {
    [MV_WORD_NAME] = {take_text, offsetof(mv_tensor_row, name)},
    [MV_WORD_ROLE] = {take_role, offsetof(mv_tensor_row, role)},
    [MV_WORD_SLOT] = {take_text, offsetof(mv_tensor_row, slot)},
    [MV_WORD_SHAPE] = {take_text, offsetof(mv_tensor_row, shape)},
    [MV_WORD_DTYPE] = {take_text, offsetof(mv_tensor_row, dtype)},
    [MV_WORD_DEVICE] = {take_ordinal, offsetof(mv_tensor_row, device)},
    [MV_WORD_ADDRESS] = {take_bytes, offsetof(mv_tensor_row, address)},
    [MV_WORD_BYTES] = {take_bytes, offsetof(mv_tensor_row, bytes)},
};

/* Makes a row from a dict. */
#define MAKE_ROW(name, NAME)                                          \
    static bool make_##name(mv_machine *m, mv_pairs p, mv_value *out) \
    {                                                                 \
        mv_##name##_row row = MV_##NAME##_ROW;                        \
        if (!take_pairs(m, p, name##_keys, &row))                     \
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
