#include "analyze/advice/changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/advice/variables.h"
#include "analyze/code/culprit.h"
#include "analyze/peak/layers.h"
#include "analyze/steps/step_floor.h"
#include "base/grow.h"
#include "base/size.h"
#include "base/text.h"
#include "parse/model/event_times.h"

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_code_facts *facts; /* NULL: not computed yet */
    const mv_code_change *change;
    mv_edit *edit;
    const char *about, *assumed;
    uint8_t *rows;
} reading;

static mv_code no_memory(mv_err *err)
{
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
}

/* ---- arguments --------------------------------------------------------------------------- */

/* Returns the filter of a change, which is the change's argument without the factor for `scale`. */
static const char *filter_text(mv_arena *arena, const mv_code_change *change)
{
    const char *sign = change->kind == MV_CODE_CHANGE_SCALE ? strrchr(change->text, '=') : NULL;

    return sign ? mv_arena_text(arena, change->text, (uint64_t)(sign - change->text))
                : change->text;
}

/* Reads a decimal factor as a fraction: "0.75" is 75/100. */
static bool read_factor(const char *text, uint64_t *numerator, uint64_t *denominator)
{
    *numerator = 0;
    *denominator = 1;
    if (!*text)
        return false;
    for (bool is_part = false; *text; text++) {
        if (*text == '.' && !is_part && text[1]) {
            is_part = true;
            continue;
        }
        if (*text < '0' || *text > '9' || *numerator > 100000 || *denominator > 100000)
            return false;
        *numerator = *numerator * 10 + (uint64_t)(*text - '0');
        *denominator *= is_part ? 10 : 1;
    }
    return true;
}

static bool is_size(const mv_code_change *change, uint64_t *bytes)
{
    return change->kind == MV_CODE_CHANGE_PREALLOC && mv_size_parse(change->text, bytes) &&
           *bytes > 0;
}

bool mv_code_change_is_fine(mv_arena *arena, const mv_code_change *change, char why[MV_FILTER_WHY])
{
    const char *sign = change->text ? strrchr(change->text, '=') : NULL, *text;
    uint64_t a, b;
    mv_filter filter;

    switch (change->kind) {
    case MV_CODE_CHANGE_ONE_STREAM:
    case MV_CODE_CHANGE_EMPTY_CACHE:
        return true;
    case MV_CODE_CHANGE_ZERO:
        snprintf(why, MV_FILTER_WHY, "expected 1, 2 or 3, and --ranks R");
        return change->text && strlen(change->text) == 1 && strchr("123", *change->text) &&
               change->ranks > 0;
    case MV_CODE_CHANGE_SCALE:
        snprintf(why, MV_FILTER_WHY, "expected a filter, '=' and a factor, such as batch.py=0.5");
        if (!sign || sign == change->text || !read_factor(sign + 1, &a, &b))
            return false;
        break;
    default:
        if (is_size(change, &a))
            return true;
        break;
    }
    text = filter_text(arena, change);
    snprintf(why, MV_FILTER_WHY, "expected a filter");
    return text && *text && mv_filter_read(arena, text, &filter, why);
}

/* ---- matching allocations ---------------------------------------------------------------- */

/* Returns the number and total size of the selected rows: "5 allocations, 240 MiB in all". */
static const char *count_rows(reading *r)
{
    const mv_alloc_lives *a = &r->lives->allocs;
    uint64_t bytes = 0;
    uint32_t count = 0;
    char text[MV_SIZE_TEXT];

    for (uint32_t i = 0; i < a->count; i++)
        if (r->rows[i]) {
            bytes += a->requested[i] == MV_NO_BYTES ? 0 : a->requested[i];
            count++;
        }
    return count ? mv_arena_printf(r->arena, "%u allocation%s, %s in all", count, mv_plural(count),
                                   mv_size_text(text, bytes))
                 : "no allocation matches";
}

static mv_code match(reading *r, mv_err *err)
{
    const char *text = filter_text(r->arena, r->change);
    char why[MV_FILTER_WHY];
    mv_filter_bits bits;
    mv_filter filter;
    mv_code code;

    if (!text || !mv_filter_read(r->arena, text, &filter, why))
        return text ? mv_fail(err, MV_RANGE, MV_NO_OFFSET, "%s", why) : no_memory(err);
    code = mv_filter_allocs(r->arena, r->trace, r->lives, NULL, &filter, &bits, err);
    for (uint32_t i = 0; code == MV_OK && i < r->lives->allocs.count; i++)
        r->rows[i] = mv_filter_has(&bits, i);
    return code;
}

