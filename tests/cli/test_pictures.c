/* Every picture in every format: the files that are written, and the figures in --json. */
#include "cli/pictures/pictures.h"

#include "tests/fixture/fixture_json.h"

static const char *const figure_names[MV_FIGURE_COUNT] = {"events", "stacks", "bytes", "drawn",
                                                          "matches"};

static const char *const commands[MV_PICTURE_COUNT] = {
    [MV_PICTURE_ACTIVE] = "trace_plot",
    [MV_PICTURE_SEGMENTS] = "segment_plot",
    [MV_PICTURE_STATE] = "segment_plot --at peak",
    [MV_PICTURE_POOLS] = "trace_plot --view pools",
    [MV_PICTURE_STACKS] = "memory",
    [MV_PICTURE_SEGMENT_STACKS] = "segments",
};

static void expect_figures(const char *command, const char *ending, const char *filter,
                           uint32_t figures)
{
    cJSON *report =
        mvt_json(0, "$MEMVIZ %s --json %s $SNAPS/two_devices.pickle -o x%s && test -s x%s", command,
                 filter, ending, ending);

    for (uint32_t i = 0; i < MV_FIGURE_COUNT; i++) {
        cJSON *figure = cJSON_GetObjectItem(report, figure_names[i]);
        cr_expect_eq(figure != NULL, (figures & 1u << i) != 0, "%s %s %s: %s", command, ending,
                     filter, figure_names[i]);
        cr_expect(!figure || figure->valuedouble > 0, "%s %s: %s", command, ending,
                  figure_names[i]);
    }
}

LongTest(pictures, pictures_are_written_in_every_format)
{
    for (uint32_t i = 0; i < MV_PICTURE_COUNT; i++) {
        uint32_t figures = mv_pictures[i].figures;
        cr_assert_not_null(mv_pictures[i].paint);
        expect_figures(commands[i], ".svg", "--filter 'size>1'", figures);
        expect_figures(commands[i], ".png", "", figures & ~MV_FIGURES(MATCHES));
        expect_figures(commands[i], ".html", "", MV_FIGURES(EVENTS) | MV_FIGURES(DRAWN));
        if (mv_pictures[i].flame)
            expect_figures(commands[i], ".folded", "", MV_FIGURES(STACKS) | MV_FIGURES(BYTES));
    }
}

/* export writes folded stacks through the same code. */
Test(pictures, export_reports_the_figures_of_folded_stacks)
{
    expect_figures("export", ".folded", "", MV_FIGURES(STACKS) | MV_FIGURES(BYTES));
}

/* Only flame graphs can be written as folded stacks. Standard input has no file name from which to
 * derive an output name. */
LongTest(pictures, other_endings_are_refused)
{
    for (uint32_t i = 0; i < MV_PICTURE_COUNT; i++) {
        bool is_flame = mv_pictures[i].flame != NULL;
        mvt_run pdf = mvt_here_or_sh("$MEMVIZ %s $SNAPS/two_devices.pickle -o x.pdf", commands[i]);
        mvt_run folded =
            mvt_here_or_sh("$MEMVIZ %s $SNAPS/two_devices.pickle -o x.folded", commands[i]);
        mvt_run unnamed = mvt_here_or_sh("$MEMVIZ %s - <$SNAPS/two_devices.pickle", commands[i]);
        cr_expect_eq(pdf.status, 2);
        cr_expect(strstr(pdf.err, is_flame
                                      ? "x.pdf: the name must end in .folded, .svg, .png or .html"
                                      : "x.pdf: the name must end in .svg, .png or .html"),
                  "%s", pdf.err);
        cr_expect_eq(folded.status, is_flame ? 0 : 2, "%s", commands[i]);
        if (i == MV_PICTURE_STACKS) { /* a tree of text */
            cr_expect_eq(unnamed.status, 0, "%s", unnamed.err);
            continue;
        }
        cr_expect_eq(unnamed.status, 2);
        cr_expect(strstr(unnamed.err, "name the output with -o X.html"), "%s", unnamed.err);
    }
}

LongTest(pictures, pictures_have_the_requested_title)
{
    static const char *const all[] = {"trace_plot g.pickle -o x.svg",
                                      "segment_plot g.pickle -o x.svg",
                                      "memory g.pickle -o x.svg",
                                      "segments g.pickle -o x.svg",
                                      "trace_plot g.pickle -o x.html",
                                      "segment_plot --at peak g.pickle -o x.svg",
                                      "diff g.pickle $SNAPS/leak_cycle.pickle -o x.svg"};

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_run r = mvt_sh("cp $SNAPS/graphs.pickle g.pickle; $MEMVIZ %s -q --title 'Run <7>' && "
                           "grep -c 'Run &lt;7&gt;' x.*",
                           all[i]);
        cr_expect_eq(r.status, 0, "%s: %s", all[i], r.err);
    }
}

/* The picture's default name is chosen as it is for trace_plot. */
Test(pictures, segments_are_written_beside_the_file)
{
    mvt_prints("cp $SNAPS/graphs.pickle g.pickle; $MEMVIZ segments -q g.pickle; ls", 0,
               "g.pickle.html\ng.pickle\ng.pickle.html\n");
}
