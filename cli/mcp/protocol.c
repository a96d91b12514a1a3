#include "cli/mcp/protocol.h"

#include <cjson/cJSON.h>
#include <ctype.h>

#include "base/texts.h"
#include "cli/mcp/tools.h"
#include "cli/report/json.h"

/* Error codes that JSON-RPC defines. */
enum {
    NOT_JSON = -32700,
    NO_REQUEST = -32600,
    NO_METHOD = -32601,
    BAD_PARAMS = -32602,
    FAILED = -32603
};

typedef struct {
    mv_mcp *mcp;
    mv_arena *arena;
    mv_out *out;
    const cJSON *id; /* NULL: a notification, which is never answered */
    const cJSON *params;
} request;

/* ---- messages ---------------------------------------------------------------------------- */

static bool is(const cJSON *value, const char *text)
{
    return cJSON_IsString(value) && strcmp(value->valuestring, text) == 0;
}

static void put_id(mv_out *out, const cJSON *id)
{
    char number[MV_MCP_NUMBER];

    if (id && cJSON_IsString(id))
        mv_json_put_text(out, mv_text_span(id->valuestring));
    else if (mv_mcp_is_number(id))
        mv_out_text(out, mv_mcp_number(number, id));
    else
        mv_out_words(out, "null");
}