mv_code mv_code_facts_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           const uint8_t *kinds, mv_code_facts *out, mv_err *err)
{
    if (mv_categories_find(arena, trace, lives, kinds, NULL, &out->categories, err) != MV_OK ||
        mv_layers_find(arena, trace, lives, &out->categories, &out->layers, err) != MV_OK)
        return err->code;
    if (!mv_variables_end(arena, trace, lives, kinds, &out->gone))
        return no_memory(err);
    return mv_steps_find(arena, trace, lives, &out->steps, err);
}

/* Returns the facts, which are computed if the caller gave none. Returns NULL when out of
 * memory. */
static const mv_code_facts *facts_of(reading *r, mv_err *err)
{
    mv_code_facts *facts;
    uint8_t *kinds;

    if (r->facts)
        return r->facts;
    facts = mv_push_struct(r->arena, mv_code_facts);
    kinds = mv_frame_kinds(r->arena, r->trace);
    if (!facts || !kinds)
        no_memory(err);
    else if (mv_code_facts_find(r->arena, r->trace, r->lives, kinds, facts, err) == MV_OK)
        r->facts = facts;
    return r->facts;
}

/* ---- changes with their own rows --------------------------------------------------------- */

static mv_code shard(reading *r, mv_err *err)
{
    uint32_t stage = (uint32_t)(*r->change->text - '0');
    const mv_code_facts *facts = facts_of(r, err);

    if (!facts)
        return err->code;
    for (uint32_t i = 0; i < r->lives->allocs.count; i++) {
        uint16_t c = facts->categories.of_alloc[i];
        r->rows[i] = c == MV_CATEGORY_OPTIMIZER_STATE || (stage > 1 && c == MV_CATEGORY_GRADIENT) ||
                     (stage > 2 && c == MV_CATEGORY_PARAMETER);
    }
    r->edit->kind = MV_EDIT_SCALE;
    r->edit->numerator = 1;
    r->edit->denominator = r->change->ranks;
    r->assumed = mv_arena_printf(
        r->arena, "%s divided by %llu; buffers of the collectives are not added%s",
        stage == 1   ? "optimizer state is"
        : stage == 2 ? "optimizer state and gradients are"
                     : "optimizer state, gradients and parameters are",
        (unsigned long long)r->change->ranks,
        stage > 2 ? ", and neither are parameters that are gathered for a layer" : "");
    return MV_OK;
}

/* Finds the moment of lowest memory after each step mark. There the program has dropped the step's
 * memory, so it is where a training loop would call empty_cache(). */
static mv_code find_lows(reading *r, const mv_steps *steps, uint32_t **at, mv_err *err)
{
    mv_floor lows;

    if (mv_floor_find(r->arena, r->lives, steps, &lows, err) != MV_OK)
        return err->code;
    *at = lows.moment + 1;
    return MV_OK;
}

/* Finds the events at which the ranges with a given name have ended or, if there is no such range,
 * the low point of each step. */
static mv_code find_ends(reading *r, uint32_t **at, uint32_t *count, mv_err *err)
{
    const mv_annotations *a = &r->trace->annotations;
    uint32_t capacity = 0;
    const mv_code_facts *facts;

    *count = 0;
    *at = NULL;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->stage[i] == MV_STAGE_END && a->time_us[i] != MV_NO_TIME &&
            (a->device[i] < 0 || (uint32_t)a->device[i] == r->lives->device) &&
            strcmp(mv_string_text(r->trace, a->name[i]), r->change->text) == 0 &&
            !mv_append(r->arena, *at, *count, capacity,
                       mv_event_after(&r->lives->events, a->time_us[i])))
            return no_memory(err);
    if (*count || strcasecmp(r->change->text, "step") != 0)
        return MV_OK;
    facts = facts_of(r, err);
    if (!facts)
        return err->code;
    *count = facts->steps.count;
    return *count ? find_lows(r, &facts->steps, at, err) : MV_OK;
}

static mv_code empty_each(reading *r, mv_err *err)
{
    uint32_t *at;

    if (find_ends(r, &at, &r->edit->at_count, err) != MV_OK)
        return err->code;
    r->edit->kind = MV_EDIT_EMPTY;
    r->edit->at = at;
    r->about = r->edit->at_count ? mv_arena_printf(r->arena, "%u call%s", r->edit->at_count,
                                                   mv_plural(r->edit->at_count))
                                 : "the file has no range or step of this name";
    r->assumed = "empty_cache() is called after each; every call waits for the device, and the "
                 "memory is taken anew afterwards";
    return MV_OK;
}

