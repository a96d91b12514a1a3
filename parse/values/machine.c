#include "parse/values/records.h"

#include "base/text.h"

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
              "action words are in the order of mv_action");

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

/* ---- refused values ---------------------------------------------------------------------- */

/* Stores the reason of a refusal. The text is shared with the previous refusal if it is the same,
 * because many consecutive values are often refused for the same reason. */
static const char *keep_detail(mv_machine *m)
{
    uint32_t count = m->refusal_count;

    if (count > 0 && strcmp(m->refusals[count - 1].detail, m->detail) == 0)
        return m->refusals[count - 1].detail;
    return mv_arena_printf(m->scratch, "%s", m->detail);
}

bool mv_machine_defer(mv_machine *m, mv_value *v)
{
    mv_refusal refusal = {m->code, m->failed_at, NULL};

    if (m->code != MV_TYPE && m->code != MV_RANGE && m->code != MV_CORRUPT)
        return false;
    if (refusal.offset == MV_NO_OFFSET)
        refusal.offset = m->offset(m->reader);
    m->code = MV_OK;
    m->failed_at = MV_NO_OFFSET;
    refusal.detail = keep_detail(m);
    if (!refusal.detail)
        return mv_machine_full(m, 0);
    if (!MV_MACHINE_ROOM(m, refusals, refusal_count, refusal_capacity))
        return false;
    m->refusals[m->refusal_count++] = refusal;
    v->kind = MV_VALUE_OTHER;
    v->bits = m->refusal_count;
    return true;
}

bool mv_machine_fail_refused(mv_machine *m, const mv_value *v)
{
    const mv_refusal *refusal;
    uint64_t why = v->kind == MV_VALUE_CHAIN ? m->chains[v->bits].why : 0;

    if (mv_value_is_refused(v))
        why = v->bits;
    if (!why)
        return false;
    refusal = &m->refusals[why - 1];
    if (m->code == MV_OK)
        m->failed_at = refusal->offset;
    mv_machine_fail(m, refusal->code, "%s", refusal->detail);
    return true;
}

bool mv_machine_push_refused(mv_machine *m, mv_code code, const char *format, ...)
{
    mv_value v = mv_value_of(MV_VALUE_OTHER, 0);
    char detail[sizeof m->detail];
    va_list args;

    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    mv_machine_fail(m, code, "%s", detail);
    return mv_machine_defer(m, &v) && mv_machine_push(m, v);
}

bool mv_machine_built(mv_machine *m)
{
    return m->build.code == MV_OK || mv_machine_fail(m, m->build.code, "%s", "");
}

bool mv_machine_full(mv_machine *m, uint64_t count)
{
    return count > MV_REF_MASK ? mv_machine_fail(m, MV_LIMIT, "%s", "objects")
                               : mv_machine_fail(m, MV_NOMEM, "%s", "");
}

bool mv_machine_grow_stack(mv_machine *m)
{
    return mv_room(m->scratch, m->stack, m->depth, m->capacity) || mv_machine_full(m, 0);
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
    *m = (mv_machine){.scratch = scratch, .words = {.arena = scratch}, .failed_at = MV_NO_OFFSET};
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
    mv_machine_built(m);
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
    mv_machine_built(m);
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

bool mv_value_is_text(const mv_value *v)
{
    return v->kind == MV_VALUE_STRING || v->kind == MV_VALUE_WORD;
}

mv_string_id mv_machine_text(mv_machine *m, const mv_value *v)
{
    if (v->kind == MV_VALUE_STRING)
        return (mv_string_id){(uint32_t)v->bits};
    if (m->word_string[v->bits].row == MV_NO_ROW)
        m->word_string[v->bits] =
            mv_build_string(&m->build, word_texts[v->bits].text, word_texts[v->bits].length);
    return m->word_string[v->bits];
}

const char *mv_word_text(mv_word word)
{
    return word_texts[word].text;
}

const char *mv_machine_quote(mv_machine *m, const mv_value *key)
{
    if (key->kind == MV_VALUE_WORD)
        return word_texts[key->bits].text;
    return mv_string_text(m->build.trace, (mv_string_id){(uint32_t)key->bits});
}

/* ---- memo -------------------------------------------------------------------------------- */

static mv_ref box(mv_machine *m, const mv_value *v)
{
    if (!MV_MACHINE_ROOM(m, boxes, box_count, box_capacity))
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

mv_ref mv_machine_refer_open(mv_machine *m, uint64_t at)
{
    if (at > MV_REF_MASK)
        mv_machine_fail(m, MV_LIMIT, "%s", "values on the stack");
    return (mv_ref)MV_VALUE_OPEN << MV_REF_BITS | (mv_ref)at;
}

/* Returns true if the kind of a container is still undecided. It is decided when something else
 * refers to the container. */
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
        /* Writers number entries without gaps, so a much higher number is wrong, and would cost
         * memory. */
        if (slot > m->memo_count + (1u << 20))
            return mv_machine_fail(m, MV_RANGE, "memo index %llu", (unsigned long long)slot);
        if (!mv_room_for(m->scratch, m->memo, slot + 1, m->memo_capacity))
            return mv_machine_full(m, 0);
    }
    if (slot >= m->memo_count)
        m->memo_count = slot + 1;
    else
        m->overwrites++;
    top = &m->stack[m->depth - 1];
    if (top->fresh) {
        if (top->slot != MV_NO_SLOT)
            return mv_machine_fail(m, MV_CORRUPT, "%s", "container remembered twice");
        top->slot = (uint32_t)slot;
    }
    m->memo[slot] = is_undecided(top) ? mv_machine_refer_open(m, m->depth - 1) : refer(m, top);
    return m->code == MV_OK;
}

/* Pushes a container that is still on the stack, such as the empty list that a segment without a
 * stack shares with its blocks. The container directly below a mark is being filled; all other
 * containers are complete. */
static bool get_open(mv_machine *m, uint64_t slot)
{
    uint64_t at = m->memo[slot] & MV_REF_MASK;

    for (uint32_t i = m->mark_count; i > 0 && m->marks[i - 1] > at; i--)
        if (m->marks[i - 1] == at + 1)
            return mv_machine_fail(m, MV_CYCLE, "memo entry %llu", (unsigned long long)slot);
    if (at >= m->depth || m->stack[at].slot != slot)
        return mv_machine_fail(m, MV_CORRUPT, "memo entry %llu is gone", (unsigned long long)slot);
    return mv_machine_settle(m, at) && mv_machine_get(m, slot);
}

bool mv_machine_get_slow(mv_machine *m, uint64_t slot)
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

void mv_machine_decided(mv_machine *m, const mv_value *v)
{
    if (v->slot != MV_NO_SLOT && !is_undecided(v))
        m->memo[v->slot] = refer(m, v);
}

/* ---- chains ------------------------------------------------------------------------------ */

bool mv_machine_chain(mv_machine *m, mv_value *v, mv_value_kind kind)
{
    if (!MV_MACHINE_ROOM(m, chains, chain_count, chain_capacity))
        return false;
    m->chains[m->chain_count] = (mv_chain){0};
    v->kind = (uint8_t)kind;
    v->bits = m->chain_count++;
    return true;
}

bool mv_machine_link(mv_machine *m, const mv_value *to, const mv_value *key, const mv_value *value)
{
    mv_chain *chain = &m->chains[to->bits];

    if (!MV_MACHINE_ROOM(m, links, link_count, link_capacity))
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
