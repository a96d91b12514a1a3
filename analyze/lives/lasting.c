#include "analyze/lives/lasting.h"

#include "base/grow.h"
#include "base/parallel_for.h"
#include "base/search.h"

/* With fewer rows, a thread costs more than it saves. */
enum { MOST_PARTS = 16, PART_ROWS = 1 << 16 };

typedef struct {
    mv_arena arena;
    uint32_t *row; /* [count] rows of one part */
    uint32_t count, capacity;
    bool has_failed;
} part_rows;

typedef struct {
    const mv_alloc_lives *allocs;
    const uint32_t *moment;
    uint32_t moments, parts;
    part_rows found[MOST_PARTS];
} search;

static void look_at_part(void *user, uint32_t part)
{
    search *s = user;
    part_rows *found = &s->found[part];
    const mv_alloc_lives *a = s->allocs;
    uint64_t born = a->count - a->preexisting;
    uint32_t first = a->preexisting + (uint32_t)(born * part / s->parts), at = 0;
    uint32_t end = a->preexisting + (uint32_t)(born * (part + 1) / s->parts);

    if (first < end)
        at = (uint32_t)mv_upper_bound_u32(s->moment, s->moments, a->birth[first]);
    for (uint32_t i = first; i < end; i++) {
        while (at < s->moments && s->moment[at] <= a->birth[i])
            at++;
        if (a->freed[i] < (at < s->moments ? s->moment[at] : MV_NEVER))
            continue;
        if (!mv_append(&found->arena, found->row, found->count, found->capacity, i)) {
            found->has_failed = true;
            return;
        }
    }
}

/* Joins the lists of the parts, after the rows from before the first event. */
static bool join(mv_arena *arena, const search *s, mv_lasting *out)
{
    uint64_t count = s->allocs->preexisting;

    for (uint32_t i = 0; i < s->parts; i++) {
        if (s->found[i].has_failed)
            return false;
        count += s->found[i].count;
    }
    out->row = mv_push_array(arena, uint32_t, count);
    for (; out->row && out->count < s->allocs->preexisting; out->count++)
        out->row[out->count] = out->count;
    for (uint32_t i = 0; out->row && i < s->parts; i++)
        for (uint32_t k = 0; k < s->found[i].count; k++)
            out->row[out->count++] = s->found[i].row[k];
    return out->row != NULL;
}

bool mv_lasting_find(mv_arena *arena, const mv_alloc_lives *allocs, const uint32_t *moment,
                     uint32_t moments, mv_lasting *out)
{
    uint32_t parts = 1 + (allocs->count - allocs->preexisting) / PART_ROWS;
    search s = {.allocs = allocs,
                .moment = moment,
                .moments = moments,
                .parts = parts < MOST_PARTS ? parts : MOST_PARTS};
    bool is_found;

    for (uint32_t i = 0; i < s.parts; i++)
        mv_arena_init(&s.found[i].arena, arena->budget);
    mv_parallel_for(s.parts, 0, look_at_part, &s);
    *out = (mv_lasting){0};
    is_found = join(arena, &s, out);
    for (uint32_t i = 0; i < s.parts; i++)
        mv_arena_release(&s.found[i].arena);
    return is_found;
}
