/* The server for agents: the protocol, with any bytes as input, and reports made by the program. */
#include "cli/mcp/tools.h"
#include "tests/fixture/fixture.h"
#include "tests/mcp/fixture_mcp.h"

/* ---- the protocol, without the program ---------------------------------------------------- */

/* Answers with its command line, or with `text`. */
typedef struct {
    const char *text;
    int status;
    uint32_t runs;
} stand_in;

static mv_code say_words(void *user, mv_arena *arena, char **words, int count, bool wants_picture,
                         mv_mcp_ran *out, mv_err *err)
{
    stand_in *s = user;
    char *text = mv_arena_push(arena, 1 << 16, 1);
    size_t length = 0;

    (void)err, (void)wants_picture;
    s->runs++;
    for (int i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, (1 << 16) - length, "%s\n", words[i]);
    *out = (mv_mcp_ran){.status = s->status, .out = {(uint8_t *)text, length}};
    if (s->text)
        out->out = (mv_span){(const uint8_t *)s->text, strlen(s->text)};
    return MV_OK;
}

/* Returns the answer to a line. */
static const char *answer_of(stand_in *s, mv_span line)
{
    mv_mcp mcp = {.run = say_words, .user = s, .budget.limit = 64 * MIB};
    mv_out *out = mv_push_struct(mvt_memory(), mv_out);
    char *text = NULL;
    size_t size;

    out->sink.file = open_memstream(&text, &size);
    mv_mcp_answer(&mcp, line, out);
    mvt_ok(mv_out_close(out, mvt_err()));
    mvt_at_end(free, text);
    return text;
}

static const char *answer_to(const char *line)
{
    stand_in s = {0};

    return answer_of(&s, (mv_span){(const uint8_t *)line, strlen(line)});
}

static int code_of(const char *answer)
{
    return (int)mvt_json_number(mvt_json_of(answer), "error.code");
}

Test(mcp, malformed_requests_get_json_rpc_errors)
{
    static const struct {
        const char *line;
        int code;
    } all[] = {
        {"{", -32700},
        {"", -32700},
        {"\"", -32700},
        {"{\"a\":1,}", -32700},
        {"[1,]", -32700},
        {"{} {}", -32700},
        {"\"\xff\"", -32700},
        {"\"\\ud800\"", -32700},
        {"\"abc\\\"", -32700},
        {"nul", -32700},
        {"\"a\\u0000b\"", -32700},
        {"{}", -32600},
        {"1", -32600},
        {"[]", -32600},
        {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600},
        {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/cal\"}", -32601},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", -32602},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"run\"}}",
         -32602},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        cr_expect_eq(code_of(answer_to(all[i].line)), all[i].code, "%s", all[i].line);
}

