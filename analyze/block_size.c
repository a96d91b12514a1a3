#include "analyze/block_size.h"

#include <stdio.h>

mv_block_rules mv_block_rules_of(const mv_trace *trace)
{
    const mv_settings *s = &trace->settings;
    mv_block_rules rules = {.max_split = UINT64_MAX};
    uint32_t row = mv_setting_find(trace, NULL, "max_split_size");

    if (row != MV_NO_ROW && s->kind[row] == MV_SETTING_INT && s->integer[row] >= 0)
        rules.max_split = (uint64_t)s->integer[row];
    row = mv_setting_find(trace, NULL, "expandable_segments");
    rules.expandable = row != MV_NO_ROW && s->integer[row] != 0;
    for (uint32_t i = 0; i < MV_ROUNDUP_STEPS; i++) {
        char key[16];
        snprintf(key, sizeof key, "%u", 1u << i);
        row = mv_setting_find(trace, "roundup_power2_divisions", key);
        if (row != MV_NO_ROW && s->kind[row] == MV_SETTING_INT && s->integer[row] > 0 &&
            s->integer[row] <= UINT32_MAX)
            rules.divisions[i] = (uint64_t)s->integer[row];
    }
    return rules;
}

static uint64_t floor_power(uint64_t bytes)
{
    return (uint64_t)1 << (63 - __builtin_clzll(bytes));
}

/* `step` need not be a power of two: a file may say anything. */
static uint64_t round_to(uint64_t bytes, uint64_t step)
{
    uint64_t over = bytes % step;
    return over ? bytes + (step - over) : bytes;
}

static uint64_t divisions_of(const mv_block_rules *rules, uint64_t bytes)
{
    uint32_t step;

    if (bytes < MV_SMALL_REQUEST)
        return rules->divisions[0];
    step = 63 - (uint32_t)__builtin_clzll(bytes >> 20);
    return rules->divisions[step < MV_ROUNDUP_STEPS ? step : MV_ROUNDUP_STEPS - 1];
}

uint64_t mv_round_request(const mv_block_rules *rules, uint64_t bytes)
{
    uint64_t divisions, power;

    if (bytes >= MV_MOST_REQUEST || bytes < MV_MIN_BLOCK)
        return mv_round_least(bytes);
    divisions = divisions_of(rules, bytes);
    if (divisions <= 1 || bytes <= MV_MIN_BLOCK * divisions)
        return mv_round_least(bytes);
    power = floor_power(bytes);
    if (bytes == power)
        return bytes;
    /* bytes > 512 * divisions, so a step has at least 256 bytes */
    return round_to(bytes, power / divisions);
}
