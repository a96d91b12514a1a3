/* Finds old live blocks (mv_older in leaks.h). Requires that the sites are counted. */
#include "analyze/leaks/leak_state.h"

#include "base/sort.h"

/* Returns the age of a block in events, from its birth to its free, or to the end of the trace if
 * the block is alive. */
static uint32_t age_of(const mv_lives *lives, uint32_t row)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t birth = a->birth[row] == MV_BEFORE ? 0 : a->birth[row];
    uint32_t end = a->freed[row] == MV_NEVER ? lives->events.count : a->freed[row];

    return end - birth;
}

/* A live block that is older than every freed block of its group was when it was freed. */
typedef struct {
    uint32_t site, group;
    uint32_t age;
    uint64_t bytes;
} old_block;

/* Lists the old blocks, sorted by group and site. Returns NULL when out of memory. */
static old_block *list_blocks(mv_leak_state *w, uint32_t *count)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    uint32_t *longest = mv_push_array(w->scratch, uint32_t, w->sites.groups);
    old_block *blocks = mv_push_array(w->scratch, old_block, w->alive_blocks);

    *count = 0;
    if (!longest || !blocks)
        return NULL;
    for (uint32_t k = 0; k <= w->sites.stacks; k++) {
        uint32_t *of = &longest[w->sites.group[w->sites.of_stack[k]]];
        *of = w->stacks[k].longest > *of ? w->stacks[k].longest : *of;
    }
    for (uint32_t i = 0; i < a->preexisting; i++) {
        uint32_t *of = &longest[mv_leak_group_of(w, i)];
        if (a->freed[i] != MV_NEVER && age_of(w->lives, i) > *of)
            *of = age_of(w->lives, i);
    }
    for (uint32_t k = 0; k < w->floor.lasting.count; k++) {
        uint32_t i = w->floor.lasting.row[k];
        uint32_t site = mv_site_of(&w->sites, a->stack[i]), group = w->sites.group[site];
        if (a->freed[i] == MV_NEVER && age_of(w->lives, i) > longest[group])
            blocks[(*count)++] = (old_block){site, group, age_of(w->lives, i), a->block[i]};
    }
    mv_sort_rows(w->scratch, blocks, *count, MV_RISING(old_block, group),
                 MV_RISING(old_block, site));
    return blocks;
}

bool mv_older_find(mv_leak_state *w)
{
    mv_leaks *out = w->out;
    uint32_t count;
    const old_block *blocks = list_blocks(w, &count);
    uint64_t most = 0, of_site = 0;

    out->older = blocks ? mv_push_array(w->arena, mv_older, count) : NULL;
    if (!out->older)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const old_block *b = &blocks[i];
        bool is_first = i == 0 || b->group != blocks[i - 1].group;
        mv_older *row;

        if (is_first)
            out->older_count++;
        of_site = is_first || b->site != blocks[i - 1].site ? b->bytes : of_site + b->bytes;
        row = &out->older[out->older_count - 1];
        if (is_first || of_site > most) {
            most = of_site;
            row->stack = w->sites.stack[b->site];
        }
        row->bytes += b->bytes;
        row->blocks++;
        row->age_events = b->age > row->age_events ? b->age : row->age_events;
    }
    mv_sort_rows(w->scratch, out->older, out->older_count, MV_FALLING(mv_older, bytes),
                 MV_FALLING(mv_older, age_events));
    return true;
}
