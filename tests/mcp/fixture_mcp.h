/* `memviz mcp` for tests: lines of requests in, JSON of answers out. */
#ifndef MV_FIXTURE_MCP_H
#define MV_FIXTURE_MCP_H

#include "tests/fixture/fixture_json.h"

/* Plays lines through `memviz mcp` in the folder testdata/, and returns the lines of its answers,
 * with which it ends with status 0. */
char *mvt_mcp_play(const char *lines);

/* The next line of answers as JSON; NULL at the end. Moves `*lines`. */
const cJSON *mvt_mcp_next(char **lines);

/* The texts of a result of tools/call, joined by line ends, and whether it is an error. */
const char *mvt_mcp_text(const cJSON *answer, bool *is_error);

/* The request that calls a tool, a line; `arguments` is JSON. */
const char *mvt_mcp_call(const char *tool, const char *arguments);

#endif
