/* Out-of-memory errors in a text, which may take the place of a snapshot: `memviz oom TEXT`,
 * `memviz oom -`, `memviz error.log`. The sentences about them come from analyze/oom_text. */
#pragma once

#include "analyze/oom_text/oom_text.h"
#include "cli/commands.h"
#include "cli/report/fields.h"

typedef struct {
    const mv_error_texts *texts;
    mv_oom_text *rows; /* [texts->count] */
    uint64_t limit;    /* number of rows to show, set by the code that shows them */
} mv_error_report;

/* The table `texts` in the report of `oom`. Its function receives an mv_error_report as `one`. */
extern const mv_table mv_error_table;

/* Whether the command's file argument is the text itself: no file with that name exists, and the
 * argument contains an error or more than one word. If it contains no error, prints a message and
 * leaves `out` empty. */
bool mv_errors_are_given(mv_cli *cli, mv_error_texts *out);

mv_code mv_errors_explain(mv_cli *cli, const mv_error_texts *texts, mv_error_report *out,
                          mv_err *err);

/* Returns `text`, filled with "CUDA out of memory, 2.00 GiB requested on GPU 1, rank 3". */
#define MV_ERROR_TITLE 160
const char *mv_error_title(const mv_error_text *error, char text[MV_ERROR_TITLE]);

/* Answers the gates for a text. A gate that a text cannot answer is unknown. */
void mv_errors_evaluate(mv_cli *cli, const mv_error_texts *texts);

/* Prints the report as text. */
void mv_errors_put(mv_cli *cli, const mv_error_report *errors);
