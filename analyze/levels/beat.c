#include "analyze/levels/beat.h"

#include "analyze/steps/steps.h"

static bool add_text(mv_arena *arena, mv_strings *s, const char *text, mv_string_id *id)
{
    uint64_t length = strlen(text) + 1, bytes = s->count ? s->at[s->count] : 0;
    char *all = mv_push_array(arena, char, bytes + length);
    mv_value_of_END *at = mv_push_array(arena, mv_value_of_END, (uint64_t)s->count + 2);

    if (!all || !at)
        return false;
    if (s->count) {
        memcpy(all, s->bytes, bytes);
        memcpy(at, s->at, ((uint64_t)s->count + 1) * sizeof *at);
    }
    memcpy(all + bytes, text, length);
    *id = (mv_string_id){s->count++};
    at[s->count] = bytes + length;
    s->bytes = (mv_value_of_TEXT_BYTE *)all;
    s->at = at;
    return true;
}

static bool annotations_push(mv_arena *arena, const mv_annotations *from, uint32_t more,
                             mv_annotations *out)
{
    uint64_t rows = (uint64_t)from->count + more;

    out->count = from->count;
#define PUSH(T, number, name, kind, ...)                        \
    out->name = mv_push_array(arena, mv_value_of_##kind, rows); \
    if (!out->name)                                             \
        return false;                                           \
    if (from->count)                                            \
        memcpy(out->name, from->name, from->count * sizeof *out->name);
    MV_ANNOTATION_COLUMNS(PUSH, )
#undef PUSH
    return true;
}

static bool add_marks(mv_arena *arena, const mv_steps *steps, const mv_events *events,
                      mv_trace *out)
{
    mv_annotations marks;
    mv_string_id name;

    if (!add_text(arena, &out->strings, MV_BEAT_NAME, &name) ||
        !annotations_push(arena, &out->annotations, steps->count, &marks))
        return false;
    for (uint32_t i = 0; i < steps->count; i++) {
        uint32_t at = marks.count++;
        marks.name[at] = name;
        marks.stage[at] = MV_STAGE_MARK;
        marks.device[at] = -1;
        marks.time_us[at] = events->time_us[steps->at[i]];
    }
    out->annotations = marks;
    return true;
}

/* The device that most happens on. */
static uint32_t busiest(const mv_trace *trace)
{
    uint32_t best = 0;

    for (uint32_t d = 1; d < trace->device_count; d++)
        if (trace->devices[d].events.count > trace->devices[best].events.count)
            best = d;
    return best;
}

mv_code mv_beat_mark(mv_arena *arena, const mv_trace *whole, mv_trace *out, mv_err *err)
{
    uint32_t device = busiest(whole);
    mv_arena scratch;
    mv_lives lives;
    mv_steps steps;
    mv_code code;

    mv_arena_init(&scratch, arena->budget);
    code = mv_lives_find(&scratch, whole, device, &lives, err);
    if (code == MV_OK)
        code = mv_steps_find(&scratch, whole, &lives, &steps, err);
    if (code == MV_OK && steps.source == MV_STEPS_INFERRED &&
        !add_marks(arena, &steps, &lives.events, out))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "steps");
    mv_arena_release(&scratch);
    return code;
}
