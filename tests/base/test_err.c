#include "base/err.h"

#include <criterion/criterion.h>
#include <string.h>

Test(err, failure_is_one_return_statement)
{
    mv_err err = {0};

    cr_assert_eq(mv_fail(&err, MV_RANGE, 812, "event %u: kind %u", 3u, 9u), MV_RANGE);
    cr_assert_eq(err.code, MV_RANGE);
    cr_assert_eq(err.offset, 812);
    cr_assert_str_eq(err.detail, "event 3: kind 9");
}

Test(err, names_and_sentences_come_from_one_list)
{
    cr_assert_str_eq(mv_code_name(MV_TRUNCATED), "TRUNCATED");
    cr_assert_str_eq(mv_code_text(MV_TRUNCATED), "input ends inside a record");
    for (int code = 0; code < MV_ERR_COUNT; code++) {
        cr_assert_gt(strlen(mv_code_name((mv_code)code)), 1);
        cr_assert_gt(strlen(mv_code_text((mv_code)code)), 1);
    }
    cr_assert_str_eq(mv_code_name(MV_ERR_COUNT), "?");
    cr_assert_str_eq(mv_code_text(MV_ERR_COUNT), "unknown error");
}

Test(err, detail_is_cut_to_fit)
{
    char text[1000];
    mv_err err = {0};

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    mv_fail(&err, MV_IO, MV_NO_OFFSET, "%s", text);
    cr_assert_eq(strlen(err.detail), sizeof err.detail - 1);
}

Test(err, detail_that_quotes_the_input_cannot_steer_a_terminal)
{
    mv_err err = {0};

    mv_fail(&err, MV_TYPE, 0, "key '%s'", "\033[2J\r\n\x7f");
    cr_assert_str_eq(err.detail, "key '?[2J?"
                                 "?"
                                 "?'");
}

Test(err, a_long_path_keeps_both_ends)
{
    char text[MV_ERR_PATH], path[200] = "runs/";
    size_t length = strlen(path);

    cr_expect_str_eq(mv_err_path("runs/a.bin", text), "runs/a.bin");
    for (int i = 0; i < 60; i++, length += 2)
        memcpy(path + length, "\xc3\xa9", 2);
    memcpy(path + length, "/out.bin", 9);
    mv_err_path(path, text);
    cr_expect_lt(strlen(text), sizeof text);
    cr_expect_eq(strncmp(text, "runs/\xc3\xa9", 7), 0, "%s", text);
    cr_expect_not_null(strstr(text, "\xc3\xa9...\xc3\xa9"), "%s", text);
    cr_expect_str_eq(text + strlen(text) - 10, "\xc3\xa9/out.bin");
}

Test(err, text_names_the_kind_unless_the_detail_is_a_sentence)
{
    char text[MV_ERR_TEXT];
    mv_err err = {0};

    mv_fail(&err, MV_CORRUPT, 7, "event %u", 812u);
    cr_assert_str_eq(mv_err_text(&err, text), "structure is damaged: event 812");
    mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    cr_assert_str_eq(mv_err_text(&err, text), mv_code_text(MV_NOMEM));
    mv_fail(&err, MV_IO, MV_NO_OFFSET, "No such file or directory");
    cr_assert_str_eq(mv_err_text(&err, text), "No such file or directory");
    mv_fail(&err, MV_ABSENT, MV_NO_OFFSET, "no device %u", 3u);
    cr_assert_str_eq(mv_err_text(&err, text), "no device 3");
}
