#include "parse/pickle_event.h"
#include "parse/records.h"

/* Opcodes of CPython's Lib/pickletools.py; read_pickle.c has them all. */
enum {
    EMPTY_DICT = '}',
    MARK = '(',
    SETITEMS = 'u',
    EMPTY_LIST = ']',
    APPENDS = 'e',
    BINGET = 'h',
    LONG_BINGET = 'j',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    LONG1 = 0x8a,
    SHORT_BINUNICODE = 0x8c,
    MEMOIZE = 0x94,
    BINPUT = 'q',
    LONG_BINPUT = 'r'
};

/* An event makes fewer memo entries than this; a longer stack goes the long way. */
enum { MOST_ENTRIES = 64, MOST_FRAMES = 1000 };

typedef struct {
    mv_machine *m;
    const uint8_t *at, *safe;
    uint64_t entries; /* memo entries set so far, with this event's own */
    mv_event_row row;
    mv_tag_row tag;
    uint64_t keys; /* set of mv_word */
} decoder;

/* What a BINGET or LONG_BINGET here refers to; 0 when this is neither, or it needs care. */
static inline mv_ref take_get(decoder *d)
{
    const mv_machine *m = d->m;
    uint32_t slot;

    if (*d->at == BINGET) {
        slot = d->at[1];
        d->at += 2;
    } else if (*d->at == LONG_BINGET) {
        slot = mv_load_u32(d->at + 1);
        d->at += 5;
    } else {
        return 0;
    }
    return slot < d->entries ? m->memo[slot] : 0;
}

static inline bool take_integer(decoder *d, int64_t *out)
{
    const uint8_t *at = d->at;

    switch (*at) {
    case BININT1:
        *out = at[1];
        d->at += 2;
        return true;
    case BININT2:
        *out = mv_load_u16(at + 1);
        d->at += 3;
        return true;
    case BININT:
        *out = (int32_t)mv_load_u32(at + 1);
        d->at += 5;
        return true;
    case LONG1:
        if (at[1] < 1 || at[1] > 8)
            return false;
        *out = (int64_t)(mv_load_u64(at + 2) << (64 - 8 * at[1])) >> (64 - 8 * at[1]);
        d->at += 2 + at[1];
        return true;
    default:
        return false;
    }
}

static inline bool take_bytes(decoder *d, uint64_t *out)
{
    int64_t value;

    if (!take_integer(d, &value) || value < 0)
        return false;
    *out = (uint64_t)value;
    return true;
}

/* A string in place, or one seen before. */
static inline bool take_text(decoder *d, mv_string_id *out)
{
    mv_value v;
    mv_ref ref;

    if (*d->at == SHORT_BINUNICODE) {
        uint8_t length = d->at[1];
        if (d->safe - d->at < 2 + length)
            return false;
        v = mv_machine_string(d->m, (const char *)d->at + 2, length);
        d->at += 2 + length;
        if (*d->at == MEMOIZE) {
            d->m->memo[d->entries++] = (mv_ref)v.kind << MV_REF_BITS | (mv_ref)v.bits;
            d->at++;
        }
    } else {
        ref = take_get(d);
        v = mv_value_of(ref >> MV_REF_BITS, ref & MV_REF_MASK);
    }
    if (!mv_value_is_text(&v))
        return false;
    *out = mv_machine_text(d->m, &v);
    return true;
}

/* The C++ writer remembers an object when it is complete, PyTorch's entries being dense. */
static bool take_put(decoder *d, mv_ref ref)
{
    uint64_t slot;

    if (*d->at == BINPUT) {
        slot = d->at[1];
        d->at += 2;
    } else if (*d->at == LONG_BINPUT) {
        slot = mv_load_u32(d->at + 1);
        d->at += 5;
    } else {
        return true;
    }
    if (slot != d->entries)
        return false;
    d->m->memo[d->entries++] = ref;
    return true;
}

/* Frames by reference between MARK and APPENDS, into m->frames. */
static inline bool take_frame_list(decoder *d, uint32_t *count)
{
    mv_frame_id *frames = d->m->frames;
    uint32_t n = 0;

    while (d->at < d->safe && n < MOST_FRAMES) {
        mv_ref ref;
        if (*d->at == APPENDS) {
            d->at++;
            *count = n;
            return n > 0;
        }
        ref = take_get(d);
        if (ref >> MV_REF_BITS != MV_VALUE_FRAME)
            return false;
        frames[n++].row = ref & MV_REF_MASK;
    }
    return false;
}

static bool take_new_stack(decoder *d)
{
    uint64_t slot = MV_NO_SLOT;
    uint32_t count;
    mv_ref ref;

    d->at++;
    if (*d->at == MEMOIZE) {
        slot = d->entries++;
        d->m->memo[slot] = 0; /* not to be fetched before it is complete */
        d->at++;
    }
    if (*d->at++ != MARK || !take_frame_list(d, &count))
        return false;
    d->row.stack = mv_build_stack(&d->m->build, d->m->frames, count);
    if (!mv_machine_call(d->m, d->row.stack, &d->row.call))
        return false;
    ref = (mv_ref)MV_VALUE_STACK << MV_REF_BITS | d->row.call;
    if (slot != MV_NO_SLOT)
        d->m->memo[slot] = ref;
    return take_put(d, ref);
}

