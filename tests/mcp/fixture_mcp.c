#include "tests/mcp/fixture_mcp.h"

char *mvt_mcp_play(const char *lines)
{
    const char *file = mvt_temp_file((mv_span){(const uint8_t *)lines, strlen(lines)});
    mvt_run r = mvt_sh("cd %s && $MEMVIZ mcp <%s", MV_TESTDATA, file);

    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_expect_str_empty(r.err);
    return r.out;
}

const cJSON *mvt_mcp_next(char **lines)
{
    char *line = *lines, *end = strchr(line, '\n');

    if (!*line)
        return NULL;
    cr_assert_not_null(end, "an answer without a line end");
    *end = 0;
    *lines = end + 1;
    return mvt_json_of(line);
}

const char *mvt_mcp_text(const cJSON *answer, bool *is_error)
{
    const cJSON *result = cJSON_GetObjectItemCaseSensitive(answer, "result"), *part;
    char *text = NULL;
    size_t size;
    FILE *all = open_memstream(&text, &size);

    cr_assert_not_null(result, "no result");
    cJSON_ArrayForEach(part, cJSON_GetObjectItemCaseSensitive(result, "content")) {
        if (strcmp(mvt_json_text(part, "type"), "text") == 0)
            fprintf(all, "%s\n", mvt_json_text(part, "text"));
    }
    fclose(all);
    mvt_at_end(free, text);
    *is_error = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(result, "isError"));
    return text;
}

const char *mvt_mcp_call(const char *tool, const char *arguments)
{
    return mvt_format(
        "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
        "\"arguments\":%s}}\n",
        tool, tool, arguments);
}
