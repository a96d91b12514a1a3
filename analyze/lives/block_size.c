#include "analyze/lives/block_size.h"

#include "parse/model/digest.h"

#include "analyze/lives/lives.h"

#include <stdio.h>

/* ---- which allocator ---------------------------------------------------------------------- */

/* The minimum number of blocks that fit only one of the rules, so that chance is excluded. */
enum { ENOUGH = 4, MAJORITY = 8 };

typedef struct {
    mv_block_rules cuda, npu;
    uint32_t only_cuda, only_npu; /* number of blocks that fit only one of the rules */
} comparison;

static void compare_block(const mv_trace *trace, uint32_t block, comparison *c, mv_rounding *out)
{
    const mv_blocks *b = &trace->blocks;
    uint64_t requested;
    bool cuda, npu;

    if (!mv_block_is_active(trace, block) ||
        (b->requested[block] == MV_NO_BYTES && mv_block_newest(trace, block) == MV_NO_ROW))
        return;
    requested = mv_block_requested(trace, block);
    cuda = mv_round_request(&c->cuda, requested) == b->size[block];
    npu = mv_round_request(&c->npu, requested) == b->size[block];
    out->blocks++;
    out->cuda_fits += cuda;
    out->npu_fits += npu;
    c->only_cuda += cuda && !npu;
    c->only_npu += npu && !cuda;
}

static bool names_npu(const mv_trace *trace)
{
    const mv_strings *s = &trace->strings;
    static const char name[] = "torch_npu";

    return s->count > 0 && memmem(s->bytes, s->at[s->count], name, sizeof name - 1) != NULL;
}

static mv_rounding compare_rules(const mv_trace *trace, const mv_block_rules *rules)
{
    const mv_segments *s = &trace->segments;
    comparison c = {.cuda = *rules, .npu = *rules};
    mv_rounding out = {0};

    c.npu.pad = MV_NPU_PAD;
    for (uint32_t i = 0; i < s->count; i++) {
        if (!s->is_expandable[i] && s->kind[i] != MV_SEGMENT_SMALL)
            continue;
        for (uint32_t k = s->first_block[i]; k < s->first_block[i] + s->blocks[i]; k++)
            compare_block(trace, k, &c, &out);
    }
    if (c.only_npu < MAJORITY * c.only_cuda || mv_trace_is_captured(trace))
        return out;
    out.is_named = names_npu(trace);
    out.is_npu = c.only_npu >= ENOUGH || out.is_named;
    return out;
}

/* ---- settings ----------------------------------------------------------------------------- */

static bool has_expandable(const mv_trace *trace)
{
    const mv_segments *s = &trace->segments;

    for (uint32_t i = 0; i < s->count; i++)
        if (s->is_expandable[i])
            return true;
    return mv_trace_has_action(trace, MV_ACTION_SEGMENT_MAP);
}

static mv_block_rules recorded_rules(const mv_trace *trace)
{
    const mv_settings *s = &trace->settings;
    mv_block_rules rules = {.max_split = UINT64_MAX};
    uint32_t row = mv_setting_find(trace, NULL, "max_split_size");

    if (row != MV_NO_ROW && s->kind[row] == MV_SETTING_INT && s->integer[row] >= 0)
        rules.max_split = (uint64_t)s->integer[row];
    row = mv_setting_find(trace, NULL, "expandable_segments");
    rules.expandable = row != MV_NO_ROW ? s->integer[row] != 0 : has_expandable(trace);
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

mv_rounding mv_rounding_of(const mv_trace *trace)
{
    mv_block_rules rules = recorded_rules(trace);

    return compare_rules(trace, &rules);
}

mv_block_rules mv_block_rules_of(const mv_trace *trace)
{
    mv_block_rules rules = recorded_rules(trace);

    if (compare_rules(trace, &rules).is_npu)
        rules.pad = MV_NPU_PAD;
    return rules;
}

/* ---- rounding ----------------------------------------------------------------------------- */

static uint64_t floor_power(uint64_t bytes)
{
    return (uint64_t)1 << (63 - __builtin_clzll(bytes));
}

/* Rounds up to a multiple of `step`, which is usually a power of two. Files may contain any
 * value. */
static uint64_t round_to(uint64_t bytes, uint64_t step)
{
    uint64_t over = step & (step - 1) ? bytes % step : bytes & (step - 1);
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

    if (bytes >= MV_MOST_REQUEST || bytes + rules->pad < MV_MIN_BLOCK)
        return mv_round_least(rules, bytes);
    divisions = divisions_of(rules, bytes + rules->pad);
    if (divisions <= 1 || bytes + rules->pad <= MV_MIN_BLOCK * divisions)
        return mv_round_least(rules, bytes);
    bytes += rules->pad;
    power = floor_power(bytes);
    if (bytes == power)
        return bytes;
    /* bytes > 512 * divisions, so a step has at least 256 bytes */
    return round_to(bytes, divisions & (divisions - 1) ? power / divisions
                                                       : power >> __builtin_ctzll(divisions));
}
