/* The Model Context Protocol, for a server that offers tools: JSON-RPC 2.0, one message per line.
 *
 *     {"jsonrpc":"2.0","id":7,"method":"tools/call",          ->   mv_mcp_answer   ->   a line
 *      "params":{"name":"leaks","arguments":{"file":"train.pickle"}}}
 *
 * This module only turns input bytes into output bytes. The caller provides the function that runs
 * tools, so tests can feed it arbitrary bytes (tests/mcp/test_mcp.c). docs/mcp.md describes the
 * answers. */
#pragma once

#include "base/arena.h"
#include "cli/report/out.h"

/* Maximum length of a request. Longer ones are rejected unread. */
#define MV_MCP_LONGEST (4u << 20)

/* The result of running the program. Its bytes are allocated in the arena that was passed to the
 * run. */
typedef struct {
    int status;
    mv_span out;      /* the report, or the picture */
    mv_span messages; /* what the run printed on standard error */
} mv_mcp_ran;

/* Runs the program with `count` words after the program name: "leaks", "--", "train.pickle". With
 * `wants_picture`, the run produces a PNG and returns it as `out`. Fails if the program cannot be
 * run. */
typedef mv_code mv_mcp_run_fn(void *user, mv_arena *arena, char **words, int count,
                              bool wants_picture, mv_mcp_ran *out, mv_err *err);

typedef struct {
    mv_mcp_run_fn *run;
    void *user;
    mv_budget budget; /* memory for answers, separate from the memory of runs */
} mv_mcp;

/* Answers one line, passed without its line break. Writes one line, or nothing if no answer is
 * needed. This cannot fail, because errors are answers, too. */
void mv_mcp_answer(mv_mcp *mcp, mv_span line, mv_out *out);

/* Writes the answer to a line that is too long to be read. */
void mv_mcp_refuse_long(mv_out *out);
