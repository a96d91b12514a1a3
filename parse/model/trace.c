#include "parse/model/trace.h"

#include <stdio.h>

#include "base/numbers.h"
#include "base/utf8.h"

static const struct {
    const char *name, *text;
} note_texts[MV_NOTE_COUNT] = {
#define MV_NOTE_TEXT(name, code, text) {code, text},
    MV_NOTE_LIST(MV_NOTE_TEXT)
#undef MV_NOTE_TEXT
};

#define NAME(name, text) text,
static const char *const actions[] = {MV_ACTION_LIST(NAME)};
static const char *const segment_kinds[] = {MV_SEGMENT_KIND_LIST(NAME)};
static const char *const block_states[] = {MV_BLOCK_STATE_LIST(NAME)};
static const char *const stages[] = {MV_STAGE_LIST(NAME)};
static const char *const setting_kinds[] = {MV_SETTING_KIND_LIST(NAME)};

const char *mv_action_name(mv_action action)
{
    return action < MV_ACTION_COUNT ? actions[action] : "?";
}

const char *mv_event_action(const mv_trace *trace, const mv_events *events, uint32_t event)
{
    uint8_t action = events->action[event];

    if (action == MV_ACTION_OTHER && trace->tags.action[events->tag[event].row].row != MV_NO_ROW)
        return mv_string_text(trace, trace->tags.action[events->tag[event].row]);
    return mv_action_name(action);
}

const char *mv_pool_text(const mv_trace *trace, mv_pool_id pool, char out[MV_POOL_TEXT])
{
    if (pool.row >= trace->pools.count)
        snprintf(out, MV_POOL_TEXT, "(unknown pool)");
    else
        snprintf(out, MV_POOL_TEXT, "(%llu, %llu)", (unsigned long long)trace->pools.a[pool.row],
                 (unsigned long long)trace->pools.b[pool.row]);
    return out;
}

const char *mv_block_state_name(mv_block_state state)
{
    return block_states[state <= MV_BLOCK_UNKNOWN ? state : MV_BLOCK_UNKNOWN];
}

const char *mv_segment_kind_name(mv_segment_kind kind)
{
    return segment_kinds[kind <= MV_SEGMENT_UNKNOWN ? kind : MV_SEGMENT_UNKNOWN];
}

const char *mv_stage_name(mv_stage stage)
{
    return stages[stage <= MV_STAGE_MARK ? stage : MV_STAGE_OTHER];
}

/* "alloc_async"; "?" if unknown */
static const char *api_action_name(mv_api_action action)
{
    switch (action) {
#define MV_API_NAME(name, number, text, ...) \
    case MV_API_##name:                      \
        return text;
        MV_API_ACTION_LIST(MV_API_NAME)
#undef MV_API_NAME
    default:
        return "?";
    }
}

/* "alloc"; "?" if unknown */
static const char *heap_action_name(mv_heap_action action)
{
    switch (action) {
#define MV_HEAP_NAME(name, number, text) \
    case MV_HEAP_##name:                 \
        return text;
        MV_HEAP_ACTION_LIST(MV_HEAP_NAME)
#undef MV_HEAP_NAME
    default:
        return "?";
    }
}

const char *mv_tensor_role_name(mv_tensor_role role)
{
    static const char *const roles[] = {
#define MV_TENSOR_ROLE_NAME(name, text) text,
        MV_TENSOR_ROLE_LIST(MV_TENSOR_ROLE_NAME)
#undef MV_TENSOR_ROLE_NAME
    };
    return roles[role <= MV_TENSOR_NAMED ? role : MV_TENSOR_NAMED];
}

const char *mv_kind_code_name(mv_kind kind, uint8_t code)
{
    switch (kind) {
    case MV_KIND_ACTION:
        return mv_action_name(code);
    case MV_KIND_SEGMENT_KIND:
        return mv_segment_kind_name(code);
    case MV_KIND_BLOCK_STATE:
        return mv_block_state_name(code);
    case MV_KIND_STAGE:
        return mv_stage_name(code);
    case MV_KIND_SETTING_KIND:
        return setting_kinds[code <= MV_SETTING_NONE ? code : MV_SETTING_NONE];
    case MV_KIND_HEAP_ACTION:
        return heap_action_name(code);
    case MV_KIND_API_ACTION:
        return api_action_name(code);
    case MV_KIND_TENSOR_ROLE:
        return mv_tensor_role_name(code);
    default:
        return code ? "1" : "0";
    }
}

const char *mv_format_name(mv_format format)
{
    static const char *const names[] = {"none", "pickle", "msgpack", "msgpack", "bin",
                                        "rmm",  "xplane", "pprof",   "kineto"};
    return names[format <= MV_FORMAT_KINETO ? format : MV_FORMAT_NONE];
}

const char *mv_note_name(mv_note_code code)
{
    return code < MV_NOTE_COUNT ? note_texts[code].name : "?";
}

