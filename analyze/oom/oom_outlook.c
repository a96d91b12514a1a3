#include "analyze/oom/oom_outlook.h"

#include "analyze/lives/lives_window.h"
#include "base/text.h"

/* A leak counts as having filled the memory only if it held at least 1/FILLED_BY of the memory. */
#define FILLED_BY 10

/* Returns the number of events before the failure, which is either a refused call or an oom
 * event. */
static uint32_t events_before(const mv_oom *o)
{
    return o->event;
}

/* ---- the unfinished step ----------------------------------------------------------------- */

static const char *basis_of(mv_arena *arena, const mv_forecast *f)
{
    if (f->factor <= 0)
        return mv_arena_printf(arena, "step %u of %u, with this step's sizes", f->step, f->steps);
    if (f->factor < 0.995 || f->factor > 1.005)
        return mv_arena_printf(arena, "step %u of %u, times %.2f", f->step, f->steps, f->factor);
    return mv_arena_printf(arena, "step %u of %u", f->step, f->steps);
}

/* Finds the rise in need. Memory that was reserved before the trace may have been in use at that
 * time, so only a rise above it certainly exceeds the run's earlier needs. */
static void find_rise(const mv_oom_prospect *p, mv_oom *o)
{
    uint32_t now = events_before(o);
    uint64_t asked = o->bytes.allocated + o->requested;
    uint64_t before = now ? p->most[now - 1] : 0, half = now > 1 ? p->most[now / 2 - 1] : 0;
    uint64_t most = asked > before ? asked : before;

    if (half < p->before)
        half = p->before;
    o->outlook.most = most;
    o->outlook.rise = most > half ? most - half : 0;
    o->outlook.rise_before = before > half ? before - half : 0;
}

mv_code mv_oom_forecast(const mv_oom_prospect *p, mv_arena *arena, const mv_steps *steps, mv_oom *o,
                        mv_err *err)
{
    mv_recurrence_query ask = {events_before(o), o->stack, o->requested};
    mv_oom_outlook *out = &o->outlook;
    mv_code code = mv_forecast_find(arena, p->lives, p->sites, steps, p->rules, ask,
                                    o->bytes.allocated, &out->forecast, err);

    find_rise(p, o);
    if (code != MV_OK || out->forecast.peak == 0)
        return code;
    out->basis = basis_of(p->arena, &out->forecast);
    return out->basis ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the step's forecast");
}

/* ---- expandable segments ----------------------------------------------------------------- */

/* Opens the trials of this device when they are first needed. */
static mv_code open_trials(mv_oom_prospect *p, mv_err *err)
{
    mv_trials_opts opts = {.no_self = true};

    if (p->expandable)
        return MV_OK;
    if (mv_trials_open(p->arena, p->trace, p->lives, opts, &p->trials, err) != MV_OK)
        return err->code;
    p->expandable = mv_trials_with(&p->trials, "expandable_segments", "True");
    return p->expandable ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "settings that are tried");
}

void mv_oom_prospect_close(mv_oom_prospect *p)
{
    for (uint32_t i = 0; i < MV_TRY_COUNT; i++)
        mv_replay_close(p->replays[i].replay);
}

/* Continues a replay until just after the failure. It starts again from the beginning only if the
 * limit differs from that of the previous failure. */
static mv_code replay_within(mv_oom_prospect *p, mv_oom_trial which, uint64_t limit,
                             const mv_oom *o, mv_replay_result *out, mv_err *err)
{
    bool joined = which == MV_TRY_JOINED || which == MV_TRY_JOINED_SURELY;
    mv_oom_replay *r = &p->replays[which];

    if (r->replay && r->limit != limit) {
        mv_replay_close(r->replay);
        r->replay = NULL;
    }
    p->trials.limit = r->limit = limit;
    p->trials.limit_source = MV_LIMIT_GIVEN;
    if (!r->replay && mv_trials_begin(&p->trials, joined ? p->trials.recorded_conf : p->expandable,
                                      joined, &r->replay, err) != MV_OK)
        return err->code;
    return mv_replay_until(r->replay, o->event + 1, out, err);
}

/* Whether a replay serves this request. Earlier requests may have failed in the replay, but only
 * those that also failed in the recorded run. */
static bool is_met(const mv_oom_prospect *p, const mv_oom *o, const mv_replay_result *result)
{
    if (result->gave_up || !result->last_met)
        return false;
    return result->first_oom == MV_NEVER || result->first_oom >= o->event ||
           p->lives->events.action[result->first_oom] == MV_ACTION_OOM;
}

/* Whether replays can explain this failure. If a limit was lowered during the run, requests that
 * were served before that would fail in a replay. */
static mv_code can_try(mv_oom_prospect *p, const mv_oom *o, bool *can, mv_err *err)
{
    const mv_oom_outlook *out = &o->outlook;
    mv_trials until;

    *can = false;
    if (o->api_call != MV_NO_ROW || out->limit == 0)
        return MV_OK;
    if (open_trials(p, err) != MV_OK || mv_trials_until(&p->trials, o->event + 1, out->limit,
                                                        p->most_reserved, &until, err) != MV_OK)
        return err->code;
    *can = mv_trials_are_conclusive(&until) && p->most_reserved <= out->limit_most;
    return MV_OK;
}

