#include "analyze/diff/pairs.h"

bool mv_pairs_init(mv_pairs *pairs, mv_arena *arena, uint32_t before, uint32_t after)
{
    *pairs = (mv_pairs){.count = {before, after}};
    for (int side = 0; side < 2; side++) {
        uint32_t count = pairs->count[side];
        pairs->partner[side] = mv_push_array(arena, uint32_t, count);
        pairs->key[side] = mv_push_array(arena, uint64_t, count);
        pairs->work[side] = mv_push_array(arena, mv_key_row, count);
        if (!pairs->partner[side] || !pairs->key[side] || !pairs->work[side])
            return false;
        for (uint32_t i = 0; i < count; i++)
            pairs->partner[side][i] = MV_NO_PARTNER;
    }
    return true;
}

static uint32_t gather(mv_pairs *pairs, int side)
{
    mv_key_row *out = pairs->work[side];
    uint32_t count = 0;

    for (uint32_t i = 0; i < pairs->count[side]; i++)
        if (pairs->partner[side][i] == MV_NO_PARTNER && pairs->key[side][i] != MV_NO_KEY)
            out[count++] = (mv_key_row){pairs->key[side][i], i};
    mv_sort_rows(NULL, out, count, MV_RISING(mv_key_row, key));
    return count;
}

static uint32_t run_length(const mv_key_row *items, uint32_t count, uint32_t at)
{
    uint32_t end = at;

    while (end < count && items[end].key == items[at].key)
        end++;
    return end - at;
}

static uint32_t pairs_allowed(mv_pair_rule rule, uint32_t a, uint32_t b)
{
    if (rule == MV_PAIR_LONE)
        return a == 1 && b == 1;
    if (rule == MV_PAIR_EVEN)
        return a == b ? a : 0;
    return a < b ? a : b;
}

void mv_pairs_round(mv_pairs *pairs, mv_pair_rule rule)
{
    const mv_key_row *a = pairs->work[0], *b = pairs->work[1];
    uint32_t a_count = gather(pairs, 0), b_count = gather(pairs, 1), i = 0, j = 0;

    while (i < a_count && j < b_count) {
        uint32_t a_run, b_run, wanted;
        if (a[i].key != b[j].key) {
            if (a[i].key < b[j].key)
                i++;
            else
                j++;
            continue;
        }
        a_run = run_length(a, a_count, i);
        b_run = run_length(b, b_count, j);
        wanted = pairs_allowed(rule, a_run, b_run);
        for (uint32_t k = 0; k < wanted; k++) {
            pairs->partner[0][a[i + k].row] = b[j + k].row;
            pairs->partner[1][b[j + k].row] = a[i + k].row;
        }
        i += a_run;
        j += b_run;
    }
}

static mv_span base_name(mv_span path)
{
    uint64_t at = path.length;

    while (at > 0 && path.data[at - 1] != '/' && path.data[at - 1] != '\\')
        at--;
    return (mv_span){path.data + at, path.length - at};
}

uint64_t mv_pair_mix_frame(uint64_t hash, const mv_trace *trace, mv_frame_id frame)
{
    const mv_frames *f = &trace->frames;

    hash = mv_pair_mix_text(hash, mv_string_span(trace, f->function[frame.row]));
    hash = mv_pair_mix_text(hash, base_name(mv_string_span(trace, f->file[frame.row])));
    return mv_pair_mix(hash, (uint64_t)f->line[frame.row]);
}
