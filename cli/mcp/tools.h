/* The server's tools: commands of the program, whose options become the tools' arguments. The
 * arguments are derived from the tables of commands and options, so a new option becomes an
 * argument automatically. */
#pragma once

#include "cli/mcp/protocol.h"

/* Default for `max_bytes`, the number of text bytes in an answer, and the limits of that
 * argument. */
#define MV_MCP_TEXT       20000
#define MV_MCP_TEXT_LEAST 1000
#define MV_MCP_TEXT_MOST  200000

struct cJSON;

/* Returns a number as the client wrote it. Whole numbers up to 2^53 keep all their digits. */
#define MV_MCP_NUMBER 32
bool mv_mcp_is_number(const struct cJSON *value); /* whether the value is a number that a double can
                                                   * represent */
const char *mv_mcp_number(char out[MV_MCP_NUMBER], const struct cJSON *number);

typedef struct mv_mcp_tool mv_mcp_tool;

/* Returns the tool with this name; NULL: none. */
const mv_mcp_tool *mv_mcp_tool_find(const char *name);

/* Writes the result of tools/list. */
void mv_mcp_put_tools(mv_out *out);

typedef struct {
    bool is_error;
    mv_span text;     /* the part of the report that is shown, or the error */
    const char *note; /* what was omitted and how to request it, or NULL */
    mv_span picture;  /* a PNG; length 0: no picture */
} mv_mcp_result;

/* Calls a tool. Wrong arguments and failed reports also count as results, so this fails only if
 * memory runs out or the program cannot be run. The result is allocated in `arena`. */
mv_code mv_mcp_call(mv_mcp *mcp, mv_arena *arena, const mv_mcp_tool *tool,
                    const struct cJSON *arguments, mv_mcp_result *out, mv_err *err);

/* Writes the result of tools/call. */
void mv_mcp_put_result(mv_out *out, const mv_mcp_result *result);