/* Replays the later requests of the step. This needs a separate replay, because the other replays
 * continue with the recorded events. */
static mv_code follow_forecast(mv_oom_prospect *p, mv_oom *o, mv_err *err)
{
    const mv_forecast *f = &o->outlook.forecast;
    mv_replay_result result = {0};
    mv_replay *replay;
    bool served = false;
    mv_code code;

    if (f->peak <= o->bytes.allocated + o->requested || f->peak > o->outlook.limit)
        return MV_OK;
    p->trials.limit = o->outlook.limit;
    if (mv_trials_begin(&p->trials, p->expandable, false, &replay, err) != MV_OK)
        return err->code;
    code = mv_replay_until(replay, o->event, &result, err);
    if (code == MV_OK && !result.gave_up) {
        code = mv_replay_continue(replay, f->next, f->next_count, f->first, f->count, &served, err);
        o->outlook.course = served ? MV_COURSE_ENDS : MV_COURSE_FAILS;
    }
    mv_replay_close(replay);
    return code;
}

mv_code mv_oom_try_expandable(mv_oom_prospect *p, mv_oom *o, mv_err *err)
{
    mv_oom_outlook *out = &o->outlook;
    mv_replay_result result = {0};
    bool can;

    if (p->rules->expandable)
        return MV_OK;
    if (can_try(p, o, &can, err) != MV_OK)
        return err->code;
    if (!can)
        return MV_OK;
    if (replay_within(p, MV_TRY_LIMIT, out->limit, o, &result, err) != MV_OK)
        return err->code;
    if (result.gave_up)
        return MV_OK;
    out->tried = true;
    out->serves = out->surely = is_met(p, o, &result);
    out->conf = p->expandable;
    out->would_reserve = result.peak.reserved;
    out->spare = out->sure_spare = out->serves ? result.spare : 0;
    if (!out->serves)
        return MV_OK;
    if (follow_forecast(p, o, err) != MV_OK)
        return err->code;
    if (out->limit_least == out->limit)
        return MV_OK;
    if (replay_within(p, MV_TRY_SURELY, out->limit_least, o, &result, err) != MV_OK)
        return err->code;
    out->surely = is_met(p, o, &result);
    out->sure_spare = out->surely ? result.spare : 0;
    return MV_OK;
}

mv_code mv_oom_try_joined(mv_oom_prospect *p, mv_oom *o, mv_err *err)
{
    mv_oom_outlook *out = &o->outlook;
    mv_replay_result result = {0};
    bool can;

    if (can_try(p, o, &can, err) != MV_OK)
        return err->code;
    if (!can)
        return MV_OK;
    if (replay_within(p, MV_TRY_JOINED, out->limit, o, &result, err) != MV_OK)
        return err->code;
    out->joined = !result.gave_up;
    out->joined_serves = is_met(p, o, &result);
    if (!out->joined_serves)
        return MV_OK;
    if (replay_within(p, MV_TRY_JOINED_SURELY, out->limit_least, o, &result, err) != MV_OK)
        return err->code;
    out->joined_surely = is_met(p, o, &result);
    return MV_OK;
}

/* ---- leaks ------------------------------------------------------------------------------- */

static mv_code keep_steps(mv_arena *arena, const mv_steps *from, mv_steps *out, mv_err *err)
{
    *out = *from;
    out->at = mv_push_array(arena, uint32_t, from->count);
    if (!out->at)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "training steps");
    for (uint32_t i = 0; i < from->count; i++)
        out->at[i] = from->at[i];
    return MV_OK;
}

/* Finds the leaks as they were at the failure. Later events must neither add to a leak nor free its
 * blocks. */
mv_code mv_oom_find_leak(const mv_oom_prospect *p, mv_oom *o, mv_steps *steps, mv_err *err)
{
    mv_oom_outlook *out = &o->outlook;
    uint64_t available = mv_oom_unreserved(o, out->limit_least);
    uint64_t lacking = o->segment > available ? o->segment - available : 0;
    mv_arena scratch;
    mv_lives until;
    mv_leaks leaks;
    mv_code code;

    mv_arena_init(&scratch, p->arena->budget);
    code = mv_lives_within(&scratch, p->lives, (mv_window){0, events_before(o)}, &until, err);
    if (code == MV_OK)
        code = mv_leaks_find(&scratch, p->trace, &until, &leaks, err);
    out->has_stepped = p->stepped_us <= o->time_us || (code == MV_OK && leaks.steps.count > 0);
    out->is_clean = code == MV_OK && leaks.verdict == MV_VERDICT_CLEAN && leaks.floor.steps > 1;
    if (code == MV_OK && leaks.verdict == MV_VERDICT_LEAK && leaks.count &&
        leaks.leaked_bytes >= lacking && leaks.leaked_bytes >= out->limit / FILLED_BY) {
        out->has_leak = true;
        out->leak = leaks.leaks[0];
        out->leak.evidence = out->leak.advice = NULL;
        out->leaked = leaks.leaked_bytes;
    }
    if (code == MV_OK)
        code = keep_steps(p->arena, &leaks.steps, steps, err);
    mv_arena_release(&scratch);
    return code;
}
