/* Opens recordings in a viewer without a window and reports every false statement in it
 * (tests/truth/fixture_truth.h), for scripts/test-truth:
 *
 *     tell_truth FILE...
 *
 * One line for each fault, then one for each file. Fails if there was a fault. */

#include "tests/truth/fixture_truth.h"

static uint32_t check_file(const char *path)
{
    mv_budget budget = {.limit = (uint64_t)8 << 30};
    mv_view_opts opts = {.is_dark = true};
    mv_view *view = mv_view_open(&budget, &opts);
    mvt_truth truth = {.view = view, .name = path, .out = stdout};

    if (!view)
        return 1;
    mv_view_add(view, path);
    mv_view_frame(view, 1280, 800, 0);
    if (mv_view_device(view))
        for (int theme = 0; theme < 2; theme++) {
            mvt_truth_frames(&truth);
            mvt_truth_legend(&truth, 1280, 800);
            mv_view_do(view, MV_DO_theme, 0);
        }
    printf("%-60s %u faults of %u%s\n", path, truth.faults, truth.checks,
           mv_view_device(view) ? "" : "  (nothing to show)");
    fflush(stdout);
    mv_view_close(view);
    return truth.faults;
}

int main(int argc, char **argv)
{
    uint32_t faults = 0;

    for (int i = 1; i < argc; i++)
        faults += check_file(argv[i]);
    return faults > 0;
}
