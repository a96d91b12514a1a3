#include "parse/values/records.h"

#define BIT(word) (1ull << MV_WORD_##word)

/* ---- the end ----------------------------------------------------------------------------- */

static bool take_setting(mv_machine *m, mv_string_id parent, const mv_value *key, const mv_value *v)
{
    mv_setting_row row = MV_SETTING_ROW;

    row.parent = parent;
    row.key = mv_machine_text(m, key);
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
    } else if (mv_value_is_text(v)) {
        row.kind = MV_SETTING_TEXT;
        row.text = mv_machine_text(m, v);
    } else {
        return !mv_machine_fail_refused(m, v) &&
               (v->kind == MV_VALUE_EMPTY || mv_record_unknown_key(m, key));
    }
    mv_build_setting(&m->build, &row);
    return mv_machine_built(m);
}

/* Limit for settings that share a dict. Each such setting adds all rows of the dict, so a small
 * file could produce a huge table. Real files have a few dozen settings. Beyond MOST_SHARED rows,
 * there may not be more rows than pairs in the file. */
enum { MOST_SHARED = 1024 };

static bool take_nested(mv_machine *m, const mv_link *outer)
{
    mv_chain chain = m->chains[outer->value.bits];
    mv_string_id parent = mv_machine_text(m, &outer->key);

    if ((uint64_t)m->build.trace->settings.count + chain.count >
        (uint64_t)m->link_count + MOST_SHARED)
        return mv_machine_fail(m, MV_LIMIT, "\"%s\": one dict is used in too many settings",
                               mv_word_text(MV_WORD_ALLOCATOR_SETTINGS));
    for (uint32_t at = chain.first; at; at = m->links[at - 1].next)
        if (!take_setting(m, parent, &m->links[at - 1].key, &m->links[at - 1].value))
            return false;
    return true;
}

