/* What the final heap holds otherwise than the events lead to: reports of what is alive say it. */
#ifndef MV_RESIDUAL_H
#define MV_RESIDUAL_H

#include "analyze/lives/lives.h"
#include "cli/report/table.h"

typedef struct {
    int64_t bytes;
    const char *text; /* one line; "" when they agree */
} mv_residual;

/* Fails only when memory is out. */
mv_code mv_residual_find(mv_cli *cli, const mv_lives *lives, mv_residual *out, mv_err *err);

/* The line, indented; nothing when they agree. */
void mv_residual_put(mv_cli *cli, const mv_residual *residual);

#endif
