#include "analyze/graphs/graphs.h"

#include "analyze/graphs/graph_search.h"
#include "base/names.h"
#include "base/size.h"
#include "base/text.h"

MV_NAMES(mv_graph_state_name, mv_graph_state, MV_GRAPH_STATE_LIST, MV_SECOND, "")

mv_code mv_graphs_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const uint8_t *kinds, mv_graphs *out, mv_err *err)
{
    mv_graph_search s = {
        .arena = arena, .trace = trace, .lives = lives, .kinds = kinds, .out = out};
    mv_arena scratch;
    bool is_enough;

    *out = (mv_graphs){0};
    mv_arena_init(&scratch, arena->budget);
    s.scratch = &scratch;
    is_enough = mv_graph_captures_find(&s) && mv_graph_memory_find(&s);
    mv_arena_release(&scratch);
    return is_enough ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "captured graphs");
}

/* ---- words ------------------------------------------------------------------------------- */

static uint64_t sum_if_known(uint64_t sum, uint64_t bytes)
{
    return sum == MV_NO_BYTES || bytes == MV_NO_BYTES ? MV_NO_BYTES : sum + bytes;
}

const char *mv_graphs_text(mv_arena *arena, const mv_trace *trace, const mv_graphs *graphs)
{
    mv_text_maker words = {.arena = arena};
    char alone[MV_SIZE_TEXT], together[MV_SIZE_TEXT], rest[MV_SIZE_TEXT];
    uint64_t memory = 0, own = 0, unused = 0, left = 0;
    bool is_least = false;    /* if a capture has no name, adjacent captures count as one */
    bool may_be_user = false; /* pools with ids (0, N) may also belong to a MemPool */
    const char *text;

    for (uint32_t i = 0; i < graphs->count; i++) {
        memory += graphs->captures[i].memory;
        own += graphs->captures[i].own;
        if (!mv_pool_is_private(graphs->captures[i].pool) || *graphs->captures[i].name)
            continue;
        is_least = true;
        may_be_user = may_be_user || trace->pools.b[graphs->captures[i].pool.row] > 0;
    }
    for (uint32_t i = 0; i < graphs->pool_count; i++) {
        unused = sum_if_known(unused, graphs->pools[i].unused);
        left = sum_if_known(left, graphs->pools[i].left);
    }
    if (graphs->count == 0)
        return "";
    text = mv_make_text(&words, "%s%u capture%s of CUDA graphs%s: %s one by one, %s together",
                        is_least ? "at least " : "", graphs->count, mv_plural(graphs->count),
                        may_be_user ? " or uses of a MemPool" : "", mv_size_text(alone, memory),
                        mv_size_text(together, own));
    if (unused != MV_NO_BYTES && unused > 0)
        text = mv_make_text(&words, "%s; %s of their pools were never used by a capture", text,
                            mv_size_text(rest, unused));
    if (left != MV_NO_BYTES && left > 0)
        text = mv_make_text(&words, "%s; %s served only graphs that were destroyed", text,
                            mv_size_text(rest, left));
    return words.failed ? NULL : text;
}
