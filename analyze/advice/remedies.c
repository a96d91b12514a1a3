#include "analyze/advice/remedies.h"

#include <ctype.h>
#include <string.h>

#include "analyze/code/culprit.h"
#include "analyze/filter/site_words.h"
#include "analyze/peak/layers.h"
#include "base/size.h"
#include "base/sort.h"
#include "base/text.h"

/* The loops and lines with most bytes at the peak that are tried. */
enum { MOST_LOOPS = 3, MOST_LINES = 3, MOST_SETTINGS = 16, MOST_REMEDIES = 40 };

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_sites *sites;
    mv_trials within; /* with the target as the limit */
    mv_trials free;   /* without a limit */
    mv_categories categories;
    mv_layers layers;
    uint32_t peak; /* event after which most is allocated */
    mv_remedies *out;
    mv_err *err;
} remedy_search;

static bool no_memory(remedy_search *s)
{
    mv_fail(s->err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    return false;
}

static mv_remedy *new_row(remedy_search *s)
{
    return s->out->count < MOST_REMEDIES ? &s->out->rows[s->out->count] : NULL;
}

/* ---- settings ---------------------------------------------------------------------------- */

static bool try_settings(remedy_search *s)
{
    mv_trial_list list;

    if (mv_trials_try_set(&s->within, MV_TRY_ALL, &list, s->err) != MV_OK)
        return false;
    for (uint32_t i = 0; i < list.count && i < MOST_SETTINGS; i++) {
        mv_remedy *row = new_row(s);
        if (!row || list.rows[i].is_recorded)
            continue;
        *row = (mv_remedy){
            .change = "", .trial = list.rows[i], .reaches = list.rows[i].result.counts.ooms == 0};
        if (!row->reaches &&
            mv_trials_try(&s->free, list.rows[i].conf, &row->trial, s->err) != MV_OK)
            return false;
        s->out->count += !row->trial.result.gave_up &&
                         (row->reaches || row->trial.result.peak.reserved < s->out->recorded);
    }
    return true;
}

/* ---- changes of the code ----------------------------------------------------------------- */

static uint64_t requested_by(const mv_replay_script *script)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < script->op_count; i++)
        sum += script->ops[i].kind == MV_OP_ALLOC ? script->ops[i].bytes : 0;
    return sum;
}

/* Replays a change, and keeps it if it saves anything. `word` is its option, without dashes. */
static bool try_change(remedy_search *s, mv_code_change_kind kind, const char *word,
                       const char *text)
{
    const mv_code_change change = {.kind = kind, .text = text};
    const char *conf = s->within.recorded_conf;
    mv_remedy *row = new_row(s);
    mv_code_changes found;
    mv_replay_script changed;
    uint64_t more;

    if (!row)
        return true;
    if (mv_code_changes_find(s->arena, s->trace, s->lives, &change, 1, &found, s->err) != MV_OK ||
        mv_edit_apply(s->arena, &s->within.script, found.edits, 1, &changed, s->err) != MV_OK)
        return false;
    *row = (mv_remedy){
        .change = mv_arena_printf(s->arena, "--%s%s%s", word, text ? " " : "", text ? text : "")};
    if (!row->change)
        return no_memory(s);
    more = requested_by(&changed) - requested_by(&s->within.script);
    row->recomputed = kind == MV_CODE_CHANGE_RECOMPUTE ? more : 0;
    row->copied = kind == MV_CODE_CHANGE_OFFLOAD ? 2 * more : 0;
    if (mv_trials_try_edits(&s->within, conf, found.edits, 1, &row->trial, s->err) != MV_OK)
        return false;
    row->reaches = row->trial.result.counts.ooms == 0 && !row->trial.result.gave_up;
    if (!row->reaches &&
        mv_trials_try_edits(&s->free, conf, found.edits, 1, &row->trial, s->err) != MV_OK)
        return false;
    s->out->count += !row->trial.result.gave_up &&
                     (row->reaches || row->trial.result.peak.reserved < s->out->recorded);
    return true;
}

typedef struct {
    uint64_t bytes;
    uint32_t row;
} heavy_row;