static bool take_settings(mv_machine *m, const mv_value *v)
{
    if (v->kind == MV_VALUE_EMPTY)
        return true;
    if (v->kind != MV_VALUE_TABLE)
        return mv_record_wrong_type(m, MV_WORD_ALLOCATOR_SETTINGS, v, "a dict");
    m->build.trace->settings.count = 0;
    for (uint32_t at = m->chains[v->bits].first; at; at = m->links[at - 1].next) {
        mv_link link = m->links[at - 1];
        if (link.value.kind != MV_VALUE_TABLE) {
            if (!take_setting(m, MV_NO_STRING, &link.key, &link.value))
                return false;
            continue;
        }
        if (!take_nested(m, &link))
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
        return mv_record_wrong_type(m, MV_WORD_DEVICE_TRACES, v, "a list of lists of events");
    chain = m->chains[v->bits];
    if (chain.count > MV_MOST_DEVICES)
        return mv_machine_fail(m, MV_RANGE, "%u devices", chain.count);
    devices = mv_push_array(m->scratch, mv_range, chain.count);
    if (!devices)
        return mv_machine_fail(m, MV_NOMEM, "%s", "");
    for (uint32_t at = chain.first; at; at = m->links[at - 1].next)
        if (!mv_record_rows(m, MV_WORD_DEVICE_TRACES, MV_VALUE_EVENT, &m->links[at - 1].value,
                            &devices[count++]))
            return false;
    ranges->devices = devices;
    ranges->device_count = count;
    return true;
}

static mv_word root_word(const mv_link *link)
{
    return link->key.kind == MV_VALUE_WORD ? (mv_word)link->key.bits : MV_WORD_COUNT;
}

/* The ranges of rows that belong to the root's lists. */
typedef struct {
    mv_range annotations, tensors;
} own_rows;

static bool root_field(mv_machine *m, const mv_link *link, mv_build_ranges *ranges, own_rows *own,
                       uint64_t *keys)
{
    const mv_value *v = &link->value;
    mv_word word = root_word(link);

    if (word < MV_WORD_KEYS)
        *keys |= 1ull << word;
    switch (word) {
    case MV_WORD_SEGMENTS:
        return mv_record_rows(m, word, MV_VALUE_SEGMENT, v, &ranges->segments);
    case MV_WORD_DEVICE_TRACES:
        return take_traces(m, v, ranges);
    case MV_WORD_ALLOCATOR_SETTINGS:
        return take_settings(m, v);
    case MV_WORD_EXTERNAL_ANNOTATIONS:
        return mv_record_rows(m, word, MV_VALUE_ANNOTATION, v, &own->annotations);
    case MV_WORD_HOST_SEGMENTS:
        return mv_record_rows(m, word, MV_VALUE_SEGMENT, v, &ranges->host_segments);
    case MV_WORD_HOST_TRACES:
        return mv_record_rows(m, word, MV_VALUE_EVENT, v, &ranges->host_events);
    case MV_WORD_MEMVIZ_TENSORS:
        return mv_record_rows(m, word, MV_VALUE_TENSOR, v, &own->tensors);
    default:
        return mv_record_unknown_key(m, &link->key);
    }
}

static void note_loose_rows(mv_machine *m, mv_value_kind rows_of, uint64_t made, uint64_t placed,
                            const char *what)
{
    uint64_t own = made - m->copied[rows_of]; /* number of rows, without their copies */

    if (placed < own)
        mv_build_note(&m->build, MV_NOTE_LOOSE, "%llu %s", (unsigned long long)(own - placed),
                      what);
}

/* Counts the rows that are in none of the root's lists, and adds a note about them. */
static void note_loose(mv_machine *m, const mv_build_ranges *ranges, const own_rows *own)
{
    uint64_t placed = ranges->host_events.count;
    uint64_t segments = ranges->segments.count + (uint64_t)ranges->host_segments.count;

    for (uint32_t i = 0; i < ranges->device_count; i++)
        placed += ranges->devices[i].count;
    note_loose_rows(m, MV_VALUE_EVENT, m->build.events.count, placed, "events");
    note_loose_rows(m, MV_VALUE_SEGMENT, m->build.segments.count, segments, "segments");
    note_loose_rows(m, MV_VALUE_ANNOTATION, m->build.trace->annotations.count,
                    own->annotations.count, "annotations");
    note_loose_rows(m, MV_VALUE_TENSOR, m->build.trace->tensors.count, own->tensors.count,
                    "tensors");
}

static void note_keys(mv_machine *m, uint64_t keys)
{
    m->build.trace->keys |= MV_KEYS_KNOWN | (keys & BIT(ALLOCATOR_SETTINGS) ? MV_KEY_SETTINGS : 0) |
                            (keys & BIT(EXTERNAL_ANNOTATIONS) ? MV_KEY_ANNOTATIONS : 0) |
                            (keys & (BIT(HOST_SEGMENTS) | BIT(HOST_TRACES)) ? MV_KEY_HOST : 0);
}

/* PyTorch writes three to six keys. */
enum { KEYS_LOOKED_AT = 16 };

bool mv_machine_is_snapshot(const mv_machine *m, const mv_value *v)
{
    uint32_t looked_at = 0;

    if (v->kind != MV_VALUE_TABLE)
        return false;
    for (uint32_t at = m->chains[v->bits].first; at && looked_at++ < KEYS_LOOKED_AT;
         at = m->links[at - 1].next)
        if (m->links[at - 1].key.kind == MV_VALUE_WORD &&
            (m->links[at - 1].key.bits == MV_WORD_SEGMENTS ||
             m->links[at - 1].key.bits == MV_WORD_DEVICE_TRACES))
            return true;
    return false;
}

/* Refuses a root that is not a snapshot. If the user dumped several snapshots, or a snapshot inside
 * other data, the message tells where a snapshot is. */
static bool refuse_root(mv_machine *m, const mv_value *root, const char *otherwise)
{
    bool has_links = root->kind == MV_VALUE_TABLE || root->kind == MV_VALUE_CHAIN;

    for (uint32_t at = has_links ? m->chains[root->bits].first : 0; at;
         at = m->links[at - 1].next) {
        if (!mv_machine_is_snapshot(m, &m->links[at - 1].value))
            continue;
        if (root->kind == MV_VALUE_CHAIN)
            return mv_machine_fail(m, MV_FORMAT, "%s",
                                   "a snapshot is in a list; dump each one separately");
        return mv_machine_fail(m, MV_FORMAT, "a snapshot is under the key \"%.60s\"; dump it alone",
                               mv_machine_quote(m, &m->links[at - 1].key));
    }
    return mv_machine_fail(m, MV_FORMAT, "%s", otherwise);
}

static bool take_root(mv_machine *m, const mv_value *root, mv_build_ranges *ranges)
{
    mv_trace *trace = m->build.trace;
    own_rows own = {0};
    uint32_t last[MV_WORD_KEYS] = {0}; /* the last value of a repeated key wins */
    uint64_t keys = 0;

    if (root->kind == MV_VALUE_EMPTY || root->kind == MV_VALUE_ROWS) {
        mv_build_note(&m->build, MV_NOTE_LIST_ROOT, "%s", "");
        note_keys(m, 0);
        return mv_record_rows(m, MV_WORD_SEGMENTS, MV_VALUE_SEGMENT, root, &ranges->segments);
    }
    if (mv_machine_fail_refused(m, root))
        return false;
    if (root->kind != MV_VALUE_TABLE)
        return refuse_root(m, root, "no dict of lists; pass the file that _dump_snapshot wrote");
    for (uint32_t at = m->chains[root->bits].first; at; at = m->links[at - 1].next)
        if (root_word(&m->links[at - 1]) < MV_WORD_KEYS)
            last[root_word(&m->links[at - 1])] = at;
    for (uint32_t at = m->chains[root->bits].first; at; at = m->links[at - 1].next) {
        mv_link link = m->links[at - 1];
        if (root_word(&link) < MV_WORD_KEYS && last[root_word(&link)] != at)
            continue;
        if (!root_field(m, &link, ranges, &own, &keys))
            return false;
    }
    if (!(keys & (BIT(SEGMENTS) | BIT(DEVICE_TRACES))))
        return refuse_root(m, root,
                           "neither \"segments\" nor \"device_traces\", as in a checkpoint; pass "
                           "the file that _dump_snapshot wrote");
    if (!(keys & BIT(SEGMENTS)))
        mv_build_note(&m->build, MV_NOTE_NO_HEAP, "%s", "");
    note_keys(m, keys);
    note_loose(m, ranges, &own);
    mv_table_cut(mv_table_find(MV_WIRE_ANNOTATIONS), &trace->annotations, own.annotations.first,
                 own.annotations.count, &trace->annotations);
    mv_table_cut(mv_table_find(MV_WIRE_TENSORS), &trace->tensors, own.tensors.first,
                 own.tensors.count, &trace->tensors);
    return true;
}

mv_code mv_machine_finish(mv_machine *m, mv_err *err)
{
    mv_build_ranges ranges = {0};

    if (m->code == MV_OK && m->depth != 1)
        mv_machine_fail(m, MV_CORRUPT, "%llu values left on the stack at the end",
                        (unsigned long long)m->depth);
    if (m->code == MV_OK && mv_machine_settle(m, 0))
        take_root(m, &m->stack[0], &ranges);
    if (m->code != MV_OK)
        return mv_fail(err, m->code, m->failed_at, "%s", m->detail);
    m->build.trace->calls = m->calls;
    return mv_build_finish(&m->build, &ranges, err);
}
