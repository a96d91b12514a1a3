#include "analyze/advice/remedies.h"

#include <ctype.h>

#include "analyze/filter/site_words.h"
#include "base/size.h"
#include "base/sort.h"
#include "base/text.h"

/* Maximum numbers of loops and lines to try. Those with the most bytes at the peak are tried
 * first. */
enum { MOST_LOOPS = 3, MOST_LINES = 3, MOST_SETTINGS = 16, MOST_REMEDIES = 40 };

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_sites *sites;
    mv_remedies_opts opts;
    mv_trials within; /* trials with the target as the limit */
    mv_trials free;   /* trials without a limit */
    mv_oom failure;   /* the last failed request, without a target */
    bool has_failure;
    uint32_t change_count;
    const char *changes[MOST_REMEDIES]; /* changes tried so far, because two lines may have the
                                         * same filter */
    mv_code_facts facts;
    uint32_t peak; /* event after which the most bytes are allocated */
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

/* ---- one change -------------------------------------------------------------------------- */

/* Bytes that the run needs after the failed request, beyond the memory in use when the request
 * succeeds. */
static uint64_t find_rest(const mv_oom *oom)
{
    const mv_oom_outlook *f = &oom->outlook;
    uint64_t with = oom->bytes.allocated + oom->requested;

    if (!f->forecast.peak)
        return f->rise;
    return f->forecast.peak > with ? f->forecast.peak - with : 0;
}

/* Whether the memory that the run still needs after the failed request fits, too. A forecast
 * continues from the failed request, whereas growth continues from the most memory that was ever in
 * use. If the forecast is only a lower bound, both must fit. */
static bool has_room(const remedy_search *s, const mv_remedy *row)
{
    const mv_replay_result *r = &row->trial.result;
    const mv_oom_outlook *f = &s->failure.outlook;

    if (!s->has_failure)
        return true;
    if (f->forecast.peak && row->spare < s->out->rest)
        return false;
    return (f->forecast.peak && !f->forecast.is_least) ||
           r->peak.allocated + f->rise <= s->out->target;
}

static bool is_used_up(const remedy_search *s)
{
    return *s->within.left == 0;
}

static bool try_free(remedy_search *s, const mv_remedy *row, mv_trial *out)
{
    return mv_trials_try_edits(&s->free, row->trial.conf, row->edit, row->edit != NULL, out,
                               s->err) == MV_OK;
}

/* Replays a row within the target, and keeps the row if it helps. */
static bool keep_row(remedy_search *s, mv_remedy *row)
{
    const mv_replay_result *r = &row->trial.result;
    mv_trial free;

    row->serves = r->counts.ooms == 0 && !r->gave_up;
    row->spare = s->has_failure ? r->spare : MV_NO_BYTES;
    row->reaches = row->serves && has_room(s, row);
    if (s->opts.steps || (row->serves && !s->has_failure)) {
        s->out->count += row->serves;
        row->saves = (int64_t)(s->out->needs - r->peak.reserved);
        return true;
    }
    if (!try_free(s, row, &free))
        return false;
    row->saves = (int64_t)(s->out->needs - free.result.peak.reserved);
    if (!row->serves)
        row->trial = free;
    s->out->count += !free.result.gave_up && (row->serves || row->saves > 0);
    return true;
}

/* ---- settings ---------------------------------------------------------------------------- */

static bool try_settings(remedy_search *s)
{
    mv_trial_list list;

    if (mv_trials_try_set(&s->within, s->opts.steps ? MV_TRY_EXPANDABLE : MV_TRY_ALL, &list,
                          s->err) != MV_OK)
        return false;
    for (uint32_t i = 0; i < list.count && i < MOST_SETTINGS; i++) {
        mv_remedy *row = new_row(s);
        if (!row || list.rows[i].is_recorded)
            continue;
        *row = (mv_remedy){.change = "", .trial = list.rows[i]};
        if (!keep_row(s, row))
            return false;
    }
    return true;
}

/* ---- changes of the code ----------------------------------------------------------------- */

