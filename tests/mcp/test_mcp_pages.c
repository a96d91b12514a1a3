/* The documentation for agents must be true: the session in docs/mcp.md (MV_BLESS=1 writes its
 * answers), and the commands in SKILL.md. */
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_calls.h"
#include "tests/mcp/fixture_mcp.h"

#define PAGE MV_SOURCE_DIR "/docs/mcp.md"

/* The page before and after the session, and the session's request and answer lines. */
static void write_page(const char *page, const char *session, const char *end, const char *out)
{
    FILE *file = fopen(PAGE, "wb");

    cr_assert_not_null(file);
    fprintf(file, "%.*s", (int)(session - page), page);
    for (const char *at = session; at < end; at = strchr(at, '\n') + 1) {
        int length = (int)strcspn(at, "\n") + 1;
        if (*at == '>')
            fprintf(file, "%.*s", length, at);
        if (*at == '<') {
            length = (int)strcspn(out, "\n") + 1;
            fprintf(file, "< %.*s", length, out);
            out += length;
        }
    }
    fprintf(file, "%s", end);
    fclose(file);
}

Test(mcp_pages, the_session_equals_the_answers_of_the_server)
{
    const char *page = mvt_text(PAGE), *session = strstr(page, "```\n> "), *end;
    char *asked, *answered;
    size_t asked_size, answered_size;
    FILE *in = open_memstream(&asked, &asked_size);
    FILE *out = open_memstream(&answered, &answered_size);

    cr_assert_not_null(session);
    session += strlen("```\n");
    end = strstr(session, "```");
    for (const char *at = session; at < end; at = strchr(at, '\n') + 1) {
        cr_assert(*at == '>' || *at == '<');
        fprintf(*at == '>' ? in : out, "%.*s", (int)strcspn(at, "\n") - 1, at + 2);
    }
    fclose(in);
    fclose(out);
    mvt_at_end(free, asked);
    mvt_at_end(free, answered);
    mvt_run r = mvt_sh("cd %s && $MEMVIZ mcp <%s", MV_SOURCE_DIR,
                       mvt_temp_file((mv_span){(const uint8_t *)asked, asked_size}));
    if (getenv("MV_BLESS"))
        write_page(page, session, end, r.out);
    else
        cr_expect_str_eq(r.out, answered);
}

static const char *capture_file(void)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 5 * MIB, .function = "grow");
    mvt_sample(c, .used = 500 * MIB, .process = 400 * MIB);
    return mvt_temp_file(mvt_snapshot_of(mvt_memory(), mvt_calls_done(c)));
}

/* Commands are in `...`, or on separate lines. Recording commands and commands about a running
 * program (PID) are tested elsewhere. */
LongTest(mcp_pages, every_command_of_the_skill_runs)
{
    const char *page = mvt_text(MV_SOURCE_DIR "/SKILL.md"), *capture = capture_file();
    uint32_t count = 0, lines = 0;

    cr_expect_eq(strncmp(page, "---\nname: memviz\ndescription: ", 30), 0);
    for (const char *at = page; (at = strchr(at, '\n')); at++)
        lines++;
    cr_expect_leq(lines, 150);
    for (const char *at = page; (at = strstr(at, "memviz ")); at++) {
        bool is_code = at[-1] == '`', is_line = strncmp(at - 5, "\n    ", 5) == 0;
        int length = (int)strcspn(at, is_code ? "`" : "\n");
        if ((!is_code && !is_line) || memmem(at, (size_t)length, "COMMAND", 7) ||
            memmem(at, (size_t)length, "PID", 3) || strncmp(at, "memviz run", 10) == 0 ||
            strncmp(at, "memviz attach", 13) == 0 || strncmp(at, "memviz dry-run", 14) == 0 ||
            strncmp(at, "memviz mcp", 10) == 0 || strncmp(at, "memviz diff`", 12) == 0)
            continue;
        /* Runs one of the page's commands in the folder that contains the page's files. */
        bool gates = memmem(at, (size_t)length, "--fail-on", 9) != NULL;
        mvt_run r =
            mvt_sh("cp $SNAPS/leak_in_training.pickle train.pickle; cp $SNAPS/oom.pickle .; "
                   "cp $SNAPS/no_leak_warmup.pickle before.pickle; "
                   "cp train.pickle after.pickle; cp before.pickle rank0.pickle; "
                   "cp train.pickle rank1.pickle; cp %s run.bin; "
                   "cp " MV_TESTDATA "/errors/example.log error.log; "
                   "gunzip -c " MV_TESTDATA "/tools/pair.pickle.gz >step.pickle; "
                   "cp " MV_TESTDATA "/tools/pair.json.gz trace.json.gz; "
                   "mkdir -p runs/7; cp before.pickle runs/7/rank0.pickle; "
                   "for n in 4 8; do cp " MV_TESTDATA "/fit/gpt_$n.pickle.zst b$n.pickle; done; "
                   "memviz() { $MEMVIZ \"$@\"; }; %.*s",
                   capture, length, at);
        cr_expect_eq(r.status, 0, "%.*s: %d %s", length, at, r.status, r.err);
        cr_expect(r.out_length > 20 || strstr(r.out, ".png") || gates, "%.*s says nothing", length,
                  at);
        cr_expect_str_empty(r.err, "%.*s: %s", length, at, r.err);
        count++;
    }
    cr_expect_geq(count, 20);
}