Test(mcp, a_notification_gets_no_answer)
{
    cr_expect_str_empty(
        answer_to("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
    cr_expect_str_empty(answer_to("{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\"}"));
    cr_expect_str_empty(answer_to("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"));
    cr_expect_str_empty(answer_to("[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]"));
}

Test(mcp, answers_have_the_id_and_batches_have_all)
{
    cr_expect_str_eq(answer_to("{\"jsonrpc\":\"2.0\",\"id\":\"a\\u00e9\\n\",\"method\":\"ping\"}"),
                     "{\"jsonrpc\":\"2.0\",\"id\":\"a\xc3\xa9\\n\",\"result\":{}}\n");
    cr_expect_str_eq(answer_to("[{\"jsonrpc\":\"2.0\",\"id\":-7,\"method\":\"ping\"},"
                               "{\"jsonrpc\":\"2.0\",\"method\":\"x\"},"
                               "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}]"),
                     "[{\"jsonrpc\":\"2.0\",\"id\":-7,\"result\":{}},"
                     "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}]\n");
}

static const char *version_for(const char *asked)
{
    const char *line = mvt_format(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{%s}}", asked);

    return mvt_json_text(mvt_json_of(answer_to(line)), "result.protocolVersion");
}

Test(mcp, the_clients_version_is_used_if_it_is_supported)
{
    cr_expect_str_eq(version_for("\"protocolVersion\":\"2024-11-05\""), "2024-11-05");
    cr_expect_str_eq(version_for("\"protocolVersion\":\"2025-06-18\""), "2025-06-18");
    cr_expect_str_eq(version_for("\"protocolVersion\":\"1999-01-01\""), "2025-11-25");
    cr_expect_str_eq(version_for(""), "2025-11-25");
}

/* Returns the text of a call whose report is `text`. */
static const char *call(stand_in *s, const char *tool, const char *arguments, bool *is_error)
{
    const char *line = mvt_mcp_call(tool, arguments);

    return mvt_mcp_text(mvt_json_of(answer_of(s, (mv_span){(const uint8_t *)line, strlen(line)})),
                        is_error);
}

Test(mcp, arguments_become_options)
{
    static const struct {
        const char *tool, *arguments, *words;
    } all[] = {
        {"leaks", "{\"file\":\"a b\",\"limit\":3}", "leaks\n--limit=3\n--\na b\n\n"},
        {"leaks", "{\"limit\":\"3\",\"file\":\"--help\"}", "leaks\n--limit=3\n--\n--help\n\n"},
        {"diff", "{\"after\":\"b\",\"before\":\"a\",\"at\":\"end\"}",
         "diff\n--at=end\n--\na\nb\n\n"},
        {"ranks", "{\"files\":[\"a\",\"b\",\"c\"]}", "ranks\n--\na\nb\nc\n\n"},
        {"ranks", "{\"files\":\"a\"}", "ranks\n--\na\n\n"},
        {"triage", "{\"file\":\"a\"}", "triage\n--\na\n\n"},  /* as for tools with one file */
        {"leaks", "{\"files\":[\"a\"]}", "leaks\n--\na\n\n"}, /* as for tools with several files */
        {"leaks", "{\"files\":\"a\"}", "leaks\n--\na\n\n"},
        {"diff", "{\"files\":[\"a\",\"b\"]}", "diff\n--\na\nb\n\n"},
        {"whatif", "{\"file\":\"a\",\"conf\":[\"\",\"x:1\"]}",
         "whatif\n--conf=\n--conf=x:1\n--\na\n\n"},
        {"whatif",
         "{\"file\":\"a\",\"drop\":[\"x\",\"y\"],\"one-stream\":true,\"zero\":2,\"ranks\":8}",
         "whatif\n--drop=x\n--drop=y\n--one-stream\n--zero=2\n--ranks=8\n--\na\n\n"},
        {"fit", "{\"files\":[\"a=4\",\"b=8\"],\"at\":\"16,24\"}",
         "fit\n--at=16,24\n--\na=4\nb=8\n\n"},
        {"trace", "{\"file\":\"a\"}", "trace\n--limit=100\n--\na\n\n"},
        {"peak", "{\"file\":\"a\",\"table\":\"sites\"}", "peak\n--csv\n--table=sites\n--\na\n\n"},
        {"peak", "{\"file\":\"a\",\"json\":true}", "peak\n--json\n--\na\n\n"},
        {"terms", "{}", "help\n--\nterms\n\n"},
        {"terms", "{\"term\":\"active\"}", "help\n--\nterms\nactive\n\n"},
    };
    stand_in s = {0};
    bool is_error;

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        cr_expect_str_eq(call(&s, all[i].tool, all[i].arguments, &is_error), all[i].words);
        cr_expect_not(is_error);
    }
}

Test(mcp, wrong_arguments_are_reported_and_nothing_is_run)
{
    static const struct {
        const char *tool, *arguments, *why;
    } all[] = {
        {"leaks", "{}", "file: expected the path of a snapshot\n"},
        {"leaks", "[]", "arguments: expected an object\n"},
        {"leaks", "{\"file\":[\"a\"]}", "file: expected a string or a number\n"},
        {"leaks", "{\"file\":\"-\"}", "file: standard input carries the requests: name a file\n"},
        {"leaks", "{\"file\":\"a\",\"output\":\"x\"}",
         "leaks has no argument 'output'; it has: file, json, device, level, limit, from, to, "
         "frames, capacity, table, offset, max_bytes\n"},
        {"leaks", "{\"files\":[\"a\",\"b\"]}",
         "leaks takes 1 file, not 2: triage and ranks take several\n"},
        {"diff", "{\"files\":[\"a\"]}", "after: expected the path of a snapshot\n"},
        {"leaks", "{\"file\":\"a\",\"limit\":true}", "limit: expected a string or a number\n"},
        {"peak", "{\"file\":\"a\",\"rules\":\"x\"}",
         "peak has no argument 'rules'; it has: file, json, device, level, limit, from, to, at, "
         "target, frames, by, table, offset, max_bytes\n"},
        {"peak", "{\"file\":\"a\",\"json\":1}", "json: expected true or false\n"},
        {"whatif", "{\"file\":\"a\",\"one-stream\":\"yes\"}",
         "one-stream: expected true or false\n"},
        {"peak", "{\"file\":\"a\",\"max_bytes\":1}",
         "max_bytes: expected a number from 1000 to 200000\n"},
        {"ranks", "{\"files\":[]}", "files: expected the path of a snapshot\n"},
    };
    stand_in s = {0};
    bool is_error;

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        cr_expect_str_eq(call(&s, all[i].tool, all[i].arguments, &is_error), all[i].why);
        cr_expect(is_error, "%s", all[i].arguments);
    }
    cr_expect_eq(s.runs, 0);
}

