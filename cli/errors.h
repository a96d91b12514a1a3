/* Errors about memory in a text, which take a snapshot's place: `memviz oom TEXT`, `memviz oom -`,
 * `memviz error.log`. Their sentences come from analyze/oom_text. */
#ifndef MV_CLI_ERRORS_H
#define MV_CLI_ERRORS_H

#include "analyze/oom_text/oom_text.h"
#include "cli/commands.h"
#include "cli/report/fields.h"

typedef struct {
    const mv_error_texts *texts;
    mv_oom_text *rows; /* [texts->count] */
    uint64_t limit;    /* of rows that are shown; set by whoever shows them */
} mv_error_report;

/* The `texts` of `oom`: its function gets an mv_error_report as `one`. */
extern const mv_table mv_error_table;

/* Whether the command's file is a text itself: there is no such file, and it has an error in it or
 * more than one word. Without an error a message is printed, and `out` is empty. */
bool mv_errors_are_given(mv_cli *cli, mv_error_texts *out);

mv_code mv_errors_explain(mv_cli *cli, const mv_error_texts *texts, mv_error_report *out,
                          mv_err *err);

/* "CUDA out of memory, 2.00 GiB requested on GPU 1, rank 3". Returns `text`. */
#define MV_ERROR_TITLE 160
const char *mv_error_title(const mv_error_text *error, char text[MV_ERROR_TITLE]);

/* The gates that a text answers, or cannot. */
void mv_errors_evaluate(mv_cli *cli, const mv_error_texts *texts);

/* The report as text. */
void mv_errors_put(mv_cli *cli, const mv_error_report *errors);

#endif
