#include "parse/values/records.h"

/* ---- stacks ------------------------------------------------------------------------------ */

bool mv_machine_call(mv_machine *m, mv_stack_id stack, uint32_t *call)
{
    if (!MV_MACHINE_ROOM(m, stack_of_call, calls, call_capacity))
        return false;
    m->stack_of_call[m->calls] = stack;
    *call = m->calls++;
    return mv_machine_built(m);
}

static bool new_call(mv_machine *m, mv_stack_id stack, mv_value *v)
{
    uint32_t call = 0;

    if (!mv_machine_call(m, stack, &call))
        return false;
    v->kind = MV_VALUE_STACK;
    v->bits = call;
    return true;
}

/* Returns the frame for a value, which is a frame or a string, because forward_frames and
 * cpp_frames are lists of strings. */
static bool frame_of(mv_machine *m, const mv_value *v, mv_frame_id *out)
{
    mv_frame_row row = MV_FRAME_ROW;

    if (v->kind == MV_VALUE_FRAME) {
        *out = (mv_frame_id){(uint32_t)v->bits};
        return true;
    }
    if (!mv_value_is_text(v))
        return false;
    row.function = mv_machine_text(m, v);
    *out = mv_build_frame(&m->build, &row);
    return true;
}

static bool reserve_frames(mv_machine *m, uint64_t count)
{
    return mv_room_for(m->scratch, m->frames, count, m->frame_capacity) || mv_machine_full(m, 0);
}

/* ---- settling ---------------------------------------------------------------------------- */

static bool settle_table(mv_machine *m, uint64_t at);

/* Settles a list that was filled piece by piece, which becomes a stack if its items are frames. */
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

bool mv_machine_settle(mv_machine *m, uint64_t at)
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
    mv_machine_decided(m, v);
    v->slot = MV_NO_SLOT;
    return m->code == MV_OK;
}

static bool settle_all(mv_machine *m, uint64_t from, uint64_t count)
{
    for (uint64_t i = from; i < from + count; i++)
        if (m->stack[i].fresh && !mv_machine_settle(m, i))
            return false;
    return true;
}

/* Makes the container at stack[at] a refused value, which stays open and accepts any items. */
static bool refuse_container(mv_machine *m, uint64_t at, mv_value_kind filled_as)
{
    if (!mv_machine_defer(m, &m->stack[at]))
        return false;
    m->stack[at].rows_of = (uint8_t)filled_as;
    mv_machine_decided(m, &m->stack[at]);
    return m->code == MV_OK;
}

/* ---- filling dicts ----------------------------------------------------------------------- */

static const char odd_key[] = "a key is not a string";

/* Collects the keys of the `count` pairs that begin at stack[from] in a set, and settles their
 * values. */
static bool collect_keys(mv_machine *m, uint64_t from, uint64_t count, uint64_t *keys)
{
    uint64_t set = 0;

    for (uint64_t i = 0; i < count; i++) {
        const mv_value *key = &m->stack[from + 2 * i];
        if (!mv_value_is_text(key)) {
            settle_all(m, from, count * 2);
            return mv_machine_fail(m, MV_TYPE, "%s",
                                   mv_machine_is_snapshot(m, &m->stack[from + 2 * i + 1])
                                       ? "a snapshot is under a key; dump it alone"
                                       : odd_key);
        }
        if (key->kind == MV_VALUE_WORD && key->bits < MV_WORD_KEYS) {
            if (set & (1ull << key->bits))
                mv_build_note(&m->build, MV_NOTE_DUPLICATE_KEY, "\"%s\"", mv_machine_quote(m, key));
            set |= 1ull << key->bits;
        }
        if (m->stack[from + 2 * i + 1].fresh && !mv_machine_settle(m, from + 2 * i + 1))
            return false;
    }
    *keys = set;
    return true;
}

/* State that is restored if making a record fails. */
typedef struct {
    uint64_t unknown_keys, unknown_actions, unknown_states;
    uint64_t keys;
    uint32_t listed[MV_VALUE_TENSOR + 1];
} before_record;