Test(mcp, long_answers_are_cut_at_lines_and_their_parts_are_the_whole)
{
    char *text = mv_arena_push(mvt_memory(), 1 << 16, 1);
    char *joined = mv_arena_push(mvt_memory(), 1 << 17, 1);
    stand_in s = {.text = text};
    unsigned next = 0, rounds = 0;
    bool is_error;

    for (unsigned i = 0; i < 1000; i++)
        mv_text_append(text, 1 << 16, "line %u %.*s\n", i, (int)(i % 30),
                       "..............................");
    do {
        const char *arguments =
            mvt_format("{\"file\":\"a\",\"max_bytes\":3000,\"offset\":%u}", next);
        const char *part = call(&s, "leaks", arguments, &is_error), *note = strrchr(part, '[');
        cr_assert_not_null(note);
        cr_assert_leq(note - part, 3001);
        mv_text_append(joined, 1 << 17, "%.*s", (int)(note - part) - 1, part);
        note = strstr(note, "with offset ");
        next = note ? (unsigned)strtoul(note + strlen("with offset "), NULL, 10) : 0;
        rounds++;
    } while (next);
    cr_expect_str_eq(joined, text);
    cr_expect_eq(rounds, 9);
    cr_expect_not_null(strstr(call(&s, "leaks", "{\"file\":\"a\",\"offset\":1000}", &is_error),
                              "[the answer has 1000 lines: nothing from offset 1000 on]"));
    snprintf(text + 4000, 8, "end\n");
    cr_expect_eq(strlen(call(&s, "leaks", "{\"file\":\"a\"}", &is_error)), 4005);
}

Test(mcp, json_that_is_too_long_is_refused_whole)
{
    char *text = mv_arena_push(mvt_memory(), 1 << 16, 1);
    stand_in s = {.text = text};
    bool is_error;

    memset(text, '1', 30000);
    cr_expect_not_null(strstr(call(&s, "leaks", "{\"file\":\"a\",\"json\":true}", &is_error),
                              "the JSON is 30000 bytes long: request less with limit"));
    cr_expect(is_error);
    cr_expect_eq(
        strlen(call(&s, "leaks", "{\"file\":\"a\",\"json\":true,\"max_bytes\":40000}", &is_error)),
        30001);
    cr_expect_not(is_error);
}

/* Requests in which bytes are changed, cut or doubled: the answer must always be one line of JSON,
 * or nothing. */
Test(mcp, any_bytes_get_one_line_or_none)
{
    static const char *const seeds[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"peak\","
        "\"arguments\":{\"file\":\"a\\u00e9\\ud83d\\ude00\",\"limit\":12,\"conf\":[\"x\"]}}}",
        "[{\"jsonrpc\":\"2.0\",\"id\":-1.5e3,\"method\":\"ping\"},[[[]]],null,{\"a\":[true,false]}"
        "]",
        "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"initialize\",\"params\":{}}",
    };
    static const char odd[] = "\"\\{}[]:,0u\n\x80\xff\x00";
    uint64_t state = 11;
    stand_in s = {0};

    for (unsigned round = 0; round < 3000; round++) {
        uint8_t line[600];
        size_t length = strlen(seeds[round % 3]);
        memcpy(line, seeds[round % 3], length);
        for (uint32_t i = mvt_random(&state, 4); i > 0; i--) {
            uint32_t at = mvt_random(&state, (uint32_t)length);
            uint32_t how = mvt_random(&state, 3);
            if (how == 0)
                line[at] = (uint8_t)odd[mvt_random(&state, sizeof odd)];
            else if (how == 1)
                line[at] ^= (uint8_t)(1 << mvt_random(&state, 8));
            else
                length = at + 1;
        }
        const char *answer = answer_of(&s, (mv_span){line, length});
        const char *end = strchr(answer, '\n');
        cr_assert(!*answer || (end && !end[1]));
        if (*answer)
            mvt_json_of(answer);
        mvt_end_now(answer);
    }
}

Test(mcp, nesting_is_bounded)
{
    char deep[4096];

    memset(deep, '[', sizeof deep);
    deep[sizeof deep - 1] = 0;
    cr_expect_eq(code_of(answer_to(deep)), -32700);
}