static uint64_t requested_by(const mv_replay_script *script)
{
    mv_replay_reader reader = {0};
    mv_replay_op op;
    uint64_t sum = 0;

    while (mv_replay_read(script, &reader, &op))
        sum += op.kind == MV_OP_ALLOC ? op.bytes : 0;
    return sum;
}

/* Adds a change unless it was tried before, because two lines may have the same filter. */
static bool add_change(remedy_search *s, const char **out, const char *word, const char *text)
{
    *out = mv_arena_printf(s->arena, "--%s%s%s", word, text ? " " : "", text ? text : "");
    if (!*out)
        return no_memory(s);
    for (uint32_t i = 0; i < s->change_count; i++)
        if (strcmp(s->changes[i], *out) == 0)
            return false;
    if (s->change_count < MOST_REMEDIES)
        s->changes[s->change_count++] = *out;
    return true;
}

/* Replays a change, and keeps it if it saves memory. `word` is the change's option,
 * without dashes. */
static bool try_change(remedy_search *s, mv_code_change_kind kind, const char *word,
                       const char *text)
{
    const mv_code_change change = {.kind = kind, .text = text};
    const char *conf = s->within.recorded_conf;
    mv_remedy *row = new_row(s);
    mv_code_changes found;
    mv_replay_script changed;
    uint64_t more;

    if (!row || is_used_up(s) || !add_change(s, &row->change, word, text))
        return s->err->code == MV_OK;
    if (mv_code_changes_find(s->arena, s->trace, s->lives, &s->facts, &change, 1, &found, s->err) !=
            MV_OK ||
        mv_edit_apply(s->arena, &s->within.script, found.edits, 1, &changed, s->err) != MV_OK)
        return false;
    *row = (mv_remedy){.change = row->change, .edit = found.edits};
    more = requested_by(&changed) - requested_by(&s->within.script) + changed.owed;
    row->recomputed = kind == MV_CODE_CHANGE_RECOMPUTE ? more : 0;
    row->copied = kind == MV_CODE_CHANGE_OFFLOAD ? 2 * more : 0;
    return mv_trials_try_edits(&s->within, conf, found.edits, 1, &row->trial, s->err) == MV_OK &&
           keep_row(s, row);
}

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

/* Adds up the bytes of activations at the peak by `key` (MV_NO_ROW: not counted). Returns the sums,
 * largest first. */
static mv_key_row *weigh(remedy_search *s, const uint32_t *key, uint32_t keys)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    mv_key_row *rows = mv_push_array(s->arena, mv_key_row, keys);

    for (uint32_t i = 0; rows && i < keys; i++)
        rows[i].row = i;
    for (uint32_t i = 0; rows && i < a->count; i++)
        if ((a->birth[i] == MV_BEFORE || a->birth[i] <= s->peak) && a->completed[i] > s->peak &&
            key[i] < keys && s->facts.categories.of_alloc[i] == MV_CATEGORY_ACTIVATION)
            rows[key[i]].key += a->block[i];
    if (rows)
        mv_sort_rows(s->arena, rows, keys, MV_FALLING(mv_key_row, key));
    return rows;
}

