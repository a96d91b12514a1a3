/* --format md and junit: the answers of the gates and the report's text, as a page for CI.
 *
 * The text of the command is collected in memory, and the page is written in its place. Markdown
 * has a heading, a table of the gates, and the report as a code block. JUnit XML has a test case
 * for each gate (met: failure, unknown: error, unknown and `known`: skipped), and the report as the
 * suite's output. If files could not be read, a separate test case fails. */
#ifndef MV_GATE_PAGE_H
#define MV_GATE_PAGE_H

#include "cli/commands.h"

typedef struct {
    FILE *real;  /* the output's file */
    char *text;  /* the report */
    size_t size; /* its length */
} mv_gate_page;

/* False if memory runs out. */
bool mv_gate_page_begin(mv_gate_page *page, mv_cli *cli);

/* Writes the page of a command that ended with `status`. Writes nothing if that status means that
 * there is no report. */
void mv_gate_page_end(mv_gate_page *page, mv_cli *cli, int status);

#endif