const char *mv_note_text(mv_note_code code)
{
    return code < MV_NOTE_COUNT ? note_texts[code].text : "?";
}

void mv_note_describe(mv_note *note, const char *text, uint64_t length)
{
    if (length > sizeof note->first - 1)
        length = sizeof note->first - 1;
    memcpy(note->first, text, length);
    note->first[length] = 0;
    for (char *nul; (nul = memchr(note->first, 0, length));)
        *nul = '?';
    mv_utf8_sanitize(note->first);
}

uint32_t mv_trace_devices(const mv_trace *trace)
{
    uint32_t count = trace->device_count;

    for (uint32_t i = 0; i < trace->segments.count; i++)
        if (trace->segments.device[i] >= 0 && (uint32_t)trace->segments.device[i] >= count)
            count = (uint32_t)trace->segments.device[i] + 1;
    return count;
}

mv_events mv_trace_events(const mv_trace *trace, uint32_t device)
{
    if (device >= trace->device_count)
        return (mv_events){0};
    return trace->devices[device].events;
}

uint32_t mv_api_call_beyond(const mv_trace *trace, uint32_t from)
{
    const mv_api_calls *c = &trace->api_calls;

    for (uint32_t i = from; i < c->count; i++) {
        bool known = c->device[i] >= 0 && (uint32_t)c->device[i] < trace->device_count;
        if (c->event[i] > (known ? trace->devices[c->device[i]].events.count : 0))
            return i;
    }
    return MV_NO_ROW;
}

uint32_t mv_setting_find(const mv_trace *trace, const char *parent, const char *key)
{
    const mv_settings *s = &trace->settings;

    for (uint32_t i = 0; i < s->count; i++) {
        bool top = s->parent[i].row == MV_NO_ROW;
        if (top != (parent == NULL))
            continue;
        if (parent && strcmp(mv_string_text(trace, s->parent[i]), parent) != 0)
            continue;
        if (strcmp(mv_string_text(trace, s->key[i]), key) == 0)
            return i;
    }
    return MV_NO_ROW;
}

bool mv_setting_is_on(const mv_trace *trace, const char *key)
{
    uint32_t row = mv_setting_find(trace, NULL, key);

    if (row == MV_NO_ROW)
        return false;
    return trace->settings.kind[row] == MV_SETTING_FLOAT ? trace->settings.real[row] > 0
                                                         : trace->settings.integer[row] > 0;
}

bool mv_trace_had_key(const mv_trace *trace, mv_key key)
{
    if (trace->keys & MV_KEYS_KNOWN)
        return (trace->keys & key) != 0;
    switch (key) {
    case MV_KEY_SETTINGS:
        return trace->settings.count > 0;
    case MV_KEY_ANNOTATIONS:
        return trace->annotations.count > 0;
    case MV_KEY_HOST:
        return trace->host_segments.count > 0 || trace->host_events.count > 0;
    default:
        return trace->history.count == 0; /* PyTorch 2.1 replaced the key "history" with the block's
                                           * address */
    }
}

const char *mv_fact_find(const mv_trace *trace, const char *key)
{
    for (uint32_t i = 0; i < trace->facts.count; i++)
        if (strcmp(mv_string_text(trace, trace->facts.key[i]), key) == 0)
            return mv_string_text(trace, trace->facts.value[i]);
    return NULL;
}

uint64_t mv_fact_of_device(const mv_trace *trace, const char *key, uint32_t device)
{
    const char *allocator = mv_trace_allocator(trace), *value;
    char text[64];
    uint64_t number;

    if (!allocator || (trace->origin.level && strcmp(trace->origin.level, allocator) != 0))
        return 0;
    snprintf(text, sizeof text, "%s%u", key, device);
    value = mv_fact_find(trace, text);
    return value && mv_number_read(value, &number) ? number : 0;
}

bool mv_trace_is_captured(const mv_trace *trace)
{
    bool has_calls = trace->api_calls.count || trace->samples.count || trace->heap_calls.count;

    return (trace->facts.count > 0 || (trace->notes[MV_NOTE_LOST_FACTS].count > 0 && has_calls)) &&
           !mv_trace_allocator(trace);
}

bool mv_trace_may_be_captured(const mv_trace *trace)
{
    return mv_trace_is_captured(trace) ||
           (trace->facts.count == 0 && trace->notes[MV_NOTE_LOST_FACTS].count > 0);
}

const char *mv_trace_allocator(const mv_trace *trace)
{
    static const char *const known[] = {"rmm", "xla", "jax", "pytorch"};
    const char *name = mv_fact_find(trace, MV_FACT_ALLOCATOR);

    for (unsigned i = 0; name && i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0)
            return known[i];
    return NULL;
}

bool mv_trace_is_missing_reserved(const mv_trace *trace)
{
    const char *allocator = mv_trace_allocator(trace);

    return allocator && strcmp(allocator, "pytorch") != 0;
}
