#include "tests/cli/fixture_runs.h"

static void expect_text(const char *words, const char *name, const char *text, const char *part)
{
    if (!part)
        cr_expect(*text == 0, "%s: %s should be empty: %s", words, name, text);
    else
        cr_expect(strstr(text, part), "%s: '%s' is not in %s: %s", words, part, name, text);
}

void mvt_expect_runs(const char *command, const mvt_expected_run *all, size_t count)
{
    const char *at = strstr(command, "%s");

    cr_assert_not_null(at);
    for (const mvt_expected_run *e = all; e < all + count; e++) {
        mvt_run r = mvt_here_or_sh("%.*s%s%s", (int)(at - command), command, e->words, at + 2);
        cr_expect_eq(r.status, e->status, "%s: status %d, not %d: %s", e->words, r.status,
                     e->status, r.err);
        expect_text(e->words, "standard output", r.out, e->out);
        expect_text(e->words, "standard error", r.err, e->err);
        if (e->err && (e->status == 1 || e->status == 2))
            cr_expect_eq(strcspn(r.err, "\n") + 1, r.err_length, "%s: one line: %s", e->words,
                         r.err);
    }
}