static void find_peak(remedy_search *s)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint64_t now = 0, most = 0;

    for (uint32_t i = 0; i < a->preexisting; i++)
        now += a->block[i];
    for (uint32_t e = 0; e < s->lives->events.count; e++) {
        uint32_t row = s->lives->alloc_of[e];
        uint8_t action = s->lives->events.action[e];
        if (row == MV_NO_ROW || (action != MV_ACTION_ALLOC && action != MV_ACTION_FREE_COMPLETED))
            continue;
        now += action == MV_ACTION_ALLOC ? a->block[row] : 0 - a->block[row];
        if (action == MV_ACTION_ALLOC && now > most) {
            most = now;
            s->peak = e;
        }
    }
}

/* Adds up the activations at the peak by `key` (MV_NO_ROW: none), and sorts, the heaviest first. */
static heavy_row *weigh(remedy_search *s, const uint32_t *key, uint32_t keys)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    heavy_row *rows = mv_push_array(s->arena, heavy_row, keys);

    for (uint32_t i = 0; rows && i < keys; i++)
        rows[i].row = i;
    for (uint32_t i = 0; rows && i < a->count; i++)
        if ((a->birth[i] == MV_BEFORE || a->birth[i] <= s->peak) && a->completed[i] > s->peak &&
            key[i] < keys && s->categories.of_alloc[i] == MV_CATEGORY_ACTIVATION)
            rows[key[i]].bytes += a->block[i];
    if (rows)
        mv_sort_rows(s->arena, rows, keys, MV_FALLING(heavy_row, bytes));
    return rows;
}

/* The line of a loop as a filter for all stacks through it: "train.py:62:"; NULL: there is none. */
static const char *filter_through(remedy_search *s, mv_frame_id line)
{
    char term[512];
    size_t length = strlen(mv_site_term(s->trace, line, term, sizeof term));

    if (length < 6 || term[5] == '"')
        return NULL;
    return mv_arena_printf(s->arena, "%s%s", term + 5,
                           isdigit((unsigned char)term[length - 1]) ? ":" : "");
}

static bool try_loops(remedy_search *s)
{
    heavy_row *heavy = weigh(s, s->layers.loop, s->layers.loop_count);

    if (!heavy)
        return no_memory(s);
    for (uint32_t i = 0; i < s->layers.loop_count && i < MOST_LOOPS && heavy[i].bytes; i++) {
        const char *filter = filter_through(s, s->layers.loops[heavy[i].row].line);
        if (filter && (!try_change(s, MV_CODE_CHANGE_RECOMPUTE, "recompute", filter) ||
                       !try_change(s, MV_CODE_CHANGE_OFFLOAD, "cpu", filter)))
            return false;
    }
    return true;
}

static bool try_lines(remedy_search *s)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t *key = mv_push_array(s->arena, uint32_t, a->count);
    mv_frame_id *frame = mv_push_array(s->arena, mv_frame_id, s->sites->groups);
    heavy_row *heavy;

    if (!key || !frame)
        return no_memory(s);
    for (uint32_t i = 0; i < a->count; i++) {
        key[i] = s->sites->group[mv_site_of(s->sites, a->stack[i])];
        if (key[i] < s->sites->groups)
            frame[key[i]] = mv_culprit_frame(s->trace, s->sites->kinds, a->stack[i]);
    }
    heavy = weigh(s, key, s->sites->groups);
    if (!heavy)
        return no_memory(s);
    for (uint32_t i = 0; i < s->sites->groups && i < MOST_LINES && heavy[i].bytes; i++) {
        char term[512];
        const char *text;
        if (!*mv_site_term(s->trace, frame[heavy[i].row], term, sizeof term))
            continue;
        text = mv_arena_text(s->arena, term, strlen(term));
        if (!text)
            return no_memory(s);
        if (!try_change(s, MV_CODE_CHANGE_OFFLOAD, "cpu", text))
            return false;
    }
    return true;
}

static bool try_changes(remedy_search *s)
{
    return try_change(s, MV_CODE_CHANGE_EMPTY_CACHE, "empty-cache-each", "step") &&
           (s->trace->streams.count < 2 ||
            try_change(s, MV_CODE_CHANGE_ONE_STREAM, "one-stream", NULL)) &&
           try_loops(s) && try_lines(s) &&
           try_change(s, MV_CODE_CHANGE_RECOMPUTE, "recompute", "cat:activation") &&
           try_change(s, MV_CODE_CHANGE_OFFLOAD, "cpu", "cat:activation");
}