static void take_back(mv_note *note, uint64_t count)
{
    note->count = count;
    if (count == 0)
        *note->first = '\0';
}

static void go_back(mv_machine *m, const before_record *before)
{
    mv_trace *trace = m->build.trace;

    take_back(&trace->notes[MV_NOTE_UNKNOWN_KEY], before->unknown_keys);
    take_back(&trace->notes[MV_NOTE_UNKNOWN_ACTION], before->unknown_actions);
    take_back(&trace->notes[MV_NOTE_UNKNOWN_STATE], before->unknown_states);
    trace->keys = before->keys;
    memcpy(m->listed, before->listed, sizeof before->listed);
}

/* Makes a record from the dict stack[at], whose type its keys determine. A dict that the user added
 * may have the same keys with different values. Such a dict is not a record, and is refused where a
 * record is needed. */
static bool make_record(mv_machine *m, mv_record_make_fn *make, mv_pairs p, uint64_t at)
{
    const mv_trace *trace = m->build.trace;
    before_record before;

    before.unknown_keys = trace->notes[MV_NOTE_UNKNOWN_KEY].count;
    before.unknown_actions = trace->notes[MV_NOTE_UNKNOWN_ACTION].count;
    before.unknown_states = trace->notes[MV_NOTE_UNKNOWN_STATE].count;
    before.keys = trace->keys;
    memcpy(before.listed, m->listed, sizeof before.listed);
    if (make(m, p, &m->stack[at]))
        return true;
    go_back(m, &before);
    return refuse_container(m, at, MV_VALUE_DICT);
}

/* Settles a dict that was filled pair by pair. Now that its keys are known, all its pairs are
 * pushed again. */
static bool settle_table(mv_machine *m, uint64_t at)
{
    mv_chain chain = m->chains[m->stack[at].bits];
    uint64_t from = m->depth, keys = 0;
    mv_record_make_fn *make;

    for (uint32_t link = chain.first; link; link = m->links[link - 1].next)
        if (!mv_machine_push(m, m->links[link - 1].key) ||
            !mv_machine_push(m, m->links[link - 1].value))
            return false;
    m->depth = from;
    if (!collect_keys(m, from, chain.count, &keys))
        return false;
    make = mv_record_maker(keys);
    return !make || make_record(m, make, (mv_pairs){m->stack + from, chain.count}, at);
}

/* Returns true if items may be put into a value that was opened as a dict, list or set. */
static bool is_open(const mv_value *v, mv_value_kind filled_as)
{
    return v->fresh &&
           (v->kind == filled_as || (v->kind == MV_VALUE_OTHER && v->rows_of == filled_as));
}

/* Adds items to a refused container, which drops them. */
static bool add_to_other(mv_machine *m, uint64_t from)
{
    if (!settle_all(m, from, m->depth - from))
        return false;
    m->depth = from;
    return true;
}

bool mv_machine_refuse_dict(mv_machine *m, uint64_t from)
{
    if (m->stack[from - 1].kind == MV_VALUE_OTHER)
        return true;
    mv_machine_fail(m, MV_TYPE, "%s", odd_key);
    return refuse_container(m, from - 1, MV_VALUE_DICT);
}