static void begin(mv_out *out, const cJSON *id, const char *member)
{
    mv_out_words(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    put_id(out, id);
    mv_out_words(out, ",\"");
    mv_out_words(out, member);
    mv_out_words(out, "\":");
}

/* The message may quote the request. */
static void put_error(mv_out *out, const cJSON *id, int code, const char *message)
{
    char safe[MV_ERR_TEXT + 40];

    begin(out, id, "error");
    mv_out_words(out, "{\"code\":");
    mv_out_i64(out, code);
    mv_out_words(out, ",\"message\":");
    snprintf(safe, sizeof safe, "%s", message);
    mv_utf8_sanitize(safe);
    mv_json_put_text(out, mv_text_span(safe));
    mv_out_words(out, "}}");
}

/* ---- methods ----------------------------------------------------------------------------- */

/* Supported versions, newest first. The first is offered to clients that request an unknown
 * version. The server behaves the same in all of them. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

static const char INSTRUCTIONS[] =
    "memviz reads GPU memory snapshots: files written by torch.cuda.memory._dump_snapshot(), "
    "captures of memviz run. Begin with triage, which "
    "names the reports that matter. Every tool takes "
    "the path of a snapshot. Options named in answers, such as --limit or --at, are arguments: "
    "limit, at. json: the whole report as JSON; table: one table of it as CSV, to the byte. "
    "Answers "
    "longer than max_bytes (1000 to 200000) are cut, with the offset of the next line to request. "
    "The tool terms explains words.";

static void initialize(request *r)
{
    const cJSON *asked = cJSON_GetObjectItemCaseSensitive(r->params, "protocolVersion");
    const char *version = versions[0];

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (is(asked, versions[i]))
            version = versions[i];
    begin(r->out, r->id, "result");
    mv_out_words(r->out, "{\"protocolVersion\":\"");
    mv_out_words(r->out, version);
    mv_out_words(r->out, "\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"memviz\","
                         "\"version\":\"" MV_PROGRAM_VERSION "\"},\"instructions\":");
    mv_json_put_text(r->out, mv_text_span(INSTRUCTIONS));
    mv_out_words(r->out, "}}");
}

static void ping(request *r)
{
    begin(r->out, r->id, "result");
    mv_out_words(r->out, "{}}");
}

static void list_tools(request *r)
{
    begin(r->out, r->id, "result");
    mv_mcp_put_tools(r->out);
    mv_out_char(r->out, '}');
}

static void call_tool(request *r)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(r->params, "name");
    const mv_mcp_tool *tool = cJSON_IsString(name) ? mv_mcp_tool_find(name->valuestring) : NULL;
    mv_mcp_result result;
    char why[160];
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!tool) {
        snprintf(why, sizeof why, "no tool '%.60s'; tools/list lists all tools",
                 cJSON_IsString(name) ? name->valuestring : "");
        put_error(r->out, r->id, BAD_PARAMS, why);
    } else if (mv_mcp_call(r->mcp, r->arena, tool,
                           cJSON_GetObjectItemCaseSensitive(r->params, "arguments"), &result,
                           &err) != MV_OK) {
        put_error(r->out, r->id, FAILED, err.detail);
    } else {
        begin(r->out, r->id, "result");
        mv_mcp_put_result(r->out, &result);
        mv_out_char(r->out, '}');
    }
}

static const struct {
    const char *name;
    void (*answer)(request *r);
} methods[] = {
    {"initialize", initialize},
    {"ping", ping},
    {"tools/list", list_tools},
    {"tools/call", call_tool},
};
enum { METHODS = sizeof methods / sizeof *methods };

/* Whether the message needs an answer. Notifications do not need one. Neither do answers to
 * requests, because this server never sends requests. */
static bool wants_answer(const cJSON *message)
{
    if (cJSON_GetObjectItemCaseSensitive(message, "method"))
        return cJSON_GetObjectItemCaseSensitive(message, "id") != NULL;
    return !cJSON_GetObjectItemCaseSensitive(message, "result") &&
           !cJSON_GetObjectItemCaseSensitive(message, "error");
}

static void answer(mv_mcp *mcp, mv_arena *arena, const cJSON *message, mv_out *out)
{
    const cJSON *method = cJSON_GetObjectItemCaseSensitive(message, "method");
    request r = {mcp, arena, out, cJSON_GetObjectItemCaseSensitive(message, "id"),
                 cJSON_GetObjectItemCaseSensitive(message, "params")};
    char why[160];

    if (!is(cJSON_GetObjectItemCaseSensitive(message, "jsonrpc"), "2.0") ||
        !cJSON_IsString(method) || (!cJSON_IsString(r.id) && !mv_mcp_is_number(r.id))) {
        put_error(out, r.id, NO_REQUEST, "not a JSON-RPC 2.0 request");
        return;
    }
    for (size_t i = 0; i < METHODS; i++)
        if (is(method, methods[i].name)) {
            methods[i].answer(&r);
            return;
        }
    snprintf(why, sizeof why, "no method '%.60s'", method->valuestring);
    put_error(out, r.id, NO_METHOD, why);
}

/* Uses a separate arena, because a line may contain a hundred thousand messages. */
static void answer_one(mv_mcp *mcp, const cJSON *message, mv_out *out)
{
    mv_arena arena;

    mv_arena_init(&arena, &mcp->budget);
    answer(mcp, &arena, message, out);
    mv_arena_release(&arena);
}

static uint32_t answer_all(mv_mcp *mcp, const cJSON *messages, mv_out *out)
{
    uint32_t answered = 0;

    if (!messages->child) {
        put_error(out, NULL, NO_REQUEST, "no request");
        return 1;
    }
    for (const cJSON *m = messages->child; m; m = m->next)
        if (wants_answer(m)) {
            mv_out_char(out, answered++ ? ',' : '[');
            answer_one(mcp, m, out);
        }
    if (answered)
        mv_out_char(out, ']');
    return answered;
}

/* Parses the line into a tree, which the caller deletes. Returns NULL if it is not JSON, and sets
 * *at to the position of the error. */
static cJSON *read_line(mv_span line, uint64_t *at)
{
    const char *text = (const char *)line.data, *end = text;
    cJSON *tree;
    uint32_t bytes;

    for (*at = 0; *at < line.length; *at += bytes) {
        bytes = mv_utf8_length(line, *at);
        if (line.data[*at] == '\\' && *at + 1 < line.length)
            bytes = 2;
        if (bytes == 0 || (line.length - *at > 5 && memcmp(text + *at, "\\u0000", 6) == 0))
            return NULL; /* cJSON accepts bytes that are not UTF-8, and ends a string at U+0000 */
    }
    tree = cJSON_ParseWithLengthOpts(text, line.length, &end, false);
    *at = (uint64_t)(end - text);
    while (tree && *at < line.length && isspace(line.data[*at]))
        ++*at;
    if (*at == line.length || !tree)
        return tree;
    cJSON_Delete(tree);
    return NULL;
}

void mv_mcp_answer(mv_mcp *mcp, mv_span line, mv_out *out)
{
    char why[80];
    uint64_t at;
    cJSON *message = read_line(line, &at);
    uint32_t answered = 1;

    if (!message) {
        snprintf(why, sizeof why, "not JSON: byte %llu", (unsigned long long)at);
        put_error(out, NULL, NOT_JSON, why);
    } else if (cJSON_IsArray(message)) {
        answered = answer_all(mcp, message, out);
    } else if (wants_answer(message)) {
        answer_one(mcp, message, out);
    } else {
        answered = 0;
    }
    if (answered)
        mv_out_char(out, '\n');
    cJSON_Delete(message);
}

void mv_mcp_refuse_long(mv_out *out)
{
    put_error(out, NULL, NO_REQUEST, "a request may not exceed 4 MiB");
    mv_out_char(out, '\n');
}
