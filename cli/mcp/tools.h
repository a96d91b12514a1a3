/* The tools of the server: commands of the program, with their options as arguments. Their
 * arguments come from the tables of commands and options, so a new option becomes an argument
 * automatically. */
#ifndef MV_MCP_TOOLS_H
#define MV_MCP_TOOLS_H

#include "cli/mcp/protocol.h"

/* Bytes of text in an answer, without `max_bytes`; and the bounds of that argument. */
#define MV_MCP_TEXT       20000
#define MV_MCP_TEXT_LEAST 1000
#define MV_MCP_TEXT_MOST  200000

struct cJSON;

/* Returns a number as the client wrote it; whole numbers up to 2^53 keep all their digits. */
#define MV_MCP_NUMBER 32
bool mv_mcp_is_number(const struct cJSON *value); /* in the range of a double */
const char *mv_mcp_number(char out[MV_MCP_NUMBER], const struct cJSON *number);

typedef struct mv_mcp_tool mv_mcp_tool;

/* NULL when there is none. */
const mv_mcp_tool *mv_mcp_tool_find(const char *name);

/* The result of tools/list. */
void mv_mcp_put_tools(mv_out *out);

typedef struct {
    bool is_error;
    mv_span text;     /* the shown part of the report; or the error */
    const char *note; /* the omitted part and how to request it; or NULL */
    mv_span picture;  /* a PNG; length 0: none */
} mv_mcp_result;

/* Calls a tool; wrong arguments and failed reports are results too. Fails if memory runs out or
 * nothing can be run. Everything lives in `arena`. */
mv_code mv_mcp_call(mv_mcp *mcp, mv_arena *arena, const mv_mcp_tool *tool,
                    const struct cJSON *arguments, mv_mcp_result *out, mv_err *err);

/* Writes the result of tools/call. */
void mv_mcp_put_result(mv_out *out, const mv_mcp_result *result);

#endif
