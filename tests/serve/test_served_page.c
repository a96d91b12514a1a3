/* The page's policy as it is sent: the page may connect to its own origin, and nothing
 * else changes. */
#include "cli/serve/served_page.h"
#include "tests/fixture/fixture_test.h"

#define HEAD   "<head>"
#define POLICY "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; a 'b'\">"
#define BODY   "<script>1</script><!--snapshot--><script>2</script>"

static mv_code make(const char *page, mv_span *out)
{
    mv_span span = {(const uint8_t *)page, strlen(page)};

    *mvt_err() = (mv_err){0};
    return mv_served_page_make(mvt_memory(), span, out, mvt_err());
}

Test(served_page, one_policy_and_one_place_are_replaced)
{
    static const char expected[] =
        HEAD "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
             "connect-src 'self'; a 'b'\"><script>1</script><script type=\"text/plain\" "
             "id=\"served\"></script><script>2</script>";
    mv_span out;

    mvt_ok(make(HEAD POLICY BODY, &out));
    cr_assert_eq(out.length, sizeof expected - 1, "%.*s", (int)out.length, (const char *)out.data);
    cr_expect_eq(memcmp(out.data, expected, out.length), 0, "%.*s", (int)out.length,
                 (const char *)out.data);
}

Test(served_page, other_files_than_the_page_are_not_sent)
{
    static const char *const pages[] = {
        "",
        HEAD BODY,
        HEAD POLICY,
        HEAD POLICY POLICY BODY,
        HEAD POLICY BODY "<!--snapshot-->",
        HEAD "<script>0</script>" POLICY BODY,
        HEAD "<!--snapshot-->" POLICY "<script></script>",
        HEAD "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
             "connect-src *\">" BODY,
        HEAD "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src *; \">" BODY,
        HEAD "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ",
        HEAD POLICY "<!--snapshot-->",
    };
    mv_span out;

    for (unsigned i = 0; i < sizeof pages / sizeof *pages; i++)
        cr_expect_eq(make(pages[i], &out), MV_FORMAT, "%s", pages[i]);
}

Test(served_page, without_memory_it_fails_with_a_message)
{
    mv_span out, page = {(const uint8_t *)HEAD POLICY BODY, strlen(HEAD POLICY BODY)};

    for (mvt_limit l = {.step = 4096}; mvt_more_memory(&l);)
        l.code = mv_served_page_make(&l.arena, page, &out, mvt_err());
}
