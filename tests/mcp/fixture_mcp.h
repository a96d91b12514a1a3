/* `memviz mcp` for tests: request lines in, JSON answers out. */
#ifndef MV_FIXTURE_MCP_H
#define MV_FIXTURE_MCP_H

#include "tests/fixture/fixture_json.h"

/* Plays lines through `memviz mcp` in the folder testdata/ and returns its answer lines; the status
 * must be 0. */
char *mvt_mcp_play(const char *lines);

/* The next answer as JSON; NULL at the end. Moves `*lines`. */
const cJSON *mvt_mcp_next(char **lines);

/* The texts of a tools/call result, joined by line ends, and whether it is an error. */
const char *mvt_mcp_text(const cJSON *answer, bool *is_error);

/* The request line that calls a tool; `arguments` is JSON. */
const char *mvt_mcp_call(const char *tool, const char *arguments);

#endif
