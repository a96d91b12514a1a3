/* The shim's Python frames, in real interpreters and in memory laid out by hand as each version
 * does. */
#include "tests/fixture/fixture_pythons.h"

#include "tests/fixture/fixture_test.h"

/* Runs walk_frames.py, which makes the comparisons and reports its own failures, and shows its last
 * line. */
static void walk_in(const char *python)
{
    FILE *in = mvt_python_open(python, "walk_frames.py", MV_WALK_PROBE);
    char line[1024], last[1024] = "";

    while (fgets(line, sizeof line, in)) {
        cr_expect_not(strstr(line, "DIFFERENT"), "%s: %s", python, line);
        memcpy(last, line, sizeof last);
    }
    mvt_python_close(in, python);
    cr_assert_not_null(strstr(last, "frames compared"), "%s: %s", python, last);
    cr_log_info("%s", last);
}

LongTest(python_frames, frames_equal_those_of_every_interpreter)
{
    const char *pythons[MVT_MOST_PYTHONS];
    unsigned count = mvt_pythons(pythons);

    for (unsigned i = 0; i < count; i++)
        walk_in(pythons[i]);
}