bool mv_machine_set_items(mv_machine *m, uint64_t from)
{
    uint64_t count = (m->depth - from) / 2, keys = 0;
    mv_value *dict = &m->stack[from - 1];
    mv_record_make_fn *make;

    if ((m->depth - from) % 2 != 0)
        return mv_machine_fail(m, MV_CORRUPT, "%s", "a key without a value");
    if (!is_open(dict, MV_VALUE_DICT) && !(dict->fresh && dict->kind == MV_VALUE_TABLE))
        return mv_machine_fail(m, MV_CORRUPT, "%s", "items for something that is not an open dict");
    if (dict->kind == MV_VALUE_OTHER)
        return add_to_other(m, from);
    if (!collect_keys(m, from, count, &keys)) {
        m->depth = from;
        return refuse_container(m, from - 1, MV_VALUE_DICT);
    }
    m->depth = from;
    if (count == 0)
        return true;
    dict = &m->stack[from - 1];
    make = dict->kind == MV_VALUE_DICT && count > 1 ? mv_record_maker(keys) : NULL;
    if (make) {
        if (!make_record(m, make, (mv_pairs){m->stack + from, count}, from - 1))
            return false;
        dict->fresh = dict->kind == MV_VALUE_OTHER;
        mv_machine_decided(m, dict);
        return m->code == MV_OK;
    }
    if (dict->kind == MV_VALUE_DICT && !mv_machine_chain(m, dict, MV_VALUE_TABLE))
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (!mv_machine_link(m, dict, &m->stack[from + 2 * i], &m->stack[from + 2 * i + 1]))
            return false;
    return true;
}

/* ---- filling lists ----------------------------------------------------------------------- */

/* Handles the usual case, which is a whole list of frames. *done stays false for anything else. */
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
    mv_machine_decided(m, list);
    *done = true;
    return m->code == MV_OK;
}

static bool is_row(uint8_t kind)
{
    return kind >= MV_VALUE_EVENT && kind <= MV_VALUE_TENSOR;
}

/* Turns a stack into a chain until it is used, because more frames are added to it. PyTorch writes
 * at most 1,000 frames at a time. */
static bool reopen_stack(mv_machine *m, uint64_t at)
{
    mv_stack_id stack = m->stack_of_call[m->stack[at].bits];
    mv_value *list = &m->stack[at];
    const mv_frame_id *frame;
    uint32_t count;

    frame = mv_stack_frames(m->build.trace, stack, &count);
    if (!mv_machine_chain(m, list, MV_VALUE_CHAIN))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        mv_value v = mv_value_of(MV_VALUE_FRAME, frame[i].row);
        if (!mv_machine_link(m, list, NULL, &v))
            return false;
    }
    if (list->slot != MV_NO_SLOT)
        m->memo[list->slot] = mv_machine_refer_open(m, at);
    return m->code == MV_OK;
}

static bool append_links(mv_machine *m, uint64_t from, uint64_t count)
{
    if (m->stack[from - 1].kind == MV_VALUE_LIST &&
        !mv_machine_chain(m, &m->stack[from - 1], MV_VALUE_CHAIN))
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (!mv_machine_link(m, &m->stack[from - 1], NULL, &m->stack[from + i]))
            return false;
    return true;
}

/* Turns a range of rows into a chain, because its rows are not in the order in which they were
 * made, or because other rows are between them. */
static bool reopen_rows(mv_machine *m, uint64_t at)
{
    mv_value *list = &m->stack[at], why = mv_value_of(MV_VALUE_OTHER, 0);
    uint64_t first = (uint32_t)list->bits, rows = list->bits >> 32;

    mv_machine_fail(m, MV_CORRUPT, "%s", "a record is in two lists, or in a list of others");
    if (!mv_machine_defer(m, &why) || !mv_machine_chain(m, list, MV_VALUE_CHAIN))
        return false;
    m->chains[list->bits].why = (uint32_t)why.bits;
    for (uint64_t i = 0; i < rows; i++) {
        mv_value row = mv_value_of(list->rows_of, first + i);
        if (!mv_machine_link(m, list, NULL, &row))
            return false;
    }
    return true;
}

/* Adds rows to a list. Rows are made in file order, so a list of rows is a range, unless it is one
 * of the root's lists (rows.c). */
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
    list->bits = rows << 32 | first;
    for (uint64_t i = 0; i < count; i++)
        if (item[i].kind != list->rows_of || item[i].bits != first + rows + i)
            return reopen_rows(m, from - 1) && append_links(m, from, count);
    list->bits = (rows + count) << 32 | first;
    return true;
}

/* Returns true if a list is a pool id, which is a pair of integers that are not negative. */
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

