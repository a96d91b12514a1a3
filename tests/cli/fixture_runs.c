#include "tests/cli/fixture_runs.h"

#include "base/utf8.h"

static void expect_text(const char *words, const char *name, const char *text, const char *part)
{
    if (!part)
        cr_expect(*text == 0, "%s: %s should be empty: %s", words, name, text);
    else if (*part == '!')
        cr_expect_null(strstr(text, part + 1), "%s: '%s' is in %s: %s", words, part + 1, name,
                       text);
    else
        cr_expect(strstr(text, part), "%s: '%s' is not in %s: %s", words, part, name, text);
}

void mvt_expect_runs(const char *command, const mvt_expected_run *all, size_t count)
{
    const char *at = strstr(command, "%s"), *words = "";
    mvt_run r = {0};

    cr_assert_not_null(at);
    for (const mvt_expected_run *e = all; e < all + count; e++) {
        if (!e->words) {
            expect_text(words, "standard output", r.out, e->out ? e->out : "");
            expect_text(words, "standard error", r.err, e->err ? e->err : "");
            continue;
        }
        words = e->words;
        r = mvt_here_or_sh("%.*s%s%s", (int)(at - command), command, words, at + 2);
        cr_expect_eq(r.status, e->status, "%s: status %d, not %d: %s", words, r.status, e->status,
                     r.err);
        expect_text(words, "standard output", r.out, e->out);
        expect_text(words, "standard error", r.err, e->err);
        if (e->err && (e->status == 1 || e->status == 2))
            cr_expect_eq(strcspn(r.err, "\n") + 1, r.err_length, "%s: one line: %s", words, r.err);
    }
}

void mvt_expect_narrow(const char *text, uint32_t columns, const char *what)
{
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        bool has_command = strstr(line, "memviz ") && strstr(line, "memviz ") < line + length;
        cr_expect(has_command || mv_utf8_count(line, length) <= columns, "%s at %u: %.*s", what,
                  columns, (int)length, line);
        line += length + (line[length] == '\n');
    }
}