/* Finds repeated calls of a module on one line. Without such a line, a call is a run of matching
 * allocations with no other allocation in between. Library workspaces do not belong to any call,
 * because only the first of many calls creates them. */
static mv_code find_calls(reading *r, uint32_t **instance, uint32_t *count, mv_err *err)
{
    const mv_alloc_lives *a = &r->lives->allocs;
    uint32_t last_loop = MV_NO_ROW, last_index = 0, last_row = MV_NO_ROW, last_bin = 0;
    const mv_code_facts *facts = facts_of(r, err);

    *instance = mv_push_array(r->arena, uint32_t, a->count);
    *count = 0;
    if (!*instance)
        return no_memory(err);
    if (!facts)
        return err->code;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t bin;
        (*instance)[i] = MV_NO_ROW;
        if (!r->rows[i] || a->birth[i] == MV_BEFORE ||
            facts->categories.of_alloc[i] == MV_CATEGORY_WORKSPACE)
            continue;
        bin = mv_steps_bin(&facts->steps, a->birth[i]);
        if (last_row == MV_NO_ROW || facts->layers.loop[i] != last_loop || bin != last_bin ||
            (facts->layers.loop[i] ? facts->layers.index[i] != last_index : i != last_row + 1))
            ++*count;
        (*instance)[i] = *count - 1;
        last_row = i;
        last_loop = facts->layers.loop[i];
        last_index = facts->layers.index[i];
        last_bin = bin;
    }
    return MV_OK;
}

/* Whether the last request of the trace failed. */
static bool ends_in_failure(const mv_lives *lives)
{
    for (uint32_t e = lives->events.count; e-- > 0;) {
        if (lives->events.action[e] == MV_ACTION_ALLOC)
            return false;
        if (lives->events.action[e] == MV_ACTION_OOM)
            return true;
    }
    return false;
}

/* Finds activations alive at the end of a failed run, which the step would have freed. */
static mv_code find_cut(reading *r, mv_err *err)
{
    const mv_alloc_lives *a = &r->lives->allocs;
    const mv_code_facts *facts;
    uint8_t *cut;

    if (!ends_in_failure(r->lives))
        return MV_OK;
    facts = facts_of(r, err);
    if (!facts)
        return err->code;
    cut = mv_push_array(r->arena, uint8_t, a->count);
    if (!cut)
        return no_memory(err);
    for (uint32_t i = 0; i < a->count; i++)
        cut[i] =
            a->completed[i] == MV_NEVER && facts->categories.of_alloc[i] == MV_CATEGORY_ACTIVATION;
    r->edit->cut = cut;
    r->assumed = mv_arena_printf(
        r->arena, "%s; activations in use when the last request failed do not come back",
        r->assumed);
    return r->assumed ? MV_OK : no_memory(err);
}

/* Finds when the program drops the offloaded or recomputed blocks, and which of them do not come
 * back. */
static mv_code find_ends_of_use(reading *r, mv_err *err)
{
    const mv_code_facts *facts = facts_of(r, err);

    if (!facts)
        return err->code;
    r->edit->gone = facts->gone;
    return find_cut(r, err);
}

static mv_code offload(reading *r, mv_err *err)
{
    r->edit->kind = MV_EDIT_OFFLOAD;
    r->assumed = "each goes to the host at the allocation after the next one, or later, when the "
                 "function returns whose variable may hold it, and comes back before the "
                 "allocations that precede its free, since events do not show uses; blocks that "
                 "are never freed stay, and each of the others is copied twice";
    return match(r, err) == MV_OK ? find_ends_of_use(r, err) : err->code;
}

static mv_code recompute(reading *r, mv_err *err)
{
    uint32_t *instance, calls;

    if (match(r, err) != MV_OK || find_calls(r, &instance, &calls, err) != MV_OK)
        return err->code;
    r->edit->kind = MV_EDIT_RECOMPUTE;
    r->edit->instance = instance;
    r->about = mv_arena_printf(r->arena, "%u call%s, %s", calls, mv_plural(calls), count_rows(r));
    r->assumed =
        "what a call keeps for the backward pass, except its last allocation, is freed when "
        "no variable may hold it, at the latest when the call ends, and made again in the same "
        "order before the backward pass uses it, which takes the time of another forward pass";
    return find_ends_of_use(r, err);
}

