#include "analyze/advice/without_sites.h"

#include "analyze/replay/setting_trials.h"

static mv_code no_memory(mv_err *err)
{
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
}

static mv_code replay_all(const mv_trials *trials, const mv_attribution *found, uint32_t most,
                          mv_reserved_falls *out, mv_err *err)
{
    uint32_t allocs = trials->lives->allocs.count;
    uint8_t *rows = mv_push_array(trials->arena, uint8_t, allocs);
    const mv_edit edit = {.kind = MV_EDIT_SCALE, .rows = rows, .denominator = 1};
    mv_trial trial;

    if (!rows)
        return no_memory(err);
    for (; out->count < most; out->count++) {
        for (uint32_t i = 0; i < allocs; i++)
            rows[i] = found->part_of[i] == found->sites[out->count].part;
        if (mv_trials_try_edits(trials, trials->recorded_conf, &edit, 1, &trial, err) != MV_OK)
            return err->code;
        if (trial.result.gave_up)
            break;
        out->fall[out->count] = trial.saves;
    }
    return MV_OK;
}

mv_code mv_without_sites(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_attribution *found, uint64_t most, mv_reserved_falls *out,
                         mv_err *err)
{
    uint32_t count = found->count < most ? found->count : (uint32_t)most;
    mv_arena scratch;
    mv_trials trials;
    mv_code code;

    *out = (mv_reserved_falls){.fall = mv_push_array(arena, int64_t, count)};
    if (!out->fall)
        return no_memory(err);
    if (count == 0 || lives->events.count == 0 || lives->events.count > MV_WITHOUT_EVENTS)
        return MV_OK;
    mv_arena_init(&scratch, arena->budget);
    code = mv_trials_open(&scratch, trace, lives, (mv_trials_opts){0}, &trials, err);
    if (code == MV_OK && mv_trials_are_conclusive(&trials) && trials.recorded_ooms == 0 &&
        trials.limit_source == MV_LIMIT_NONE) {
        if (*trials.left > MV_WITHOUT_STEPS)
            *trials.left = MV_WITHOUT_STEPS;
        code = replay_all(&trials, found, count, out, err);
    }
    mv_arena_release(&scratch);
    return code;
}
