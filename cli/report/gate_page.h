/* The page for CI that --format md or junit requests: the gates' answers and the report's text.
 *
 * The command's text is collected in memory, and the page is written instead. A Markdown page
 * consists of a heading, a table of the gates, and the report as a code block. A JUnit XML page
 * contains one test case for each gate and the report as the suite's output. A gate that is met is
 * a failure, and an unknown gate is an error, or skipped if `known` was given. If files could not
 * be read, a separate test case fails. */
#pragma once

#include "cli/commands.h"

typedef struct {
    FILE *real;  /* the real output, in the file that -o names or on standard output */
    char *text;  /* text of the report */
    size_t size; /* length of the report in bytes */
} mv_gate_page;

/* Redirects the command's text to memory. Returns false if memory runs out. */
bool mv_gate_page_begin(mv_gate_page *page, mv_cli *cli);

/* Writes the page for a command that ended with `status`. Writes nothing if this status means that
 * there is no report. */
void mv_gate_page_end(mv_gate_page *page, mv_cli *cli, int status);
