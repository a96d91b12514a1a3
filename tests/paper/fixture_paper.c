#include "tests/paper/fixture_paper.h"

mvt_picture mvt_picture_of(const mv_paper_kind *kind, const mv_trace *trace, uint32_t device,
                           mv_paper_opts opts)
{
    mvt_picture p;

    p.lives = mvt_lives(mvt_memory(), trace, device);
    if (!opts.title)
        opts.title = "test";
    mvt_ok(mv_paper_find(mvt_memory(), trace, &p.lives, kind, &opts, &p.paper, mvt_err()));
    return p;
}

void mvt_picture_says(const mv_paper_kind *kind, const char *snapshot, const char *const *texts)
{
    mv_trace trace = mvt_load(mvt_memory(), snapshot);
    mv_paper_opts opts = {.title = snapshot, .event = mv_trace_events(&trace, 0).count - 1};
    mvt_picture p = mvt_picture_of(kind, &trace, 0, opts);

    for (; *texts; texts++)
        cr_expect(mvt_scene_says(&p.paper.scene, *texts) ||
                      mvt_scene_hovers(&p.paper.scene, *texts),
                  "%s does not say \"%s\"", snapshot, *texts);
}

void mvt_picture_without_memory(const mv_paper_kind *kind, const mv_trace *trace,
                                mv_paper_opts opts)
{
    mv_lives lives = mvt_lives(mvt_memory(), trace, 0);
    mv_paper paper;

    opts.title = "test";
    for (mvt_limit l = {.step = 8192}; mvt_more_memory(&l);)
        l.code = mv_paper_find(&l.arena, trace, &lives, kind, &opts, &paper, mvt_err());
}

void mvt_picture_golden(const mv_paper_kind *kind, const char *name, mv_paper_opts opts)
{
    opts.title = "small";
    mvt_picture p = mvt_picture_of(kind, mvt_done(mvt_small()), 0, opts);
    mvt_scene_golden(&p.paper.scene, name);
}