/* ---- order, verdict ---------------------------------------------------------------------- */

/* A setting costs device calls; so does emptying the cache; the others cost time for each byte, and
 * copies to the host more than a forward pass. */
static uint64_t cost_of(const mv_remedy *r)
{
    return !*r->change ? 0 : 1 + r->recomputed + 8 * r->copied;
}

static int by_cost(const void *left, const void *right, const void *context)
{
    const mv_remedy *a = left, *b = right;
    uint64_t cost_a = cost_of(a), cost_b = cost_of(b);
    uint64_t is_a = a->trial.result.peak.reserved, is_b = b->trial.result.peak.reserved;

    (void)context;
    if (a->reaches != b->reaches)
        return a->reaches ? -1 : 1;
    if (a->reaches && cost_a != cost_b)
        return cost_a < cost_b ? -1 : 1;
    if (a->reaches && cost_a == 0 &&
        a->trial.result.counts.segment_allocs != b->trial.result.counts.segment_allocs)
        return a->trial.result.counts.segment_allocs < b->trial.result.counts.segment_allocs ? -1
                                                                                             : 1;
    return (is_a > is_b) - (is_a < is_b);
}

static const char *find_verdict(remedy_search *s)
{
    const mv_remedies *r = s->out;
    const mv_remedy *best = r->count ? &r->rows[0] : NULL;
    char target[MV_SIZE_TEXT], is[MV_SIZE_TEXT];
    const char *name = best ? *best->change ? best->change : best->trial.conf : "";

    mv_size_text(target, r->target);
    if (!mv_trials_can_tell(&s->within))
        return mv_arena_printf(s->arena, "whether a change reaches %s is not known: %s", target,
                               s->within.trust_why);
    if (r->is_met)
        return mv_arena_printf(s->arena,
                               "the recorded settings serve every request within %s, with %u "
                               "release%s of cached memory",
                               target, r->retries, mv_plural(r->retries));
    if (!best)
        return mv_arena_printf(s->arena, "none of the changes tried saves anything");
    mv_size_text(is, best->trial.result.peak.reserved);
    if (!best->reaches)
        return mv_arena_printf(s->arena, "none of the changes tried reaches %s; %s comes to %s",
                               target, *name ? name : "the default settings", is);
    if (*best->change)
        return mv_arena_printf(s->arena, "no setting reaches %s; %s does, with %s reserved", target,
                               name, is);
    return mv_arena_printf(s->arena, "%s reaches %s, with %s reserved",
                           *name ? name : "the default settings", target, is);
}

static bool search(remedy_search *s)
{
    mv_remedies *out = s->out;

    if (mv_trials_open(s->arena, s->trace, s->lives, (mv_trials_opts){.capacity = out->target},
                       &s->within, s->err) != MV_OK ||
        mv_trials_open(s->arena, s->trace, s->lives, (mv_trials_opts){0}, &s->free, s->err) !=
            MV_OK)
        return false;
    out->recorded = s->within.recorded_reserved;
    if (!mv_trials_can_tell(&s->within))
        return true;
    out->is_met = mv_trials_self_fits(&s->within);
    out->retries = (uint32_t)s->within.self.counts.retries;
    if (out->is_met)
        return true;
    find_peak(s);
    if (mv_categories_find(s->arena, s->trace, s->lives, s->sites->kinds, NULL, &s->categories,
                           s->err) != MV_OK ||
        mv_layers_find(s->arena, s->trace, s->lives, &s->categories, &s->layers, s->err) != MV_OK ||
        !try_settings(s) || !try_changes(s))
        return false;
    mv_sort_by(s->arena, out->rows, out->count, sizeof *out->rows, by_cost, NULL);
    return true;
}

mv_code mv_remedies_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_sites *sites, uint64_t target, mv_remedies *out, mv_err *err)
{
    remedy_search s = {
        .arena = arena, .trace = trace, .lives = lives, .sites = sites, .out = out, .err = err};

    *out = (mv_remedies){
        .target = target, .rows = mv_push_array(arena, mv_remedy, MOST_REMEDIES), .verdict = ""};
    if (!out->rows)
        return no_memory(&s) ? MV_OK : err->code;
    if (!search(&s))
        return err->code;
    out->verdict = find_verdict(&s);
    return out->verdict ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
}
