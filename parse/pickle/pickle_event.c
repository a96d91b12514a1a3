#include "parse/pickle/pickle_event.h"
#include "parse/pickle/opcodes.h"
#include "parse/values/records.h"

/* Events with more memo entries or more frames are left to the machine. */
enum { MOST_ENTRIES = 64, MOST_FRAMES = 1000 };

enum { KEYS = 16, SETS = 64, WAYS = 4, LONG_LIST = 168, LIST_BYTES = 640 };

/* The bytes of a list of frames, from MARK to APPENDS. */
typedef struct {
    uint32_t length; /* length of the bytes; 0: the entry is empty */
    mv_stack_id stack;
    uint8_t bytes[LIST_BYTES];
} spelled_stack;

struct mv_pickle_memory {
    uint64_t overwrites;     /* m->overwrites when the entries were made */
    uint32_t keys;           /* number of keys of the last event that was decoded here; 0: none */
    uint64_t key[KEYS];      /* bytes of each key: BINGET or LONG_BINGET, and its operand */
    uint64_t key_mask[KEYS]; /* mask of the significant bytes of each key */
    uint8_t key_length[KEYS];
    uint8_t word[KEYS];          /* meaning of each key (mv_word) */
    uint64_t text[MV_WORD_KEYS]; /* first 8 bytes of the last value of each string field */
    uint64_t text_mask[MV_WORD_KEYS];
    uint8_t text_length[MV_WORD_KEYS]; /* number of these bytes; 0: none */
    mv_ref text_ref[MV_WORD_KEYS];     /* value that the MEMOIZE of each string stored; 0: the
                                        * string was fetched from the memo */
    mv_string_id text_id[MV_WORD_KEYS];
    uint8_t next_way[2 * SETS];
    spelled_stack stacks[2 * SETS][WAYS]; /* sets of short lists, then sets of long lists */
};

mv_pickle_memory *mv_pickle_memory_new(mv_arena *scratch)
{
    return mv_push_struct(scratch, mv_pickle_memory);
}

/* State of one attempt to decode a dict. The hot path keeps `at` in a local variable, which is
 * passed and returned by value; cold functions use this copy. */
typedef struct {
    mv_machine *m;
    mv_pickle_memory *memory;
    const uint8_t *safe;
    const uint8_t *at;
    uint64_t entries;      /* number of memo entries, including those of this event */
    mv_stream_id stream;   /* stream of the last event here, or MV_NO_ROW */
    uint64_t stream_value; /* its value */
    mv_event_row row;
    mv_tag_row tag;
} decoder;

#define HOT static inline __attribute__((always_inline))

/* Returns the value that the BINGET or LONG_BINGET at *at fetches; 0 if there is no such opcode, or
 * if the value needs special treatment. */
HOT mv_ref take_get(const mv_machine *m, uint64_t entries, const uint8_t **at)
{
    uint32_t slot;

    if (**at == MV_OP_BINGET) {
        slot = (*at)[1];
        *at += 2;
    } else if (**at == MV_OP_LONG_BINGET) {
        slot = mv_load_u32(*at + 1);
        *at += 5;
    } else {
        return 0;
    }
    return slot < entries ? m->memo[slot] : 0;
}

/* Decodes an integer. Returns the position after it, or NULL. */
HOT const uint8_t *take_integer(const uint8_t *at, int64_t *out)
{
    switch (*at) {
    case MV_OP_BININT1:
        *out = at[1];
        return at + 2;
    case MV_OP_BININT2:
        *out = mv_load_u16(at + 1);
        return at + 3;
    case MV_OP_BININT:
        *out = (int32_t)mv_load_u32(at + 1);
        return at + 5;
    case MV_OP_LONG1:
        if (at[1] - 1u > 7)
            return NULL;
        *out = (int64_t)(mv_load_u64(at + 2) << (64 - 8 * at[1])) >> (64 - 8 * at[1]);
        return at + 2 + at[1];
    default:
        return NULL;
    }
}

