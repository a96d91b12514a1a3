/* Tables of runs and their expected output:
 *
 *     static const mvt_expected_run all[] = {{"--at 0", 2, NULL, "expected --at"}};
 *     MVT_EXPECT_RUNS("$MEMVIZ fit %s", all);
 *
 * A row without words checks another part of the previous row's output. */
#pragma once

#include "tests/fixture/fixture_program.h"

typedef struct {
    const char *words; /* replaces the %s of the command; NULL: check the previous run again */
    int status;
    /* a part of standard output; "!part": must not be in it; NULL: must be empty */
    const char *out;
    const char *err; /* the same for standard error */
} mvt_expected_run;

/* Runs each row's command line as mvt_here_or_sh does. If the expected status is 1 or 2, standard
 * error must have exactly one line. */
#define MVT_EXPECT_RUNS(command, all) mvt_expect_runs(command, all, sizeof(all) / sizeof *(all))
void mvt_expect_runs(const char *command, const mvt_expected_run *all, size_t count);

/* Expects no line to be wider, except for lines with commands, which are printed whole at every
 * width: a truncated command would be useless. */
void mvt_expect_narrow(const char *text, uint32_t columns, const char *what);
