#include "tests/soundness.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    const char *name;
    const void *rows; /* [count] 32-bit row numbers */
    uint32_t count;
    uint32_t limit;
    bool may_be_none; /* MV_NO_ROW is a row, too */
} id_column;

static bool column_is_sound(const id_column *c)
{
    const uint32_t *rows = c->rows;

    for (uint32_t i = 0; i < c->count; i++)
        if (rows[i] >= c->limit && !(c->may_be_none && rows[i] == MV_NO_ROW))
            return false;
    return true;
}

static const char *first_unsound(const id_column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!column_is_sound(&columns[i]))
            return columns[i].name;
    return NULL;
}

static bool codes_are_below(const uint8_t *codes, uint32_t count, unsigned limit)
{
    for (uint32_t i = 0; i < count; i++)
        if (codes[i] >= limit)
            return false;
    return true;
}

static const char *unsound_strings(const mv_trace *t)
{
    const mv_strings *s = &t->strings;

    for (uint32_t i = 0; i < s->count; i++)
        if (s->at[i] >= s->at[i + 1] || s->bytes[s->at[i + 1] - 1] != 0)
            return "strings.at";
    return NULL;
}

static const char *unsound_stacks(const mv_trace *t)
{
    const mv_stacks *s = &t->stacks;
    uint32_t frames = t->frames.count;

    if (s->count == 0 || s->first[0] != 0 || s->first[1] != 0)
        return "stacks: row 0 is not the empty stack";
    for (uint32_t i = 0; i < s->count; i++)
        if (s->first[i] > s->first[i + 1])
            return "stacks.first";
    for (uint64_t i = 0; i < s->first[s->count]; i++)
        if (s->frame[i].row >= frames)
            return "stacks.frame";
    return NULL;
}

static const char *unsound_tables(const mv_trace *t)
{
    const mv_frames *f = &t->frames;
    const mv_fx *x = &t->fx;
    const mv_tags *g = &t->tags;
    uint32_t strings = t->strings.count, stacks = t->stacks.count;
    const id_column columns[] = {
        {"frames.function", f->function, f->count, strings, true},
        {"frames.file", f->file, f->count, strings, true},
        {"frames.fx", f->fx, f->count, x->count, true},
        {"fx.op", x->op, x->count, strings, true},
        {"fx.name", x->name, x->count, strings, true},
        {"fx.target", x->target, x->count, strings, true},
        {"fx.trace", x->trace, x->count, strings, true},
        {"tags.compile_context", g->compile_context, g->count, strings, true},
        {"tags.user_metadata", g->user_metadata, g->count, strings, true},
        {"tags.internal_metadata", g->internal_metadata, g->count, strings, true},
        {"tags.category", g->category, g->count, strings, true},
        {"tags.action", g->action, g->count, strings, true},
        {"tags.forward", g->forward, g->count, stacks, true},
        {"tags.cpp", g->cpp, g->count, stacks, true},
        {"tags.pool", g->pool, g->count, t->pools.count, true},
    };

    if (t->tags.count == 0 || t->pools.count == 0)
        return "tags or pools: row 0 is missing";
    return first_unsound(columns, sizeof columns / sizeof *columns);
}

static const char *unsound_events(const mv_trace *t, const mv_events *e)
{
    const id_column columns[] = {
        {"events.stack", e->stack, e->count, t->stacks.count, true},
        {"events.call", e->call, e->count, t->calls, true},
        {"events.tag", e->tag, e->count, t->tags.count, false},
        {"events.stream", e->stream, e->count, t->streams.count, false},
    };

    if (!codes_are_below(e->action, e->count, MV_ACTION_COUNT))
        return "events.action";
    return first_unsound(columns, sizeof columns / sizeof *columns);
}

static const char *unsound_segments(const mv_trace *t, const mv_segments *s)
{
    const id_column columns[] = {
        {"segments.stream", s->stream, s->count, t->streams.count, false},
        {"segments.pool", s->pool, s->count, t->pools.count, true},
        {"segments.stack", s->stack, s->count, t->stacks.count, true},
        {"segments.call", s->call, s->count, t->calls, true},
        {"segments.forward", s->forward, s->count, t->stacks.count, true},
    };

    for (uint32_t i = 0; i < s->count; i++)
        if ((uint64_t)s->first_block[i] + s->blocks[i] > t->blocks.count)
            return "segments.first_block";
    if (!codes_are_below(s->kind, s->count, MV_SEGMENT_UNKNOWN + 1) ||
        !codes_are_below(s->is_expandable, s->count, 2))
        return "segments.kind or is_expandable";
    return first_unsound(columns, sizeof columns / sizeof *columns);
}