HOT const uint8_t *take_bytes(const uint8_t *at, uint64_t *out)
{
    int64_t value = -1;

    at = take_integer(at, &value);
    *out = (uint64_t)value;
    return value < 0 ? NULL : at;
}

/* ---- texts ------------------------------------------------------------------------------- */

static void remember_text(mv_pickle_memory *memory, mv_word word, const uint8_t *from,
                          uint64_t bytes, mv_ref ref, mv_string_id id)
{
    memory->text_length[word] = bytes <= 8 ? (uint8_t)bytes : 0;
    if (bytes > 8)
        return;
    memory->text_mask[word] = UINT64_MAX >> (64 - 8 * bytes);
    memory->text[word] = mv_load_u64(from) & memory->text_mask[word];
    memory->text_ref[word] = ref;
    memory->text_id[word] = id;
}

/* Decodes a string, which is either written here and stored by MEMOIZE, or fetched from the
 * memo. */
static bool take_other_text(decoder *d, mv_word word, mv_string_id *out)
{
    const uint8_t *from = d->at;
    bool spelled = *from == MV_OP_SHORT_BINUNICODE;
    mv_ref ref = 0;
    mv_value v;

    if (spelled) {
        if (d->safe - from < 2 + from[1])
            return false;
        v = mv_machine_string(d->m, (const char *)from + 2, from[1]);
        d->at += 2 + from[1];
    } else {
        ref = take_get(d->m, d->entries, &d->at);
        v = mv_value_of(ref >> MV_REF_BITS, ref & MV_REF_MASK);
    }
    if (!mv_value_is_text(&v))
        return false;
    *out = mv_machine_text(d->m, &v);
    if (spelled) {
        if (*d->at++ != MV_OP_MEMOIZE)
            return false;
        ref = (mv_ref)v.kind << MV_REF_BITS | (mv_ref)v.bits;
        d->m->memo[d->entries++] = ref;
    }
    remember_text(d->memory, word, from, (uint64_t)(d->at - from), spelled ? ref : 0, *out);
    return true;
}

/* ---- stacks ------------------------------------------------------------------------------ */

/* Returns the cache set for a short list, which depends on the list's first bytes. */
HOT uint32_t short_set(const uint8_t *at)
{
    return mv_mix(mv_load_u64(at), mv_load_u64(at + 8)) % SETS;
}

/* Returns the cache set for a long list, which depends on bytes in the middle of the list, because
 * long lists contain C++ frames and often begin with the same bytes. */
HOT uint32_t long_set(const uint8_t *at)
{
    return mv_mix(mv_load_u64(at + 48) ^ mv_load_u64(at + 88),
                  mv_load_u64(at + 128) ^ mv_load_u64(at + 160)) %
               SETS +
           SETS;
}

static void remember_stack(mv_pickle_memory *memory, const uint8_t *from, const uint8_t *to,
                           mv_stack_id stack)
{
    uint32_t set = to - from < LONG_LIST ? short_set(from) : long_set(from);
    spelled_stack *entry = &memory->stacks[set][memory->next_way[set]++ % WAYS];

    if (to - from > LIST_BYTES)
        return;
    entry->length = (uint32_t)(to - from);
    entry->stack = stack;
    memcpy(entry->bytes, from, entry->length);
}

/* Decodes a list of frames that is not in the cache: MARK, frames fetched from the memo,
 * APPENDS. */
static bool take_other_frames(decoder *d)
{
    mv_frame_id *frames = d->m->frames;
    const uint8_t *from = d->at;
    uint32_t count = 0;

    if (*d->at++ != MV_OP_MARK)
        return false;
    while (*d->at != MV_OP_APPENDS) {
        mv_ref ref = take_get(d->m, d->entries, &d->at);
        if (ref >> MV_REF_BITS != MV_VALUE_FRAME || count == MOST_FRAMES || d->at >= d->safe)
            return false;
        frames[count++].row = ref & MV_REF_MASK;
    }
    d->at++;
    d->row.stack = mv_build_stack(&d->m->build, frames, count);
    remember_stack(d->memory, from, d->at, d->row.stack);
    return count > 0;
}

