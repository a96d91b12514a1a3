/* Each question in questions.json must be answerable from the server's answers only. The test makes
 * the question's calls, and their results must contain the facts, which come from the recordings'
 * truth. */
#include "base/size.h"
#include "tests/fixture/fixture.h"
#include "tests/mcp/fixture_mcp.h"

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* Reads a fact such as "snapshots/x.truth.json stats active.all.peak": a file in testdata/, then
 * keys or indexes. */
static const cJSON *truth_at(const char *path)
{
    char words[300], *rest, *word;

    snprintf(words, sizeof words, "%s", path);
    word = strtok_r(words, " ", &rest);
    const cJSON *at = mvt_json_file("%s", word);
    cr_assert_not_null(at, "%s", path);
    while ((word = strtok_r(NULL, " ", &rest)))
        at =
            cJSON_IsArray(at) ? cJSON_GetArrayItem(at, (int)strtol(word, NULL, 10)) : get(at, word);
    cr_assert_not_null(at, "no truth: %s", path);
    return at;
}

/* Returns the text that an answer must contain. */
static const char *fact_text(const cJSON *fact)
{
    const cJSON *less = get(fact, "less"), *at;
    char bytes[MV_SIZE_TEXT];

    if (get(fact, "text")) {
        cr_expect_gt(strlen(mvt_json_text(fact, "source")), 5, "a fact without a source");
        return mvt_json_text(fact, "text");
    }
    at = truth_at(mvt_json_text(fact, "truth"));
    const char *as = mvt_json_text(fact, "as");
    if (strcmp(as, "text") == 0) {
        cr_assert(cJSON_IsString(at) && *at->valuestring);
        return at->valuestring;
    }
    cr_assert(cJSON_IsNumber(at));
    double value = at->valuedouble - (less ? truth_at(less->valuestring)->valuedouble : 0);
    if (strcmp(as, "size") == 0)
        return mvt_format("%s", mv_size_text(bytes, (uint64_t)value));
    return mvt_format("%s%.0f", strcmp(as, "line") == 0 ? mvt_json_text(fact, "before") : "",
                      value);
}

static bool has_picture(const cJSON *answer)
{
    const cJSON *part;

    cJSON_ArrayForEach(part, get(get(answer, "result"), "content"))
        if (strcmp(mvt_json_text(part, "type"), "image") == 0)
            return strlen(mvt_json_text(part, "data")) > 1000;
    return false;
}

/* Returns all calls of all questions, as lines. */
static char *requests_of(const cJSON *questions)
{
    const cJSON *question, *call;
    char *lines = NULL;
    size_t size;
    FILE *all = open_memstream(&lines, &size);

    cJSON_ArrayForEach(question, questions)
        cJSON_ArrayForEach(call, get(question, "calls")) {
            char *arguments = cJSON_PrintUnformatted(call->child);
            fputs(mvt_mcp_call(call->child->string, arguments), all);
            cJSON_free(arguments);
        }
    fclose(all);
    mvt_at_end(free, lines);
    return lines;
}

LongTest(mcp_questions, each_question_is_answered_by_the_tools_alone)
{
    const cJSON *question, *call, *fact;
    char *lines;

    const cJSON *questions =
        get(mvt_json_of(mvt_text(MV_SOURCE_DIR "/tests/mcp/questions.json")), "questions");
    cr_assert_geq(cJSON_GetArraySize(questions), 20);
    lines = mvt_mcp_play(requests_of(questions));
    cJSON_ArrayForEach(question, questions) {
        const char *asked = mvt_json_text(question, "question");
        char *all = NULL;
        bool is_error, shows = false;
        size_t size;
        FILE *answers = open_memstream(&all, &size);
        cJSON_ArrayForEach(call, get(question, "calls")) {
            const cJSON *answer = mvt_mcp_next(&lines);
            fputs(mvt_mcp_text(answer, &is_error), answers);
            cr_expect_not(is_error, "%s", asked);
            shows |= has_picture(answer);
        }
        fclose(answers);
        mvt_at_end(free, all);
        cr_expect_leq(size, 30000, "%s: %zu bytes", asked, size);
        cr_expect_geq(cJSON_GetArraySize(get(question, "facts")), 1);
        cJSON_ArrayForEach(fact, get(question, "facts")) {
            if (get(fact, "picture")) {
                cr_expect(shows, "%s: no picture", asked);
                continue;
            }
            const char *expected = fact_text(fact);
            cr_expect_not_null(strstr(all, expected), "%s: '%s' is not in:\n%s", asked, expected,
                               all);
        }
    }
    cr_expect_null(mvt_mcp_next(&lines));
}
