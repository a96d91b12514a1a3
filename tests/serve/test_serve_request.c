/* Request parsing: which requests get an answer, which file the answer is about, and which bytes it
 * has. */
#include "cli/serve/request.h"
#include "tests/fixture/fixture_test.h"

#define TOKEN "00112233445566778899aabbccddeeff"

static mv_serve_query ask(const char *method, const char *path, const char *host)
{
    mv_serve_request request = {.method = method, .path = path, .host = host};

    return mv_serve_request_read(&request, TOKEN);
}

Test(serve_request, paths_have_their_queries)
{
    static const struct {
        const char *path;
        mv_serve_what what;
    } all[] = {
        {"/" TOKEN "/", MV_ASK_PAGE},
        {"/" TOKEN, MV_ASK_FOLDER},
        {"/" TOKEN "/files", MV_ASK_LIST},
        {"/" TOKEN "/files/0/0", MV_ASK_SNAPSHOT},
        {"/" TOKEN "/originals/17/ffffffffffffffff", MV_ASK_ORIGINAL},
    };
    mv_serve_query got;

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        got = ask("GET", all[i].path, "127.0.0.1:80");
        cr_expect_eq(got.status, 200, "%s", all[i].path);
        cr_expect_eq(got.what, all[i].what, "%s", all[i].path);
        cr_expect_eq(ask("HEAD", all[i].path, "127.0.0.1:80").status, 200);
        cr_expect_eq(ask("POST", all[i].path, "127.0.0.1:80").status, 405);
        cr_expect_eq(ask("get", all[i].path, "127.0.0.1:80").status, 405);
    }
    cr_expect_eq(got.file, 17);
    cr_expect_eq(got.version, UINT64_MAX);
}

Test(serve_request, requests_without_the_token_get_nothing)
{
    static const char *const paths[] = {
        "",
        "/",
        "//",
        "*",
        "/files",
        "/00112233445566778899aabbccddeefe/",
        "/10112233445566778899aabbccddeeff/",
        "/00112233445566778899aabbccddeef",
        "/00112233445566778899aabbccddeef/",
        "/00112233445566778899AABBCCDDEEFF/",
        "/%300112233445566778899aabbccddeeff/",
        "//" TOKEN "/",
        "http://127.0.0.1/" TOKEN "/",
    };

    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++) {
        cr_expect_eq(ask("GET", paths[i], "localhost").status, 404, "%s", paths[i]);
        cr_expect_eq(ask("POST", paths[i], "localhost").status, 404, "%s", paths[i]);
    }
}

Test(serve_request, paths_have_one_form)
{
    static const char *const rests[] = {"x",
                                        "//",
                                        "/files/",
                                        "/files/1",
                                        "/files/1/",
                                        "/files/01/2",
                                        "/files/1/02",
                                        "/files/1/2/",
                                        "/files/1/2.pickle",
                                        "/files/-1/2",
                                        "/files/+1/2",
                                        "/files/ 1/2",
                                        "/files/4294967296/2",
                                        "/files/1/10000000000000000",
                                        "/files/1/A",
                                        "/files/../../etc/passwd",
                                        "/../etc/passwd",
                                        "/originals",
                                        "/originals/%2e%2e/1",
                                        "/originals/1//1",
                                        "/index.html"};

    for (unsigned i = 0; i < sizeof rests / sizeof *rests; i++) {
        const char *path = mvt_format("/" TOKEN "%s", rests[i]);
        cr_expect_eq(ask("GET", path, "localhost").status, 404, "%s", path);
    }
}

Test(serve_request, another_host_name_for_this_machine_is_refused)
{
    static const char *const good[] = {"127.0.0.1", "127.0.0.1:8080",  "localhost:1",
                                       "LocalHost", "localhost:65535", "[::1]:80"};
    static const char *const bad[] = {"",
                                      "evil.example",
                                      "evil.example:80",
                                      "127.0.0.1.evil.example",
                                      "localhost.evil.example:80",
                                      "127.0.0.1:80.evil.example",
                                      "127.0.0.1:80@evil.example",
                                      "127.0.0.1:123456",
                                      "127.0.0.2",
                                      "0.0.0.0",
                                      "[::1",
                                      " localhost"};

    for (unsigned i = 0; i < sizeof good / sizeof *good; i++)
        cr_expect_eq(ask("GET", "/" TOKEN "/", good[i]).status, 200, "%s", good[i]);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(ask("GET", "/" TOKEN "/", bad[i]).status, 404, "%s", bad[i]);
    cr_expect_eq(ask("GET", "/" TOKEN "/", NULL).status, 404);
}

Test(serve_request, a_page_of_another_site_gets_nothing)
{
    static const struct {
        const char *origin;
        unsigned status;
    } all[] = {
        {NULL, 200},
        {"http://127.0.0.1:8100", 200},
        {"http://localhost", 200},
        {"http://[::1]:8100", 200},
        {"", 404},
        {"null", 404},
        {"127.0.0.1", 404},
        {"http://evil.example", 404},
        {"http://localhost.evil.example:80", 404},
        {"https://localhost", 404},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mv_serve_request request = {
            .method = "GET", .path = "/" TOKEN "/", .host = "localhost", .origin = all[i].origin};
        cr_expect_eq(mv_serve_request_read(&request, TOKEN).status, all[i].status, "%s",
                     all[i].origin ? all[i].origin : "none");
    }
}

Test(serve_request, ranges_are_parsed)
{
    static const struct {
        const char *header;
        mv_byte_range range;
    } all[] = {
        {NULL, {200, 0, 100}},
        {"bytes=0-", {206, 0, 100}},
        {"bytes=0-0", {206, 0, 1}},
        {"bytes=10-19", {206, 10, 10}},
        {"bytes=99-", {206, 99, 1}},
        {"bytes=90-1000", {206, 90, 10}},
        {"bytes=007-008", {206, 7, 2}},
        {"bytes=0-18446744073709551615", {206, 0, 100}},
        {"bytes=-1", {206, 99, 1}},
        {"bytes=-100", {206, 0, 100}},
        {"bytes=-1000", {206, 0, 100}},
        {"bytes=100-", {416, 0, 0}},
        {"bytes=1000-2000", {416, 0, 0}},
        {"bytes=-0", {416, 0, 0}},
        /* An invalid range is ignored. */
        {"bytes=18446744073709551616-", {200, 0, 100}},
        {"bytes=5-4", {200, 0, 100}},
        {"bytes=", {200, 0, 100}},
        {"bytes=-", {200, 0, 100}},
        {"bytes=a-b", {200, 0, 100}},
        {"bytes=1-2x", {200, 0, 100}},
        {"bytes=1", {200, 0, 100}},
        {"bytes=--1", {200, 0, 100}},
        {"lines=1-2", {200, 0, 100}},
        {"bytes=0-1,5-6", {200, 0, 100}},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mv_byte_range got = mv_byte_range_read(all[i].header, 100);
        cr_expect_eq(got.status, all[i].range.status, "%s: %u", all[i].header, got.status);
        cr_expect_eq(got.first, all[i].range.first, "%s", all[i].header);
        cr_expect_eq(got.count, all[i].range.count, "%s", all[i].header);
    }
    cr_expect_eq(mv_byte_range_read("bytes=0-", 0).status, 416);
    cr_expect_eq(mv_byte_range_read("bytes=-5", 0).status, 416);
    cr_expect_eq(mv_byte_range_read(NULL, 0).status, 200);
}
