/* The sessions of the README are what the program prints. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/fixture.h"
#include "tests/fixture_program.h"

#define FENCE "```\n"
#define SHELL "$ memviz "

/* Runs "$ memviz ARGUMENTS" of a session, whose text goes on to the closing fence. */
static void check_session(const char *text, const char *end)
{
    const char *arguments = text + strlen(SHELL), *output = strchr(arguments, '\n') + 1;
    mvt_run r =
        mvt_sh("cd %s && $MEMVIZ %.*s", MV_SOURCE_DIR, (int)(output - 1 - arguments), arguments);

    cr_expect_eq(r.out_length, (size_t)(end - output), "%.*s", (int)(output - text), text);
    cr_expect(strncmp(r.out, output, (size_t)(end - output)) == 0, "%.*s prints:\n%s%s\nnot:\n%.*s",
              (int)(output - 1 - text), text, r.out, r.err, (int)(end - output), output);
    mvt_run_drop(&r);
}

Test(readme, sessions_are_real)
{
    mv_budget budget = {.limit = 1u << 24};
    unsigned sessions = 0;
    mv_arena arena;
    mv_span file;
    const char *text;

    mv_arena_init(&arena, &budget);
    file = mvt_file(&arena, MV_SOURCE_DIR "/README.md");
    text = mv_arena_text(&arena, (const char *)file.data, file.length);
    cr_assert(text != NULL);
    while ((text = strstr(text, FENCE SHELL))) {
        const char *end = strstr(text + strlen(FENCE), FENCE);
        cr_assert(end != NULL, "a session has no end");
        check_session(text + strlen(FENCE), end);
        sessions++;
        text = end + strlen(FENCE);
    }
    cr_expect_geq(sessions, 6);
    mv_arena_release(&arena);
}
