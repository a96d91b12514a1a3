#include "analyze/oom/oom_outlook.h"

#include "analyze/lives/lives_window.h"
#include "analyze/replay/setting_trials.h"
#include "base/text.h"

/* A leak that filled the memory holds at least this part of it. */
#define FILLED_BY 10

/* The number of events before the failure, which is either a refused call or an oom event. */
static uint32_t events_before(const mv_oom *o)
{
    return o->event;
}

/* ---- the step under way ------------------------------------------------------------------ */

static const char *basis_of(mv_arena *arena, const mv_forecast *f)
{
    if (f->factor <= 0)
        return mv_arena_printf(arena, "step %u of %u, with this step's sizes", f->step, f->steps);
    if (f->factor < 0.995 || f->factor > 1.005)
        return mv_arena_printf(arena, "step %u of %u, times %.2f", f->step, f->steps, f->factor);
    return mv_arena_printf(arena, "step %u of %u", f->step, f->steps);
}

/* What was reserved before the trace may have been in use then: only what rose beyond it is sure to
 * be more than the run had needed before. */
static void find_rise(const mv_oom_prospect *p, mv_oom *o)
{
    uint32_t now = events_before(o);
    uint64_t asked = o->bytes.allocated + o->requested;
    uint64_t most = now ? p->most[now - 1] : 0, half = now > 1 ? p->most[now / 2 - 1] : 0;

    if (asked > most)
        most = asked;
    if (half < p->before)
        half = p->before;
    o->outlook.most = most;
    o->outlook.rise = most > half ? most - half : 0;
}

mv_code mv_oom_forecast(const mv_oom_prospect *p, const mv_steps *steps, mv_oom *o, mv_err *err)
{
    mv_recurrence_ask ask = {events_before(o), o->stack, o->requested};
    mv_oom_outlook *out = &o->outlook;
    mv_code code = mv_forecast_find(p->arena, p->lives, p->sites, steps, p->rules, ask,
                                    o->bytes.allocated, &out->forecast, err);

    find_rise(p, o);
    if (code != MV_OK || out->forecast.peak == 0)
        return code;
    out->basis = basis_of(p->arena, &out->forecast);
    return out->basis ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the step's forecast");
}

/* ---- expandable segments ----------------------------------------------------------------- */

/* Earlier requests may have failed, too. This one is met if the replay meets one more failed
 * request with it than without it. */
static mv_code is_met(const mv_oom_prospect *p, mv_trials *trials, const mv_oom *o,
                      const mv_trial *trial, bool *met, mv_err *err)
{
    mv_trial before;
    mv_code code;

    *met = trial->result.first_oom == MV_NEVER;
    if (*met || trial->result.first_oom >= o->event || trial->result.gave_up ||
        p->lives->events.action[trial->result.first_oom] != MV_ACTION_OOM)
        return MV_OK;
    trials->end = o->event;
    code = mv_trials_try(trials, trial->conf, &before, err);
    trials->end = o->event + 1;
    *met = code == MV_OK && trial->result.avoided_ooms > before.result.avoided_ooms;
    return code;
}

static mv_code try_within(const mv_oom_prospect *p, mv_trials *trials, const mv_oom *o,
                          uint64_t limit, mv_trial *trial, bool *met, mv_err *err)
{
    const char *conf = mv_trials_with(trials, "expandable_segments", "True");

    if (!conf)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "settings that are tried");
    trials->limit = limit;
    if (mv_trials_try(trials, conf, trial, err) != MV_OK)
        return err->code;
    return is_met(p, trials, o, trial, met, err);
}

mv_code mv_oom_try_expandable(const mv_oom_prospect *p, mv_oom *o, mv_err *err)
{
    mv_trials_opts opts = {.capacity = o->outlook.limit, .end = o->event + 1};
    mv_oom_outlook *out = &o->outlook;
    mv_trials trials;
    mv_trial trial = {0};

    out->overhead = 1;
    if (p->rules->expandable || o->api_call != MV_NO_ROW || opts.capacity == 0)
        return MV_OK;
    if (mv_trials_open(p->arena, p->trace, p->lives, opts, &trials, err) != MV_OK)
        return err->code;
    /* A limit that was lowered later forbids what was served earlier. */
    if (!mv_trials_can_tell(&trials) || trials.recorded_reserved > out->limit_most)
        return MV_OK;
    if (try_within(p, &trials, o, out->limit, &trial, &out->serves, err) != MV_OK)
        return err->code;
    out->tried = true;
    out->surely = out->serves;
    out->conf = trial.conf;
    out->would_reserve = trial.result.peak.reserved;
    out->spare = out->sure_spare = out->serves ? trial.result.spare : 0;
    if (trial.result.peak.allocated && trial.result.peak.reserved > trial.result.peak.allocated)
        out->overhead = (double)trial.result.peak.reserved / (double)trial.result.peak.allocated;
    if (!out->serves || out->limit_least == out->limit)
        return MV_OK;
    if (try_within(p, &trials, o, out->limit_least, &trial, &out->surely, err) != MV_OK)
        return err->code;
    out->sure_spare = out->surely ? trial.result.spare : 0;
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

/* What leaks at that moment: later events neither add to a leak nor free it. */
mv_code mv_oom_find_leak(const mv_oom_prospect *p, mv_oom *o, mv_steps *steps, mv_err *err)
{
    mv_oom_outlook *out = &o->outlook;
    uint64_t available = out->limit_least - o->bytes.reserved;
    uint64_t lacking = o->segment > available ? o->segment - available : 0;
    mv_arena scratch;
    mv_lives until;
    mv_leaks leaks;
    mv_code code;

    mv_arena_init(&scratch, p->arena->budget);
    code = mv_lives_within(&scratch, p->lives, (mv_window){0, events_before(o)}, &until, err);
    if (code == MV_OK)
        code = mv_leaks_find(&scratch, p->trace, &until, &leaks, err);
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