static const mv_value *find_refused(const mv_machine *m, uint64_t from, uint64_t count)
{
    for (uint64_t i = from; i < from + count; i++)
        if (mv_value_is_refused(&m->stack[i]))
            return &m->stack[i];
    return NULL;
}

/* Drops a list, except for the reason why one of its items was refused, for which the list is then
 * refused too. */
static void make_other(mv_machine *m, mv_value *list, const mv_value *why)
{
    list->kind = MV_VALUE_OTHER;
    list->rows_of = MV_VALUE_LIST;
    list->bits = why->bits;
    mv_machine_decided(m, list);
}

static bool append_to(mv_machine *m, uint64_t from, uint64_t count)
{
    mv_value *list = &m->stack[from - 1];
    const mv_value *refused;
    bool done = false;

    if (list->kind == MV_VALUE_LIST && !append_frames(m, from, count, &done))
        return false;
    if (done)
        return true;
    if (!settle_all(m, from, count))
        return false;
    list = &m->stack[from - 1];
    refused = find_refused(m, from, count);
    if (refused) {
        make_other(m, list, refused);
        return m->code == MV_OK;
    }
    if (list->kind == MV_VALUE_ROWS || (list->kind == MV_VALUE_LIST && is_row(m->stack[from].kind)))
        return append_rows(m, from, count);
    if (list->kind == MV_VALUE_LIST && is_pair(&m->stack[from], count)) {
        make_pair(m, from, list);
        mv_machine_decided(m, list);
        return mv_machine_built(m);
    }
    if (list->kind == MV_VALUE_STACK && !reopen_stack(m, from - 1))
        return false;
    if (list->kind == MV_VALUE_POOL) {
        static const mv_value other = {.kind = MV_VALUE_OTHER};
        make_other(m, list, &other);
    }
    if (list->kind == MV_VALUE_OTHER)
        return m->code == MV_OK;
    return append_links(m, from, count);
}

bool mv_machine_append_items(mv_machine *m, uint64_t from)
{
    uint64_t count = m->depth - from;
    const mv_value *list = &m->stack[from - 1];

    if (!list->fresh || list->kind == MV_VALUE_DICT || list->kind == MV_VALUE_TABLE ||
        (list->kind == MV_VALUE_OTHER && list->rows_of != MV_VALUE_LIST))
        return mv_machine_fail(m, MV_CORRUPT, "%s", "items for something that is not an open list");
    if (count > 0 && !append_to(m, from, count))
        return false;
    m->depth = from;
    return true;
}

bool mv_machine_make_tuple(mv_machine *m, uint64_t from)
{
    uint64_t count = m->depth - from;
    mv_value tuple = mv_value_of(count ? MV_VALUE_OTHER : MV_VALUE_EMPTY, 0);
    const mv_value *refused;

    if (!settle_all(m, from, count))
        return false;
    refused = find_refused(m, from, count);
    if (refused)
        tuple.bits = refused->bits;
    if (is_pair(&m->stack[from], count))
        make_pair(m, from, &tuple);
    m->depth = from;
    return mv_machine_built(m) && mv_machine_push(m, tuple);
}

/* ---- sets -------------------------------------------------------------------------------- */

static const char what_sets_are[] = "a set does not occur in a memory snapshot";

bool mv_machine_push_set(mv_machine *m)
{
    if (!mv_machine_push_refused(m, MV_TYPE, "%s", what_sets_are))
        return false;
    m->stack[m->depth - 1].fresh = 1;
    return true;
}

bool mv_machine_add_items(mv_machine *m, uint64_t from)
{
    if (!is_open(&m->stack[from - 1], MV_VALUE_UNSET))
        return mv_machine_fail(m, MV_CORRUPT, "%s", "items for something that is not an open set");
    return add_to_other(m, from);
}

bool mv_machine_make_frozen_set(mv_machine *m, uint64_t from)
{
    return add_to_other(m, from) && mv_machine_push_refused(m, MV_TYPE, "%s", what_sets_are);
}
