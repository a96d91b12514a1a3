/* The difference between the final heap and the events: reports of live memory print it. */
#ifndef MV_RESIDUAL_H
#define MV_RESIDUAL_H

#include "analyze/lives/lives.h"
#include "cli/report/table.h"

typedef struct {
    int64_t bytes;
    const char *text; /* one line; "" if they agree */
} mv_residual;

/* Fails only if memory runs out. */
mv_code mv_residual_find(mv_cli *cli, const mv_lives *lives, mv_residual *out, mv_err *err);

/* The line, indented; nothing if they agree. */
void mv_residual_put(mv_cli *cli, const mv_residual *residual);

#endif
