#include "analyze/lives/lasting.h"

#include "base/parallel_for.h"
#include "base/search.h"

/* With fewer rows, a thread costs more than it saves. */
enum { MOST_PARTS = 16, PART_ROWS = 1 << 16 };

typedef struct {
    const mv_alloc_lives *allocs;
    const uint32_t *moment;
    uint32_t moments, parts;
    uint32_t *rows;                 /* the list; NULL: rows are only counted */
    uint32_t first[MOST_PARTS + 1]; /* [parts + 1] first entry of each part in the list */
} search;

static void look_at_part(void *user, uint32_t part)
{
    search *s = user;
    const mv_alloc_lives *a = s->allocs;
    uint64_t born = a->count - a->preexisting;
    uint32_t first = a->preexisting + (uint32_t)(born * part / s->parts), at = 0;
    uint32_t end = a->preexisting + (uint32_t)(born * (part + 1) / s->parts), count = 0;

    if (first < end)
        at = (uint32_t)mv_upper_bound_u32(s->moment, s->moments, a->birth[first]);
    for (uint32_t i = first; i < end; i++) {
        while (at < s->moments && s->moment[at] <= a->birth[i])
            at++;
        if (a->freed[i] < (at < s->moments ? s->moment[at] : MV_NEVER))
            continue;
        if (s->rows)
            s->rows[s->first[part] + count] = i;
        count++;
    }
    if (!s->rows)
        s->first[part + 1] = count;
}

bool mv_lasting_find(mv_arena *arena, const mv_alloc_lives *allocs, const uint32_t *moment,
                     uint32_t moments, mv_lasting *out)
{
    uint32_t older = allocs->preexisting, parts = 1 + (allocs->count - older) / PART_ROWS;
    search s = {.allocs = allocs,
                .moment = moment,
                .moments = moments,
                .parts = parts < MOST_PARTS ? parts : MOST_PARTS,
                .first = {older}};

    mv_parallel_for(s.parts, 0, look_at_part, &s);
    for (uint32_t i = 0; i < s.parts; i++)
        s.first[i + 1] += s.first[i];
    *out = (mv_lasting){s.first[s.parts], mv_push_array(arena, uint32_t, s.first[s.parts])};
    s.rows = out->row;
    for (uint32_t i = 0; s.rows && i < older; i++)
        s.rows[i] = i;
    if (s.rows)
        mv_parallel_for(s.parts, 0, look_at_part, &s);
    return s.rows != NULL;
}
