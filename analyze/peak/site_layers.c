#include "analyze/peak/site_layers.h"

#include "base/sort.h"

/* A block that is allocated at the given moment and belongs to a loop. */
typedef struct {
    uint32_t site, loop, index;
    uint64_t bytes;
} layer_block;

static bool list_blocks(mv_arena *scratch, const mv_lives *lives, const mv_layers *layers,
                        const mv_attribution *found, layer_block **out, uint32_t *count)
{
    uint32_t *site = mv_peak_sites_of_parts(scratch, found);

    *out = mv_push_array(scratch, layer_block, found->alive.count);
    *count = 0;
    for (uint32_t i = 0; site && *out && i < found->alive.count; i++) {
        uint32_t row = found->alive.row[i], of = site[found->part_of[row]];
        if (layers->loop[row] && of < found->count)
            (*out)[(*count)++] = (layer_block){of, layers->loop[row] - 1, layers->index[row],
                                               lives->allocs.block[row]};
    }
    return site && *out;
}

/* Adds a block to the layers of a loop; blocks must be added in order. */
static void add_block(mv_site_layers *to, const layer_block *block)
{
    mv_site_layer *last = to->count ? &to->layers[to->count - 1] : NULL;

    if (!last || last->index != block->index) {
        last = &to->layers[to->count++];
        *last = (mv_site_layer){.index = block->index};
    }
    last->blocks++;
    last->bytes += block->bytes;
    to->bytes += block->bytes;
}

static uint32_t find_odd(const mv_site_layers *of)
{
    uint32_t odd = MV_NO_ROW;
    /* if all layers but one are equal, two of the first three are equal */
    uint64_t usual =
        of->count < 3 ? 0
        : of->layers[0].bytes == of->layers[1].bytes || of->layers[0].bytes == of->layers[2].bytes
            ? of->layers[0].bytes
            : of->layers[1].bytes;

    for (uint32_t i = 0; of->count >= 3 && i < of->count; i++) {
        if (of->layers[i].bytes == usual)
            continue;
        if (odd != MV_NO_ROW)
            return MV_NO_ROW;
        odd = i;
    }
    return odd;
}

static void measure(mv_site_layers *of)
{
    of->fewest_blocks = UINT32_MAX;
    of->least = UINT64_MAX;
    for (uint32_t i = 0; i < of->count; i++) {
        const mv_site_layer *layer = &of->layers[i];
        of->least = layer->bytes < of->least ? layer->bytes : of->least;
        of->most = layer->bytes > of->most ? layer->bytes : of->most;
        of->fewest_blocks = layer->blocks < of->fewest_blocks ? layer->blocks : of->fewest_blocks;
        of->most_blocks = layer->blocks > of->most_blocks ? layer->blocks : of->most_blocks;
    }
    of->odd = find_odd(of);
}

mv_site_layers *mv_site_layers_find(mv_arena *arena, const mv_lives *lives, const mv_layers *layers,
                                    const mv_attribution *found)
{
    mv_site_layers *out = mv_push_array(arena, mv_site_layers, found->count);
    mv_site_layer *room = NULL;
    layer_block *blocks = NULL;
    uint32_t count = 0;
    mv_arena scratch;

    mv_arena_init(&scratch, arena->budget);
    if (out && list_blocks(&scratch, lives, layers, found, &blocks, &count))
        room = mv_push_array(arena, mv_site_layer, count);
    for (uint32_t i = 0; room && i < found->count; i++)
        out[i].loop = MV_NO_ROW;
    if (room)
        mv_sort_rows(&scratch, blocks, count, MV_RISING(layer_block, site),
                     MV_RISING(layer_block, loop), MV_RISING(layer_block, index));
    for (uint32_t i = 0; room && i < count;) {
        mv_site_layers sum = {.loop = blocks[i].loop, .layers = room};
        uint32_t site = blocks[i].site;
        for (; i < count && blocks[i].site == site && blocks[i].loop == sum.loop; i++)
            add_block(&sum, &blocks[i]);
        room += sum.count;
        measure(&sum);
        if (out[site].loop == MV_NO_ROW || sum.bytes > out[site].bytes)
            out[site] = sum;
    }
    mv_arena_release(&scratch);
    return room ? out : NULL;
}
