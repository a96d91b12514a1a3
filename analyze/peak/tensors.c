#include "analyze/peak/tensors.h"

#include <stdio.h>

#include "analyze/lives/alive.h"
#include "base/search.h"
#include "base/sort.h"

/* A tensor that lies in a block, where it occupies the bytes [start, end). */
typedef struct {
    uint64_t start, end;
    uint64_t bytes; /* bytes attributed to the tensor */
    uint32_t alloc;
    uint32_t row;
} placed;

/* Returns the blocks that are allocated at the end, sorted by address. */
static mv_key_row *find_living(mv_arena *scratch, const mv_lives *lives, uint32_t *count)
{
    uint32_t last = lives->events.count ? lives->events.count - 1 : MV_BEFORE;
    mv_alive alive;
    mv_err err = {0};
    mv_key_row *rows;

    if (mv_alive_allocs(scratch, lives, last, &alive, &err) != MV_OK)
        return NULL;
    rows = mv_push_array(scratch, mv_key_row, alive.count);
    for (uint32_t i = 0; rows && i < alive.count; i++)
        rows[i] = (mv_key_row){lives->allocs.addr[alive.row[i]], alive.row[i]};
    if (rows)
        mv_sort_rows(scratch, rows, alive.count, MV_RISING(mv_key_row, key));
    *count = alive.count;
    return rows;
}

/* Returns the block that contains an address, or MV_NO_ROW. */
static uint32_t block_at(const mv_lives *lives, const mv_key_row *rows, uint32_t count,
                         uint64_t addr)
{
    mv_bisect b = mv_bisect_over(0, count);
    const mv_key_row *last = NULL;

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, rows[b.middle].key <= addr);
    if (b.low > 0)
        last = &rows[b.low - 1];
    return last && addr - last->key < lives->allocs.block[last->row] ? last->row : MV_NO_ROW;
}

static bool place(mv_arena *scratch, const mv_trace *trace, const mv_lives *lives, placed *rows,
                  mv_tensor_blocks *out)
{
    const mv_tensors *t = &trace->tensors;
    uint32_t count = 0;
    mv_key_row *alive = find_living(scratch, lives, &count);

    if (!alive)
        return false;
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t alloc;
        uint64_t start, most;
        if (t->device[i] < 0 || (uint32_t)t->device[i] != lives->device || t->bytes[i] == 0)
            continue;
        alloc = block_at(lives, alive, count, t->address[i]);
        if (alloc == MV_NO_ROW) {
            out->outside++;
            continue;
        }
        start = t->address[i] - lives->allocs.addr[alloc];
        most = lives->allocs.block[alloc] - start;
        rows[out->count++] = (placed){.start = start,
                                      .end = start + (t->bytes[i] < most ? t->bytes[i] : most),
                                      .alloc = alloc,
                                      .row = i};
    }
    mv_sort_rows(scratch, rows, out->count, MV_RISING(placed, alloc), MV_RISING(placed, start),
                 MV_FALLING(placed, end), MV_FALLING(placed, row));
    return true;
}

/* Attributes bytes [from, to) of a block to the innermost tensors that contain them, which are
 * those on top of the stack. */
static void count_until(placed *rows, uint32_t *stack, uint32_t *depth, uint64_t from, uint64_t to)
{
    while (*depth > 0 && from < to) {
        placed *top = &rows[stack[*depth - 1]];
        uint64_t end = top->end < to ? top->end : to;
        if (end > from) {
            top->bytes += end - from;
            from = end;
        }
        if (top->end <= to)
            (*depth)--;
    }
}

static bool count_bytes(mv_arena *scratch, placed *rows, uint32_t count)
{
    uint32_t *stack = mv_push_array(scratch, uint32_t, count), depth = 0;

    for (uint32_t i = 0; stack && i < count; i++) {
        bool is_last = i + 1 == count || rows[i + 1].alloc != rows[i].alloc;
        stack[depth++] = i;
        count_until(rows, stack, &depth, rows[i].start, is_last ? UINT64_MAX : rows[i + 1].start);
        depth = is_last ? 0 : depth;
    }
    return stack != NULL;
}

static bool keep(mv_arena *arena, const mv_lives *lives, const placed *rows, mv_tensor_blocks *out)
{
    uint32_t allocs = lives->allocs.count;

    out->row = mv_push_array(arena, uint32_t, out->count);
    out->bytes = mv_push_array(arena, uint64_t, out->count);
    out->first = mv_push_array(arena, uint32_t, (uint64_t)allocs + 1);
    if (!out->row || !out->bytes || !out->first)
        return false;
    for (uint32_t i = 0; i < out->count; i++) {
        out->row[i] = rows[i].row;
        out->bytes[i] = rows[i].bytes;
        out->first[rows[i].alloc + 1]++;
    }
    for (uint32_t i = 0; i < allocs; i++)
        out->first[i + 1] += out->first[i];
    return true;
}

mv_code mv_tensor_blocks_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              mv_tensor_blocks *out, mv_err *err)
{
    mv_arena scratch;
    placed *rows;
    bool is_done;

    *out = (mv_tensor_blocks){0};
    /* on any other level, blocks are not the ones in which PyTorch puts tensors */
    if (trace->tensors.count == 0 || trace->origin.level)
        return MV_OK;
    mv_arena_init(&scratch, arena->budget);
    rows = mv_push_array(&scratch, placed, trace->tensors.count);
    is_done = rows && place(&scratch, trace, lives, rows, out) &&
              count_bytes(&scratch, rows, out->count) && keep(arena, lives, rows, out);
    mv_arena_release(&scratch);
    return is_done ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "named tensors");
}

uint32_t mv_tensor_largest(const mv_tensor_blocks *t, uint32_t alloc)
{
    uint32_t first, count = mv_tensors_in(t, alloc, &first), most = first;

    for (uint32_t i = first; i < first + count; i++)
        if (t->bytes[i] > t->bytes[most])
            most = i;
    return count ? most : MV_NO_ROW;
}

/* Returns the words that follow a tensor's name and type: "AdamW exp_avg", "gradient"; "" for other
 * roles. */
static const char *slot_of(const mv_trace *trace, uint32_t tensor)
{
    const char *slot = mv_string_text(trace, trace->tensors.slot[tensor]);

    if (trace->tensors.role[tensor] == MV_TENSOR_GRADIENT)
        return mv_tensor_role_name(MV_TENSOR_GRADIENT);
    return slot;
}

const char *mv_tensor_text(const mv_trace *trace, uint32_t tensor, char out[MV_TENSOR_TEXT])
{
    const mv_tensors *t = &trace->tensors;
    const char *slot = slot_of(trace, tensor);

    snprintf(out, MV_TENSOR_TEXT, "%.300s %.80s %.40s%s%.60s",
             mv_string_text(trace, t->name[tensor]), mv_string_text(trace, t->shape[tensor]),
             mv_string_text(trace, t->dtype[tensor]), *slot ? " · " : "", slot);
    return out;
}