/* ---- the program ------------------------------------------------------------------------- */

#define LIST_TOOLS "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n"

static const char *help_of(const cJSON *tools, const char *name, const char *argument)
{
    const cJSON *tool;

    cJSON_ArrayForEach(tool, tools) {
        const cJSON *one =
            cJSON_GetObjectItemCaseSensitive(mvt_member(tool, "inputSchema.properties"), argument);
        if (strcmp(mvt_json_text(tool, "name"), name) == 0)
            return one ? mvt_json_text(one, "description") : NULL;
    }
    return NULL;
}

static const cJSON *list_of_tools(void)
{
    char *lines = mvt_mcp_play(LIST_TOOLS);

    return mvt_member(mvt_mcp_next(&lines), "result.tools");
}

/* A tool's description of an argument must match what its command does. */
Test(mcp, a_tool_has_the_arguments_of_its_command)
{
    const cJSON *tools = list_of_tools();

    cr_expect_null(help_of(tools, "flame_graph", "by"));
    cr_expect(strstr(help_of(tools, "picture", "by"), "use"));
    cr_expect_null(strstr(help_of(tools, "picture", "by"), "metadata"));
    cr_expect(strstr(help_of(tools, "peak", "by"), "metadata"));
}

/* An agent reads the list of tools in each session, so the list must be short. */
Test(mcp, the_list_of_tools_is_short)
{
    cr_expect_leq(strlen(mvt_mcp_play(LIST_TOOLS)), 11800);
}

/* A ledger needs a capture, and fit needs files with sizes. Both commands say so. */
Test(mcp, every_tool_answers_and_lists_its_arguments)
{
    const cJSON *tools = list_of_tools(), *tool;
    char requests[8192] = "", *lines;
    bool is_error;

    cr_assert_gt(cJSON_GetArraySize(tools), 13);
    cJSON_ArrayForEach(tool, tools) {
        const cJSON *schema = cJSON_GetObjectItemCaseSensitive(tool, "inputSchema"), *name;
        char arguments[400] = "{";
        cr_expect_gt(strlen(mvt_json_text(tool, "description")), 20);
        cJSON_ArrayForEach(name, cJSON_GetObjectItemCaseSensitive(schema, "required")) {
            const cJSON *what = cJSON_GetObjectItemCaseSensitive(
                cJSON_GetObjectItemCaseSensitive(schema, "properties"), name->valuestring);
            bool is_list = strcmp(mvt_json_text(what, "type"), "array") == 0;
            mv_text_append(arguments, sizeof arguments,
                           "%s\"%s\":%s\"snapshots/mlp_train.pickle\"%s", arguments[1] ? "," : "",
                           name->valuestring, is_list ? "[" : "", is_list ? "]" : "");
        }
        mv_text_append(arguments, sizeof arguments, "}");
        mv_text_append(requests, sizeof requests, "%s",
                       mvt_mcp_call(mvt_json_text(tool, "name"), arguments));
    }
    lines = mvt_mcp_play(requests);
    cJSON_ArrayForEach(tool, tools) {
        const char *name = mvt_json_text(tool, "name");
        const cJSON *answer = mvt_mcp_next(&lines);
        cr_expect_str_eq(mvt_json_text(answer, "id"), name);
        const char *text = mvt_mcp_text(answer, &is_error);
        cr_expect_eq(is_error, strcmp(name, "ledger") == 0 || strcmp(name, "fit") == 0, "%s: %s",
                     name, text);
        cr_expect_leq(strlen(text), MV_MCP_TEXT + 300, "%s", name);
    }
}

LongTest(mcp, answers_equal_the_output_of_the_program)
{
    static const char *const tools[] = {"info", "stats", "leaks", "peak", "oom", "fragmentation"};
    char requests[2048] = "", *lines;
    bool is_error;

    for (unsigned i = 0; i < 6; i++)
        mv_text_append(requests, sizeof requests, "%s",
                       mvt_mcp_call(tools[i], "{\"file\":\"snapshots/gpt_train.pickle\"}"));
    lines = mvt_mcp_play(requests);
    for (unsigned i = 0; i < 6; i++) {
        mvt_run r =
            mvt_sh("cd %s && $MEMVIZ %s snapshots/gpt_train.pickle && echo", MV_TESTDATA, tools[i]);
        cr_expect_str_eq(mvt_mcp_text(mvt_mcp_next(&lines), &is_error), r.out);
    }
}