HOT const uint8_t *find_in_set(const decoder *d, const spelled_stack *set, const uint8_t *at,
                               mv_stack_id *stack)
{
    for (unsigned way = 0; way < WAYS; way++)
        if (set[way].length && (ptrdiff_t)set[way].length < d->safe - at &&
            memcmp(set[way].bytes, at, set[way].length) == 0) {
            *stack = set[way].stack;
            return at + set[way].length;
        }
    return NULL;
}

/* Looks up a list of frames by its bytes. Returns the position after it, or NULL. */
HOT const uint8_t *take_known_frames(const decoder *d, const uint8_t *at, mv_stack_id *stack)
{
    const uint8_t *after = find_in_set(d, d->memory->stacks[short_set(at)], at, stack);

    if (!after && d->safe - at > LONG_LIST)
        after = find_in_set(d, d->memory->stacks[long_set(at)], at, stack);
    return after;
}

/* Reads an opcode that stores an object in the memo. PyTorch's C++ writer stores an object when it
 * is complete, without gaps between entries. */
static bool take_put(decoder *d, mv_ref ref)
{
    uint64_t slot;

    if (*d->at == MV_OP_BINPUT) {
        slot = d->at[1];
        d->at += 2;
    } else {
        slot = mv_load_u32(d->at + 1);
        d->at += 5;
    }
    if (slot != d->entries)
        return false;
    d->m->memo[d->entries++] = ref;
    return true;
}

HOT bool is_put(const uint8_t *at)
{
    return *at == MV_OP_BINPUT || *at == MV_OP_LONG_BINPUT;
}