static inline bool take_stack(decoder *d)
{
    mv_ref ref;

    if (*d->at == EMPTY_LIST)
        return take_new_stack(d);
    ref = take_get(d);
    if (ref >> MV_REF_BITS == MV_VALUE_EMPTY) {
        d->row.stack = MV_EMPTY_STACK;
        return true;
    }
    if (ref >> MV_REF_BITS != MV_VALUE_STACK)
        return false;
    d->row.call = ref & MV_REF_MASK;
    d->row.stack = d->m->stack_of_call[d->row.call];
    return true;
}

static inline bool take_action(decoder *d)
{
    mv_ref ref = take_get(d);
    uint32_t word = ref & MV_REF_MASK;

    if (ref >> MV_REF_BITS != MV_VALUE_WORD || word < MV_WORD_ALLOC || word > MV_WORD_ANNOTATE)
        return false;
    d->row.action = (uint8_t)(word - MV_WORD_ALLOC);
    return true;
}

static inline bool take_field(decoder *d)
{
    mv_ref key = take_get(d);
    mv_word word = key & MV_REF_MASK;
    uint64_t stream;

    if (key >> MV_REF_BITS != MV_VALUE_WORD || word >= MV_WORD_KEYS || d->keys & 1ull << word)
        return false;
    d->keys |= 1ull << word;
    switch (word) {
    case MV_WORD_ACTION:
        return take_action(d);
    case MV_WORD_ADDR:
        return take_bytes(d, &d->row.addr);
    case MV_WORD_SIZE:
        return take_bytes(d, &d->row.size);
    case MV_WORD_STREAM:
        if (!take_bytes(d, &stream))
            return false;
        d->row.stream = mv_build_stream(&d->m->build, stream);
        return true;
    case MV_WORD_TIME_US:
        return take_integer(d, &d->row.time_us);
    case MV_WORD_COMPILE_CONTEXT:
        return take_text(d, &d->tag.compile_context);
    case MV_WORD_USER_METADATA:
        return take_text(d, &d->tag.user_metadata);
    case MV_WORD_FRAMES:
        return take_stack(d);
    default:
        return false;
    }
}

/* One dict, from behind its EMPTY_DICT to behind its SETITEMS. */
static bool take_event(decoder *d, uint64_t *dict_slot)
{
    d->row = MV_EVENT_ROW;
    d->tag = MV_TAG_ROW;
    d->keys = 0;
    *dict_slot = MV_NO_SLOT;
    if (*d->at == MEMOIZE) {
        *dict_slot = d->entries++;
        d->m->memo[*dict_slot] = 0;
        d->at++;
    }
    if (*d->at++ != MARK)
        return false;
    while (d->at < d->safe) {
        if (*d->at == SETITEMS) {
            d->at++;
            return (d->keys & 1ull << MV_WORD_ACTION) && (d->keys & (d->keys - 1));
        }
        if (!take_field(d))
            return false;
    }
    return false;
}

/* Nothing of the attempt may stay: the long way makes the same entries and calls again. */
static void undo(decoder *d, uint32_t calls)
{
    while (d->entries > d->m->memo_count)
        d->m->memo[--d->entries] = 0;
    d->m->calls = calls;
}

static bool make_room(mv_machine *m)
{
    uint64_t wanted = m->memo_count + MOST_ENTRIES;

    if (wanted > m->memo_capacity &&
        !mv_machine_grow(m, &m->memo, &m->memo_capacity, wanted, sizeof *m->memo))
        return false;
    return mv_machine_reserve_frames(m, MOST_FRAMES);
}

const uint8_t *mv_pickle_events(mv_machine *m, const uint8_t *at, const uint8_t *safe)
{
    decoder d = {.m = m, .at = at, .safe = safe, .entries = m->memo_count};
    mv_value event = mv_value_of(MV_VALUE_EVENT, 0);
    uint64_t dict_slot;

    while (make_room(m)) {
        uint32_t calls = m->calls;
        mv_ref ref;
        if (!take_event(&d, &dict_slot)) {
            undo(&d, calls);
            break;
        }
        if (!mv_record_event(m, &d.row, &d.tag, &event) || !mv_machine_push(m, event))
            break;
        ref = (mv_ref)MV_VALUE_EVENT << MV_REF_BITS | (mv_ref)event.bits;
        if (dict_slot != MV_NO_SLOT)
            m->memo[dict_slot] = ref;
        at = d.at;
        if (take_put(&d, ref))
            at = d.at;
        m->memo_count = d.entries;
        if (at >= safe || *at != EMPTY_DICT)
            break;
        d.at = at + 1;
    }
    return at;
}