/* Returns a filter for all stacks that pass through the line of a loop ("train.py:62:"), or
 * NULL. */
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
    mv_key_row *heavy = weigh(s, s->facts.layers.loop, s->facts.layers.loop_count);

    if (!heavy)
        return no_memory(s);
    for (uint32_t i = 0; i < s->facts.layers.loop_count && i < MOST_LOOPS && heavy[i].key; i++) {
        const char *filter = filter_through(s, s->facts.layers.loops[heavy[i].row].line);
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
    mv_key_row *heavy;

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
    for (uint32_t i = 0; i < s->sites->groups && i < MOST_LINES && heavy[i].key; i++) {
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

/* Changing settings costs device calls, and so does emptying the cache. Other changes cost time for
 * each byte, and copying a byte to the host costs more than recomputing it in a forward pass. */
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
    if (a->serves != b->serves)
        return a->serves ? -1 : 1;
    if (a->reaches && cost_a != cost_b)
        return cost_a < cost_b ? -1 : 1;
    if (a->reaches && cost_a == 0 &&
        a->trial.result.counts.segment_allocs != b->trial.result.counts.segment_allocs)
        return a->trial.result.counts.segment_allocs < b->trial.result.counts.segment_allocs ? -1
                                                                                             : 1;
    return (is_a > is_b) - (is_a < is_b);
}

const char *mv_remedy_name(const mv_remedy *remedy)
{
    return *remedy->change       ? remedy->change
           : *remedy->trial.conf ? remedy->trial.conf
                                 : "the default settings";
}

/* Describes the memory that the run still needs with `best`. If `best` leaves enough room for the
 * rest of the step, it leaves too little for the growth. */
static const char *describe_rest(remedy_search *s, const mv_remedy *best)
{
    const mv_oom_outlook *f = &s->failure.outlook;
    bool is_growth = !f->forecast.peak || (!best->reaches && best->spare >= s->out->rest);
    uint64_t rest = is_growth ? f->rise : s->out->rest;
    char size[MV_SIZE_TEXT];
    const char *text;

    if (rest == 0)
        return "";
    mv_size_text(size, rest);
    text = is_growth
               ? mv_arena_printf(s->arena,
                                 "; the need rose by %s over the second half of the events", size)
               : mv_arena_printf(s->arena, "; the step still needs %s%s",
                                 f->forecast.is_least ? "at least " : "", size);
    return text ? text : "";
}

/* Writes the sentence about the last failed request. */
static const char *describe_failure(remedy_search *s, const mv_remedy *best)
{
    char target[MV_SIZE_TEXT], spare[MV_SIZE_TEXT];

    mv_size_text(target, s->out->target);
    if (s->failure.outlook.has_leak)
        return "a leak filled the memory: only fixing the leak helps for long (memviz leaks)";
    if (!best || !best->serves)
        return mv_arena_printf(s->arena,
                               "none of the changes tried serves the request that failed "
                               "within %s",
                               target);
    mv_size_text(spare, best->spare);
    if (!best->reaches)
        return mv_arena_printf(s->arena,
                               "%s would serve the request that failed, with %s of %s to spare, "
                               "but that %s enough%s",
                               mv_remedy_name(best), spare, target,
                               best->spare >= s->out->rest ? "may not be" : "is not",
                               describe_rest(s, best));
    return mv_arena_printf(s->arena, "%s serves the request that failed, with %s of %s to spare%s",
                           mv_remedy_name(best), spare, target, describe_rest(s, best));
}

static const char *find_verdict(remedy_search *s)
{
    const mv_remedies *r = s->out;
    const mv_remedy *best = r->count ? &r->rows[0] : NULL;
    char target[MV_SIZE_TEXT], is[MV_SIZE_TEXT];

    mv_size_text(target, r->target);
    if (s->opts.target == 0 && !s->has_failure)
        return "no request failed, so no memory is missing: pass --target SIZE";
    if (!mv_trials_are_conclusive(&s->within) && s->has_failure)
        return mv_arena_printf(s->arena,
                               "whether a change serves the request that failed is not known: %s",
                               s->within.trust_why);
    if (!mv_trials_are_conclusive(&s->within))
        return mv_arena_printf(s->arena, "whether a change reaches %s is not known: %s", target,
                               s->within.trust_why);
    if (s->has_failure && s->within.unexplained)
        return "the limit that refused the request is not in the file: pass --target SIZE";
    if (r->is_met)
        return mv_arena_printf(s->arena,
                               "the recorded settings serve every request within %s, with %u "
                               "release%s of cached memory",
                               target, r->retries, mv_plural(r->retries));
    if (s->has_failure)
        return describe_failure(s, best);
    if (!best)
        return mv_arena_printf(s->arena, "none of the changes tried saves anything");
    mv_size_text(is, best->trial.result.peak.reserved);
    if (!best->reaches)
        return mv_arena_printf(s->arena, "none of the changes tried reaches %s; %s comes to %s",
                               target, mv_remedy_name(best), is);
    if (*best->change)
        return mv_arena_printf(s->arena, "no setting reaches %s; %s does, with %s reserved", target,
                               mv_remedy_name(best), is);
    return mv_arena_printf(s->arena, "%s reaches %s, with %s reserved", mv_remedy_name(best),
                           target, is);
}

/* ---- all remedies ------------------------------------------------------------------------ */

static bool find_failure(remedy_search *s)
{
    mv_window all = {0, s->lives->events.count};

    if (s->opts.failure) {
        s->failure = *s->opts.failure;
        s->has_failure = true;
        return true;
    }
    return mv_oom_last_find(s->arena, s->trace, s->lives, s->sites, all, &s->failure,
                            &s->has_failure, s->err) == MV_OK;
}

/* Opens the replays within the target and the replays without a target. */
static bool open_trials(remedy_search *s)
{
    mv_remedies *out = s->out;
    mv_trial recorded;

    if (mv_trials_open(s->arena, s->trace, s->lives, (mv_trials_opts){.capacity = s->opts.target},
                       &s->within, s->err) != MV_OK)
        return false;
    out->target = s->within.limit;
    if (s->opts.steps && *s->within.left > s->opts.steps)
        *s->within.left = s->opts.steps;
    s->free = s->within;
    s->free.limit = UINT64_MAX;
    if (mv_trials_try_edits(&s->free, s->within.recorded_conf, NULL, 0, &recorded, s->err) != MV_OK)
        return false;
    s->free.self = recorded.result;
    out->needs =
        s->within.recorded_ooms ? recorded.result.peak.reserved : s->within.recorded_reserved;
    return true;
}

static bool search(remedy_search *s)
{
    mv_remedies *out = s->out;
    bool ran_out_of_memory;

    if (s->opts.target == 0 && (!find_failure(s) || !s->has_failure))
        return s->err->code == MV_OK;
    if (!open_trials(s))
        return false;
    if (!mv_trials_are_conclusive(&s->within) || (s->has_failure && s->within.unexplained))
        return true;
    out->is_of_failure = s->has_failure;
    out->rest = s->has_failure ? find_rest(&s->failure) : 0;
    out->is_met = mv_trials_self_fits(&s->within);
    out->retries = (uint32_t)s->within.self.counts.retries;
    if (out->is_met)
        return true;
    find_peak(s);
    ran_out_of_memory = s->has_failure && s->failure.verdict == MV_OOM_CAPACITY;
    if (mv_code_facts_find(s->arena, s->trace, s->lives, s->sites->kinds, &s->facts, s->err) !=
            MV_OK ||
        (!ran_out_of_memory && !try_settings(s)) || !try_changes(s))
        return false;
    mv_sort_by(s->arena, out->rows, out->count, sizeof *out->rows, by_cost, NULL);
    return true;
}

/* If the steps are bounded, only the best row is replayed without a limit. */
static bool find_first_saving(remedy_search *s)
{
    mv_remedy *best = s->out->rows;
    mv_trial free;

    if (!s->opts.steps || !s->has_failure || s->out->count == 0)
        return true;
    *s->within.left += s->opts.steps;
    if (!try_free(s, best, &free))
        return false;
    best->saves = (int64_t)(s->out->needs - free.result.peak.reserved);
    return true;
}

mv_code mv_remedies_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_sites *sites, mv_remedies_opts opts, mv_remedies *out,
                         mv_err *err)
{
    remedy_search s = {.arena = arena,
                       .trace = trace,
                       .lives = lives,
                       .sites = sites,
                       .opts = opts,
                       .out = out,
                       .err = err};

    *out = (mv_remedies){.rows = mv_push_array(arena, mv_remedy, MOST_REMEDIES), .verdict = ""};
    if (!out->rows)
        return no_memory(&s) ? MV_OK : err->code;
    if (!search(&s) || !find_first_saving(&s))
        return err->code;
    out->verdict = find_verdict(&s);
    return out->verdict ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
}