/* Decodes a stack that is fetched from the memo. Returns false if the value is not a stack. */
static bool take_shared_stack(decoder *d)
{
    mv_ref ref = take_get(d->m, d->entries, &d->at);

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

/* Decodes a list of frames that is written here, which is a new call. */
HOT bool take_new_stack(decoder *d)
{
    const uint8_t *at = d->at + 1, *after;
    uint64_t slot = MV_NO_SLOT;
    mv_ref ref;

    if (*at == MV_OP_MEMOIZE) {
        slot = d->entries++;
        d->m->memo[slot] = 0; /* the entry cannot be fetched before the object is complete */
        at++;
    }
    d->at = at;
    after = take_known_frames(d, at, &d->row.stack);
    if (after)
        d->at = after;
    else if (!take_other_frames(d))
        return false;
    if (!mv_machine_call(d->m, d->row.stack, &d->row.call))
        return false;
    ref = (mv_ref)MV_VALUE_STACK << MV_REF_BITS | d->row.call;
    if (slot != MV_NO_SLOT)
        d->m->memo[slot] = ref;
    return !is_put(d->at) || take_put(d, ref);
}

/* ---- events ------------------------------------------------------------------------------ */

HOT const uint8_t *take_action(decoder *d, const uint8_t *at)
{
    mv_ref ref = take_get(d->m, d->entries, &at);
    uint32_t action = (ref & MV_REF_MASK) - MV_WORD_ALLOC;

    if (ref >> MV_REF_BITS != MV_VALUE_WORD || action > MV_ACTION_ANNOTATE)
        return NULL;
    d->row.action = (uint8_t)action;
    return at;
}

HOT const uint8_t *take_text(decoder *d, const uint8_t *at, mv_word word, mv_string_id *out)
{
    const mv_pickle_memory *memory = d->memory;

    if (memory->text_length[word] &&
        (mv_load_u64(at) & memory->text_mask[word]) == memory->text[word]) {
        d->m->memo[d->entries] = memory->text_ref[word];
        d->entries += memory->text_ref[word] != 0;
        *out = memory->text_id[word];
        return at + memory->text_length[word];
    }
    d->at = at;
    return take_other_text(d, word, out) ? d->at : NULL;
}

HOT const uint8_t *take_stack(decoder *d, const uint8_t *at)
{
    d->at = at;
    return (*at == MV_OP_EMPTY_LIST ? take_new_stack(d) : take_shared_stack(d)) ? d->at : NULL;
}

/* Decodes a pair of integers, which MEMOIZE stores. */
static bool take_pool(decoder *d)
{
    int64_t a, b;
    const uint8_t *at = take_integer(d->at, &a);

    at = at ? take_integer(at, &b) : NULL;
    if (!at || a < 0 || b < 0 || at[0] != MV_OP_TUPLE2 || at[1] != MV_OP_MEMOIZE)
        return false;
    d->tag.pool = mv_build_pool(&d->m->build, (uint64_t)a, (uint64_t)b);
    d->m->memo[d->entries++] = (mv_ref)MV_VALUE_POOL << MV_REF_BITS | d->tag.pool.row;
    d->at = at + 2;
    return true;
}

/* Neighbouring events usually have the same stream. */
HOT mv_stream_id take_stream(decoder *d, uint64_t value)
{
    if (d->stream.row == MV_NO_ROW || d->stream_value != value) {
        d->stream = mv_build_stream(&d->m->build, value);
        d->stream_value = value;
    }
    return d->stream;
}

HOT const uint8_t *take_field(decoder *d, const uint8_t *at, mv_word word)
{
    uint64_t stream;

    switch (word) {
    case MV_WORD_ACTION:
        return take_action(d, at);
    case MV_WORD_ADDR:
        return take_bytes(at, &d->row.addr);
    case MV_WORD_SIZE:
        return take_bytes(at, &d->row.size);
    case MV_WORD_STREAM:
        at = take_bytes(at, &stream);
        if (at)
            d->row.stream = take_stream(d, stream);
        return at;
    case MV_WORD_TIME_US:
        return take_integer(at, &d->row.time_us);
    case MV_WORD_COMPILE_CONTEXT:
        return take_text(d, at, word, &d->tag.compile_context);
    case MV_WORD_USER_METADATA:
        return take_text(d, at, word, &d->tag.user_metadata);
    case MV_WORD_INTERNAL_METADATA:
        return take_text(d, at, word, &d->tag.internal_metadata);
    case MV_WORD_FRAMES:
        return take_stack(d, at);
    case MV_WORD_POOL_ID:
        d->at = at;
        return take_pool(d) ? d->at : NULL;
    default:
        return NULL;
    }
}

/* Decodes the beginning of an event, which is MARK, with or without MEMOIZE before it. *slot is the
 * memo entry that will refer to the event. */
HOT const uint8_t *begin_event(decoder *d, const uint8_t *at, uint64_t *slot)
{
    d->row = MV_EVENT_ROW;
    d->tag = MV_TAG_ROW;
    *slot = MV_NO_SLOT;
    if (*at == MV_OP_MEMOIZE) {
        *slot = d->entries++;
        d->m->memo[*slot] = 0;
        at++;
    }
    return *at == MV_OP_MARK ? at + 1 : NULL;
}

/* Decodes a dict with the same keys as the last event. `at` is the position after EMPTY_DICT.
 * Returns the position after SETITEMS, or NULL. */
HOT const uint8_t *take_like_event(decoder *d, const uint8_t *at, uint64_t *slot)
{
    const mv_pickle_memory *memory = d->memory;
    uint32_t keys = memory->keys;

    at = begin_event(d, at, slot);
    for (uint32_t i = 0; i < keys; i++) {
        if (!at || at >= d->safe || (mv_load_u64(at) & memory->key_mask[i]) != memory->key[i])
            return NULL;
        at = take_field(d, at + memory->key_length[i], memory->word[i]);
    }
    return at && at < d->safe && *at == MV_OP_SETITEMS ? at + 1 : NULL;
}

/* Decodes a dict with different keys, and remembers these keys for the next event. */
static const uint8_t *take_other_event(decoder *d, const uint8_t *at, uint64_t *slot)
{
    mv_pickle_memory *memory = d->memory;
    uint32_t keys = 0;
    uint64_t set = 0;

    memory->keys = 0;
    at = begin_event(d, at, slot);
    while (at && at < d->safe && *at != MV_OP_SETITEMS) {
        const uint8_t *from = at;
        mv_ref key = take_get(d->m, d->entries, &at);
        mv_word word = key & MV_REF_MASK;
        if (key >> MV_REF_BITS != MV_VALUE_WORD || word >= MV_WORD_KEYS || keys == KEYS ||
            set & 1ull << word)
            return NULL;
        set |= 1ull << word;
        memory->key_length[keys] = (uint8_t)(at - from);
        memory->key_mask[keys] = UINT64_MAX >> (64 - 8 * (at - from));
        memory->key[keys] = mv_load_u64(from) & memory->key_mask[keys];
        memory->word[keys++] = (uint8_t)word;
        at = take_field(d, at, word);
    }
    if (!at || at >= d->safe || keys < 2 || !(set & 1ull << MV_WORD_ACTION))
        return NULL;
    memory->keys = keys;
    return at + 1;
}

/* Undoes the attempt completely, so that the machine can make the same entries and calls again. */
static void undo(decoder *d, uint32_t calls)
{
    while (d->entries > d->m->memo_count)
        d->m->memo[--d->entries] = 0;
    d->m->calls = calls;
}

static bool make_room(mv_machine *m)
{
    return (mv_room_for(m->scratch, m->memo, m->memo_count + MOST_ENTRIES, m->memo_capacity) &&
            mv_room_for(m->scratch, m->frames, MOST_FRAMES, m->frame_capacity)) ||
           mv_machine_full(m, 0);
}

/* Pushes the decoded event, and sets its memo entry. */
HOT const uint8_t *finish_event(decoder *d, const uint8_t *at, uint64_t slot)
{
    mv_value event = mv_value_of(MV_VALUE_EVENT, 0);
    mv_ref ref;

    if (!mv_record_event(d->m, &d->row, &d->tag, &event) || !mv_machine_push(d->m, event))
        return NULL;
    ref = (mv_ref)MV_VALUE_EVENT << MV_REF_BITS | (mv_ref)event.bits;
    if (slot != MV_NO_SLOT)
        d->m->memo[slot] = ref;
    d->at = at;
    if (is_put(at) && take_put(d, ref))
        at = d->at;
    d->m->memo_count = d->entries;
    return at;
}

const uint8_t *mv_pickle_events(mv_machine *m, mv_pickle_memory *memory, const uint8_t *at,
                                const uint8_t *safe)
{
    decoder d = {
        .m = m, .memory = memory, .safe = safe, .entries = m->memo_count, .stream.row = MV_NO_ROW};
    const uint8_t *next = at, *after;
    uint64_t slot;

    if (memory->overwrites != m->overwrites)
        *memory = (mv_pickle_memory){.overwrites = m->overwrites};
    while (make_room(m)) {
        uint32_t calls = m->calls;
        after = memory->keys ? take_like_event(&d, next, &slot) : NULL;
        if (!after) {
            undo(&d, calls);
            after = take_other_event(&d, next, &slot);
        }
        if (!after) {
            undo(&d, calls);
            break;
        }
        after = finish_event(&d, after, slot);
        if (!after)
            break;
        at = after;
        if (at >= safe || *at != MV_OP_EMPTY_DICT)
            break;
        next = at + 1;
    }
    return at;
}
