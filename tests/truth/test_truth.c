/* The viewer's window must show the truth about every recording (tests/truth/fixture_truth.h). */
#include "tests/fixture/fixture_view.h"
#include "tests/truth/fixture_truth.h"

static void end(const mvt_truth *t)
{
    cr_expect_eq(t->faults, 0, "%s: %u of %u are not true", t->name, t->faults, t->checks);
}

/* One theme for each recording, alternately. */
static void set_theme(mv_view *view)
{
    static uint32_t turn;

    if (turn++ % 2)
        mv_view_do(view, MV_DO_theme, 0);
}

static void check_legend(mv_view *view, const char *name)
{
    mvt_truth t = {.view = view, .name = name, .out = stderr};

    set_theme(view);
    mvt_truth_legend(&t, 1000, 640);
    end(&t);
}

/* A picture of a wide screen takes as long as all others together, so only every fifth recording
 * has one. */
static void check_frames(mv_view *view, const char *name)
{
    static uint32_t turn;
    mvt_truth t = {.view = view, .name = name, .out = stderr, .widest = turn++ % 5 ? 1920 : 0};

    set_theme(view);
    mvt_truth_frames(&t);
    end(&t);
}

LongTest(truth, a_row_of_the_legend_has_its_colour_and_bytes, .timeout = 600)
{
    mvt_each_view(check_legend);
}

LongTest(truth, texts_are_whole_true_and_on_no_line, .timeout = 600)
{
    mvt_each_view(check_frames);
}
