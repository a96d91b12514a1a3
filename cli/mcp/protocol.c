#include "cli/mcp/protocol.h"

#include <stdio.h>

#include "base/texts.h"
#include "base/utf8.h"
#include "cli/mcp/json_tree.h"
#include "cli/mcp/tools.h"
#include "cli/report/json.h"

/* Codes of JSON-RPC. */
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
    const mv_json *id; /* NULL: a notification, which is never answered */
    const mv_json *params;
} request;

/* ---- messages ---------------------------------------------------------------------------- */

static void put_id(mv_out *out, const mv_json *id)
{
    if (id && id->kind == MV_JSON_STRING)
        mv_json_put_text(out, id->text);
    else if (id && id->kind == MV_JSON_NUMBER)
        mv_out_bytes(out, id->text.data, id->text.length);
    else
        mv_out_words(out, "null");
}

static void begin(mv_out *out, const mv_json *id, const char *member)
{
    mv_out_words(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    put_id(out, id);
    mv_out_words(out, ",\"");
    mv_out_words(out, member);
    mv_out_words(out, "\":");
}

/* The message may repeat text from the request. */
static void put_error(mv_out *out, const mv_json *id, int code, const char *message)
{
    char tamed[MV_ERR_TEXT + 40];

    begin(out, id, "error");
    mv_out_words(out, "{\"code\":");
    mv_out_i64(out, code);
    mv_out_words(out, ",\"message\":");
    snprintf(tamed, sizeof tamed, "%s", message);
    mv_utf8_tame(tamed);
    mv_json_put_text(out, mv_text_span(tamed));
    mv_out_words(out, "}}");
}

/* ---- methods ----------------------------------------------------------------------------- */

/* Newest first: the first is offered to clients that request an unknown version. The server behaves
 * the same in all of them. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

static const char INSTRUCTIONS[] =
    "memviz reads GPU memory snapshots: files written by torch.cuda.memory._dump_snapshot(), "
    "captures of memviz run. Begin with triage, which "
    "names the reports that matter. Every tool takes "
    "the path of a snapshot. Options named in answers, such as --limit or --at, are arguments: "
    "limit, at. Long answers are cut, with a note on how to request the rest. The tool terms "
    "explains words.";

static void initialize(request *r)
{
    const mv_json *asked = mv_json_member(r->params, "protocolVersion");
    const char *version = versions[0];

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (mv_json_is(asked, versions[i]))
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
    const mv_json *name = mv_json_member(r->params, "name");
    const mv_mcp_tool *tool =
        name && name->kind == MV_JSON_STRING ? mv_mcp_tool_find(name->text) : NULL;
    mv_mcp_result result;
    char why[160];
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!tool) {
        snprintf(why, sizeof why, "no tool '%.60s'; tools/list lists all tools",
                 name && name->kind == MV_JSON_STRING ? (const char *)name->text.data : "");
        put_error(r->out, r->id, BAD_PARAMS, why);
    } else if (mv_mcp_call(r->mcp, r->arena, tool, mv_json_member(r->params, "arguments"), &result,
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

/* Neither notifications nor answers to requests, which this server never sends. */
static bool wants_answer(const mv_json *message)
{
    if (mv_json_member(message, "method"))
        return mv_json_member(message, "id") != NULL;
    return !mv_json_member(message, "result") && !mv_json_member(message, "error");
}

static void answer(mv_mcp *mcp, mv_arena *arena, const mv_json *message, mv_out *out)
{
    const mv_json *method = mv_json_member(message, "method");
    request r = {mcp, arena, out, mv_json_member(message, "id"), mv_json_member(message, "params")};
    char why[160];

    if (!mv_json_is(mv_json_member(message, "jsonrpc"), "2.0") || !method ||
        method->kind != MV_JSON_STRING || !r.id ||
        (r.id->kind != MV_JSON_STRING && r.id->kind != MV_JSON_NUMBER)) {
        put_error(out, r.id, NO_REQUEST, "not a JSON-RPC 2.0 request");
        return;
    }
    for (size_t i = 0; i < METHODS; i++)
        if (mv_json_is(method, methods[i].name)) {
            methods[i].answer(&r);
            return;
        }
    snprintf(why, sizeof why, "no method '%.60s'", (const char *)method->text.data);
    put_error(out, r.id, NO_METHOD, why);
}

/* With its own memory: a line may contain a hundred thousand messages. */
static void answer_one(mv_mcp *mcp, const mv_json *message, mv_out *out)
{
    mv_arena arena;

    mv_arena_init(&arena, &mcp->budget);
    answer(mcp, &arena, message, out);
    mv_arena_release(&arena);
}

/* The answers to several messages on one line. */
static uint32_t answer_all(mv_mcp *mcp, const mv_json *messages, mv_out *out)
{
    uint32_t answered = 0;

    if (!messages->child) {
        put_error(out, NULL, NO_REQUEST, "no request");
        return 1;
    }
    for (const mv_json *m = messages->child; m; m = m->next)
        if (wants_answer(m)) {
            mv_out_char(out, answered++ ? ',' : '[');
            answer_one(mcp, m, out);
        }
    if (answered)
        mv_out_char(out, ']');
    return answered;
}

void mv_mcp_answer(mv_mcp *mcp, mv_span line, mv_out *out)
{
    char text[MV_ERR_TEXT], why[MV_ERR_TEXT + 40];
    const mv_json *message;
    uint32_t answered = 1;
    mv_arena arena;
    mv_err err;

    mv_arena_init(&arena, &mcp->budget);
    message = mv_json_read(&arena, line, &err);
    if (!message) {
        snprintf(why, sizeof why, "not JSON: byte %llu: %s", (unsigned long long)err.offset,
                 err.code == MV_FORMAT ? err.detail : mv_err_text(&err, text));
        put_error(out, NULL, err.code == MV_NOMEM ? FAILED : NOT_JSON, why);
    } else if (message->kind == MV_JSON_ARRAY) {
        answered = answer_all(mcp, message, out);
    } else if (wants_answer(message)) {
        answer_one(mcp, message, out);
    } else {
        answered = 0;
    }
    if (answered)
        mv_out_char(out, '\n');
    mv_arena_release(&arena);
}

void mv_mcp_refuse_long(mv_out *out)
{
    put_error(out, NULL, NO_REQUEST, "a request may not exceed 4 MiB");
    mv_out_char(out, '\n');
}