static const char *unsound_blocks(const mv_trace *t)
{
    const mv_blocks *k = &t->blocks;
    const mv_history *h = &t->history;
    uint32_t stacks = t->stacks.count;
    const id_column columns[] = {
        {"blocks.stack", k->stack, k->count, stacks, true},
        {"blocks.call", k->call, k->count, t->calls, true},
        {"blocks.forward", k->forward, k->count, stacks, true},
        {"history.stack", h->stack, h->count, stacks, true},
        {"history.call", h->call, h->count, t->calls, true},
        {"history.cpp", h->cpp, h->count, stacks, true},
    };

    for (uint32_t i = 0; i < k->count; i++)
        if ((uint64_t)k->first_history[i] + k->histories[i] > h->count)
            return "blocks.first_history";
    if (!codes_are_below(k->state, k->count, MV_BLOCK_UNKNOWN + 1))
        return "blocks.state";
    return first_unsound(columns, sizeof columns / sizeof *columns);
}

static const char *unsound_rest(const mv_trace *t)
{
    const mv_annotations *a = &t->annotations;
    const mv_settings *s = &t->settings;
    const mv_api_calls *c = &t->api_calls;
    const mv_facts *f = &t->facts;
    uint32_t strings = t->strings.count;
    const id_column columns[] = {
        {"api_calls.stack", c->stack, c->count, t->stacks.count, true},
        {"api_calls.api", c->api, c->count, strings, true},
        {"api_calls.library", c->library, c->count, strings, true},
        {"facts.key", f->key, f->count, strings, true},
        {"facts.value", f->value, f->count, strings, true},
        {"annotations.name", a->name, a->count, strings, true},
        {"settings.parent", s->parent, s->count, strings, true},
        {"settings.key", s->key, s->count, strings, true},
        {"settings.text", s->text, s->count, strings, true},
    };

    if (!codes_are_below(a->stage, a->count, MV_STAGE_MARK + 1))
        return "annotations.stage";
    if (!codes_are_below(c->action, c->count, MV_API_ACTION_COUNT))
        return "api_calls.action";
    if (mv_api_call_beyond(t, 0) != MV_NO_ROW)
        return "api_calls.event";
    if (!codes_are_below(s->kind, s->count, MV_SETTING_NONE + 1))
        return "settings.kind";
    return first_unsound(columns, sizeof columns / sizeof *columns);
}

const char *mvt_unsound(const mv_trace *t)
{
    const char *why = unsound_strings(t);

    if (!why)
        why = unsound_stacks(t);
    if (!why)
        why = unsound_tables(t);
    for (uint32_t i = 0; !why && i < t->device_count; i++)
        why = unsound_events(t, &t->devices[i].events);
    if (!why)
        why = unsound_events(t, &t->host_events);
    if (!why)
        why = unsound_segments(t, &t->segments);
    if (!why)
        why = unsound_segments(t, &t->host_segments);
    if (!why)
        why = unsound_blocks(t);
    return why ? why : unsound_rest(t);
}

static void stop(const char *what, const char *which)
{
    fprintf(stderr, "%s: %s\n", what, which);
    abort();
}

int mvt_one_input(const uint8_t *data, size_t size, mvt_read_fn *read)
{
    static const mv_read_opts opts = {0};
    mv_budget budget = {.limit = 256 << 20};
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_arena window, arena;
    mv_trace trace = {0};
    mv_source source;
    mv_code code;
    const char *why = NULL;

    mv_arena_init(&window, &budget);
    mv_arena_init(&arena, &budget);
    code = mv_source_over(&window, (mv_span){data, size}, &source, &err);
    if (code == MV_OK) {
        code = read(&arena, &source, &opts, &trace, &err);
        if (code == MV_OK)
            why = mvt_unsound(&trace);
        else if (err.code != code)
            stop("failed with another code than in the error", mv_code_name(code));
        else if (err.offset != MV_NO_OFFSET && err.offset > size && err.offset > source.passed)
            stop("offset behind the input", err.detail);
    }
    if (why)
        stop("unsound trace", why);
    mv_source_close(&source);
    mv_arena_release(&arena);
    mv_arena_release(&window);
    if (budget.used != 0)
        stop("memory that nobody gave back", "");
    return 0;
}
