/* `memviz mcp` for tests: request lines in, JSON answers out. */
#pragma once

#include "tests/fixture/fixture_json.h"

/* Sends lines to `memviz mcp` in the folder testdata/ and returns the lines of its answer. The
 * status must be 0. */
char *mvt_mcp_play(const char *lines);

/* Returns the next answer as JSON, or NULL at the end. Advances `*lines`. */
const cJSON *mvt_mcp_next(char **lines);

/* Returns the texts of a tools/call result, joined by line ends, and whether the result is an
 * error. */
const char *mvt_mcp_text(const cJSON *answer, bool *is_error);

/* Returns the request line that calls a tool; `arguments` is JSON. */
const char *mvt_mcp_call(const char *tool, const char *arguments);
