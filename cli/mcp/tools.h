/* The tools of the server: commands of the program, with their options as arguments. Their
 * arguments come from the tables of commands and options, so a new option becomes an argument
 * automatically. */
#ifndef MV_MCP_TOOLS_H
#define MV_MCP_TOOLS_H

#include "cli/mcp/json_tree.h"
#include "cli/mcp/protocol.h"

/* Bytes of text in an answer, without `max_bytes`; and the bounds of that argument. */
#define MV_MCP_TEXT       20000
#define MV_MCP_TEXT_LEAST 1000
#define MV_MCP_TEXT_MOST  200000

typedef struct mv_mcp_tool mv_mcp_tool;

/* NULL when there is none. */
const mv_mcp_tool *mv_mcp_tool_find(mv_span name);

/* The result of tools/list. */
void mv_mcp_put_tools(mv_out *out);

typedef struct {
    bool is_error;
    mv_span text;     /* the shown part of the report; or the error */
    const char *note; /* what was omitted and how to request it; or NULL */
    mv_span picture;  /* a PNG; length 0: none */
} mv_mcp_result;

/* Calls a tool; wrong arguments and failed reports are results too. Fails if memory runs out or
 * nothing can be run. Everything lives in `arena`. */
mv_code mv_mcp_call(mv_mcp *mcp, mv_arena *arena, const mv_mcp_tool *tool, const mv_json *arguments,
                    mv_mcp_result *out, mv_err *err);

/* As the result of tools/call. */
void mv_mcp_put_result(mv_out *out, const mv_mcp_result *result);

#endif
