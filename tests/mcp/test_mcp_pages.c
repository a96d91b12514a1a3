/* What is written for agents is true: the session of docs/mcp.md. MV_BLESS=1 writes its answers. */
#include "tests/fixture/fixture.h"
#include "tests/mcp/fixture_mcp.h"

static const char *text_of(const char *path)
{
    mv_span file = mvt_file(mvt_memory(), path);

    return mv_arena_text(mvt_memory(), (const char *)file.data, file.length);
}

#define PAGE MV_SOURCE_DIR "/docs/mcp.md"

/* The page up to the session, and from its end on, with the lines that are asked and answered. */
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

Test(mcp_pages, the_session_is_what_the_server_answers)
{
    const char *page = text_of(PAGE), *session = strstr(page, "```\n> "), *end;
    char *asked, *answered;
    size_t asked_size, answered_size;
    FILE *in = open_memstream(&asked, &asked_size);
    FILE *out = open_memstream(&answered, &answered_size);
    mvt_run r;

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
    r = mvt_sh("cd %s && $MEMVIZ mcp <%s", MV_SOURCE_DIR,
               mvt_temp_file((mv_span){(const uint8_t *)asked, asked_size}));
    if (getenv("MV_BLESS"))
        write_page(page, session, end, r.out);
    else
        cr_expect_str_eq(r.out, answered);
}
