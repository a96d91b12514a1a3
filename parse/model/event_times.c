#include "parse/model/event_times.h"

#include <string.h>

#include "base/grow.h"
#include "base/pages.h"

/* With 16 bytes for a jump, bytes pay off if fewer than one event in 16 is a jump. */
enum { BLOCK = 64, MOST_MEAN = 32 };

bool mv_packed_times_begin(mv_arena *arena, uint32_t count, uint64_t us, mv_packed_times *out)
{
    *out = (mv_packed_times){.count = count,
                             .step_bytes = us / (count + 1ull) < MOST_MEAN ? 1 : 2,
                             .base = mv_push_array(arena, int64_t, count / BLOCK + 1ull)};
    out->step = mv_arena_push(arena, count, out->step_bytes);
    return out->base && out->step;
}

/* ---- packing ----------------------------------------------------------------------------- */

static uint64_t step_to(const int64_t *time_us, uint32_t event)
{
    return (uint64_t)time_us[event] - (uint64_t)time_us[event - 1];
}

/* Store the steps to events [from, end). Return a number that is too large for the stored steps if
 * one of the steps is. */
#define DEFINE_STORE(type)                                                                      \
    static uint64_t store_##type(const int64_t *time_us, uint32_t from, uint32_t end, void *to) \
    {                                                                                           \
        type *step = to;                                                                        \
        uint64_t bits = 0;                                                                      \
        for (uint32_t i = from; i < end; i++) {                                                 \
            bits |= step_to(time_us, i);                                                        \
            step[i] = (type)step_to(time_us, i);                                                \
        }                                                                                       \
        return bits;                                                                            \
    }
DEFINE_STORE(uint8_t)
DEFINE_STORE(uint16_t)

static mv_code add_jumps(mv_arena *arena, uint64_t most, uint32_t from, uint32_t end,
                         mv_times_piece *p)
{
    for (uint32_t i = from; i < end; i++) {
        if (p->time_us[i] < p->time_us[i - 1])
            return MV_CORRUPT;
        if (step_to(p->time_us, i) > most &&
            !mv_append(arena, p->jumps, p->jump_count, p->jump_capacity,
                       (mv_time_jump){i, p->time_us[i]}))
            return MV_NOMEM;
    }
    return MV_OK;
}

mv_code mv_times_piece_pack(const mv_packed_times *times, mv_arena *arena, const int64_t *time_us,
                            uint32_t count, mv_times_piece *out)
{
    uint64_t most = times->step_bytes == 1 ? UINT8_MAX : UINT16_MAX;
    mv_code code = MV_OK;

    *out = (mv_times_piece){.count = count,
                            .time_us = time_us,
                            .step = mv_arena_push_unset(arena, count, times->step_bytes)};
    if (!out->step || (count > 0 && !mv_append(arena, out->jumps, out->jump_count,
                                               out->jump_capacity, (mv_time_jump){0, time_us[0]})))
        return MV_NOMEM;
    for (uint32_t from = 1; from < count && code == MV_OK; from += BLOCK) {
        uint32_t end = count - from > BLOCK ? from + BLOCK : count;
        uint64_t bits = times->step_bytes == 1 ? store_uint8_t(time_us, from, end, out->step)
                                               : store_uint16_t(time_us, from, end, out->step);
        if (bits > most)
            code = add_jumps(arena, most, from, end, out);
    }
    return code;
}

mv_code mv_packed_times_add(mv_packed_times *t, mv_arena *arena, uint32_t first,
                            const mv_times_piece *p)
{
    if (p->count == 0)
        return MV_OK;
    if (t->jump_count > 0 && p->time_us[0] < t->last_us)
        return MV_CORRUPT;
    if (!mv_room_for(arena, t->jumps, (uint64_t)t->jump_count + p->jump_count, t->jump_capacity))
        return MV_NOMEM;
    for (uint32_t i = 0; i < p->jump_count; i++)
        t->jumps[t->jump_count++] = (mv_time_jump){first + p->jumps[i].event, p->jumps[i].time_us};
    t->last_us = p->time_us[p->count - 1];
    return MV_OK;
}

void mv_packed_times_copy(const mv_packed_times *t, uint32_t first, const mv_times_piece *p)
{
    char *to = (char *)t->step + (uint64_t)first * t->step_bytes;
    uint64_t bytes = (uint64_t)p->count * t->step_bytes;

    mv_pages_take(to, bytes);
    memcpy(to, p->step, bytes);
    for (uint32_t i = (BLOCK - first % BLOCK) % BLOCK; i < p->count; i += BLOCK)
        t->base[(first + i) / BLOCK] = p->time_us[i];
}

/* ---- reading ----------------------------------------------------------------------------- */

int64_t mv_packed_time(const mv_packed_times *t, uint32_t event)
{
    const uint8_t *narrow = t->step;
    const uint16_t *wide = t->step;
    mv_bisect b = mv_bisect_over(0, t->jump_count);
    uint32_t from = event / BLOCK * BLOCK;
    uint64_t time = (uint64_t)t->base[event / BLOCK];

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, t->jumps[b.middle].event <= event);
    if (b.low > 0 && t->jumps[b.low - 1].event > from) {
        from = t->jumps[b.low - 1].event;
        time = (uint64_t)t->jumps[b.low - 1].time_us;
    }
    for (uint32_t i = from + 1; i <= event; i++)
        time += t->step_bytes == 1 ? narrow[i] : wide[i];
    return (int64_t)time;
}