Test(mcp, pictures_are_png)
{
    char *lines = mvt_mcp_play(
        mvt_mcp_call("picture", "{\"file\":\"snapshots/mlp_train.pickle\",\"size\":\"300x200\"}"));
    const cJSON *image = mvt_member(mvt_mcp_next(&lines), "result.content.0");

    cr_expect_str_eq(mvt_json_text(image, "type"), "image");
    cr_expect_str_eq(mvt_json_text(image, "mimeType"), "image/png");
    /* Checks the PNG signature, and in the first chunk the width of 300 and the height of 200. */
    cr_expect_eq(strncmp(mvt_json_text(image, "data"), "iVBORw0KGgoAAAANSUhEUgAAASwAAADI", 32), 0);
}

Test(mcp, file_errors_are_results_and_the_server_continues)
{
    static const char *const calls[][2] = {
        {"leaks", "{\"file\":\"nowhere.pickle\"}"},
        {"leaks", "{\"file\":\"bad/reduce.FORBIDDEN.pickle\"}"},
        {"leaks", "{\"file\":\"/dev/zero\"}"},
        {"fit", "{\"files\":[\"/dev/zero=4\",\"x=8\"],\"at\":16}"},
        {"leaks", "{\"file\":\"snapshots\"}"},
        {"peak", "{\"file\":\"snapshots/oom.pickle\",\"at\":\"x\"}"},
        {"picture", "{\"file\":\"snapshots/oom.pickle\",\"size\":\"0x0\"}"},
        {NULL, "\n{\n"},
        {"ranks", "{\"files\":[\"snapshots/oom.pickle\",\"nix\"]}"},
        {"stats", "{\"file\":\"snapshots/oom.pickle\"}"}};
    char *lines, requests[4096] = "";
    bool is_error;

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        mv_text_append(requests, sizeof requests, "%s",
                       calls[i][0] ? mvt_mcp_call(calls[i][0], calls[i][1]) : calls[i][1]);
    lines = mvt_mcp_play(requests);
    cr_expect_str_eq(mvt_mcp_text(mvt_mcp_next(&lines), &is_error),
                     "nowhere.pickle: No such file or directory\n");
    cr_expect(is_error);
    cr_expect_not_null(
        strstr(mvt_mcp_text(mvt_mcp_next(&lines), &is_error), "opcode that imports or calls"));
    cr_expect(is_error);
    cr_expect_str_eq(mvt_mcp_text(mvt_mcp_next(&lines), &is_error), "/dev/zero: not a file\n");
    cr_expect_str_eq(mvt_mcp_text(mvt_mcp_next(&lines), &is_error), "/dev/zero=4: not a file\n");
    for (unsigned i = 0; i < 3; i++) {
        const char *text = mvt_mcp_text(mvt_mcp_next(&lines), &is_error);
        cr_expect(is_error, "%s", text);
        cr_expect_eq(strchr(text, '\n'), text + strlen(text) - 1, "one line: %s", text);
    }
    cr_expect_not_null(cJSON_GetObjectItemCaseSensitive(mvt_mcp_next(&lines), "error"));
    cr_expect_not_null(strstr(mvt_mcp_text(mvt_mcp_next(&lines), &is_error), "nix"));
    cr_expect(is_error);
    cr_expect_not_null(strstr(mvt_mcp_text(mvt_mcp_next(&lines), &is_error), "device 0"));
    cr_expect_not(is_error);
    cr_expect_null(mvt_mcp_next(&lines));
}

Test(mcp, a_request_of_5_mib_is_refused_and_the_next_one_answered)
{
    mvt_prints("(head -c 5242880 /dev/zero | tr '\\0' x; echo; echo "
               "'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}') | $MEMVIZ mcp",
               0,
               "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\""
               "a request may not exceed 4 MiB\"}}\n"
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
}

/* A file that changes between two questions is read again; an unchanged file is not. */
Test(mcp, a_kept_file_is_read_again_when_it_changes)
{
    mvt_run r = mvt_sh(
        "cp $SNAPS/mlp_train.pickle a; "
        "ask() { echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
        "{\"name\":\"stats\",\"arguments\":{\"file\":\"a\"}}}'; }; "
        "mkfifo in out; $MEMVIZ mcp <in >out & exec 7>in 8<out; "
        "ask >&7; read -r first <&8; ask >&7; read -r same <&8; "
        "cp $SNAPS/gpt_train.pickle a; ask >&7; read -r other <&8; exec 7>&-; wait; "
        "[ \"$first\" = \"$same\" ] && echo same; [ \"$first\" = \"$other\" ] || echo other; "
        "printf '%%s' \"$other\" | grep -c '1.15 GiB'");

    cr_expect_str_eq(r.out, "same\nother\n1\n", "%s %s", r.out, r.err);
}