static mv_code prealloc(reading *r, mv_err *err)
{
    char text[MV_SIZE_TEXT];
    uint64_t bytes;

    if (!is_size(r->change, &bytes)) {
        r->edit->kind = MV_EDIT_PREALLOC;
        r->assumed =
            "they are parts of one buffer, as large as the most that they request at once, "
            "which is allocated before the first of them and kept to the end";
        return match(r, err);
    }
    r->edit->kind = MV_EDIT_RESERVE;
    r->edit->bytes = bytes;
    r->about = mv_arena_printf(r->arena, "one allocation of %s", mv_size_text(text, bytes));
    r->assumed = "it is made first of all on the first stream and freed at once, so that later "
                 "requests share its segment";
    return MV_OK;
}

static mv_code change_sizes(reading *r, mv_err *err)
{
    const char *sign = strrchr(r->change->text, '=');

    r->edit->kind = MV_EDIT_SCALE;
    r->edit->numerator = r->change->kind == MV_CODE_CHANGE_DROP ? 0 : 1;
    r->edit->denominator = r->change->kind == MV_CODE_CHANGE_HALF ? 2 : 1;
    if (r->change->kind == MV_CODE_CHANGE_SCALE)
        read_factor(sign + 1, &r->edit->numerator, &r->edit->denominator);
    r->assumed = r->change->kind == MV_CODE_CHANGE_DROP
                     ? "they are not made; all else is allocated and freed as before"
                     : "only their sizes change; what is computed from them keeps its size, unless "
                       "it matches, too";
    return match(r, err);
}

static mv_code read_change(reading *r, mv_err *err)
{
    switch (r->change->kind) {
    case MV_CODE_CHANGE_DROP:
    case MV_CODE_CHANGE_SCALE:
    case MV_CODE_CHANGE_HALF:
        return change_sizes(r, err);
    case MV_CODE_CHANGE_PREALLOC:
        return prealloc(r, err);
    case MV_CODE_CHANGE_ONE_STREAM:
        r->edit->kind = MV_EDIT_ONE_STREAM;
        r->about = "";
        r->assumed =
            "all work is on one stream: no free waits for another one, and nothing runs at "
            "the same time";
        return MV_OK;
    case MV_CODE_CHANGE_EMPTY_CACHE:
        return empty_each(r, err);
    case MV_CODE_CHANGE_OFFLOAD:
        return offload(r, err);
    case MV_CODE_CHANGE_FREE_EARLY:
        r->edit->kind = MV_EDIT_FREE_EARLY;
        r->assumed = "their frees wait for no stream: the program waits for the work itself";
        return match(r, err);
    case MV_CODE_CHANGE_RECOMPUTE:
        return recompute(r, err);
    default:
        return shard(r, err);
    }
}

mv_code mv_code_changes_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                             const mv_code_facts *facts, const mv_code_change *changes,
                             uint32_t count, mv_code_changes *out, mv_err *err)
{
    static const char *const names[] = {
#define MV_CODE_CHANGE_NAME(name, text) text,
        MV_CODE_CHANGE_LIST(MV_CODE_CHANGE_NAME)
#undef MV_CODE_CHANGE_NAME
    };

    *out = (mv_code_changes){.count = count,
                             .edits = mv_push_array(arena, mv_edit, count),
                             .changes = mv_push_array(arena, const char *, count),
                             .assumed = mv_push_array(arena, const char *, count)};
    if (!out->edits || !out->changes || !out->assumed)
        return no_memory(err);
    for (uint32_t i = 0; i < count; i++) {
        reading r = {.arena = arena,
                     .trace = trace,
                     .lives = lives,
                     .facts = facts,
                     .change = &changes[i],
                     .edit = &out->edits[i],
                     .rows = mv_push_array(arena, uint8_t, lives->allocs.count)};
        if (!r.rows)
            return no_memory(err);
        r.edit->rows = r.rows;
        if (read_change(&r, err) != MV_OK)
            return err->code;
        facts = r.facts;
        if (!r.about)
            r.about = count_rows(&r);
        out->assumed[i] = r.assumed;
        out->changes[i] =
            mv_arena_printf(arena, "%s%s%s%s%s", names[changes[i].kind], changes[i].text ? " " : "",
                            changes[i].text ? changes[i].text : "", r.about && *r.about ? ": " : "",
                            r.about ? r.about : "");
        if (!out->assumed[i] || !out->changes[i] || !r.about)
            return no_memory(err);
    }
    return MV_OK;
}
