/* Files of every format, cut at every byte and with every byte changed: never accepted when cut,
 * never unsound. */
#include "tests/fixture.h"
#include "tests/soundness.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { BUDGET = 64 << 20 };

/* Reads a copy of its own size, so that a sanitizer sees reads behind the end. */
static mv_code read_copy(mv_span bytes, mv_err *err)
{
    mv_budget budget = {.limit = BUDGET};
    uint8_t *copy = malloc(bytes.length + (bytes.length == 0));
    mv_arena arena;
    mv_trace trace;
    mv_code code;

    cr_assert_not_null(copy);
    memcpy(copy, bytes.data, bytes.length);
    mv_arena_init(&arena, &budget);
    code = mv_trace_read_bytes(&arena, (mv_span){copy, bytes.length}, &trace, err);
    if (code == MV_OK)
        cr_assert_null(mvt_unsound(&trace), "%s", mvt_unsound(&trace));
    mv_arena_release(&arena);
    free(copy);
    cr_assert_eq(budget.used, 0);
    return code;
}

static void cut_everywhere(mv_span bytes)
{
    mv_err err;

    cr_assert_eq(read_copy(bytes, &err), MV_OK, "%s", err.detail);
    for (uint64_t length = 0; length < bytes.length; length++) {
        mv_code code = read_copy((mv_span){bytes.data, length}, &err);
        cr_assert_neq(code, MV_OK, "cut to %llu of %llu bytes", (unsigned long long)length,
                      (unsigned long long)bytes.length);
        cr_assert_eq(err.code, code);
        cr_assert(err.offset == MV_NO_OFFSET || err.offset <= length,
                  "offset %llu in %llu bytes: %s", (unsigned long long)err.offset,
                  (unsigned long long)length, err.detail);
    }
}

/* Each byte with its lowest and with its highest bit flipped. Returns how many of the changed
 * files were read. */
static unsigned change_everywhere(mv_span bytes)
{
    uint8_t *copy = malloc(bytes.length);
    unsigned read = 0;
    mv_err err;

    cr_assert_not_null(copy);
    memcpy(copy, bytes.data, bytes.length);
    for (uint64_t i = 0; i < bytes.length; i++) {
        const uint8_t was = copy[i], becomes[] = {was ^ 1, was ^ 0x80};
        for (int k = 0; k < 2; k++) {
            copy[i] = becomes[k];
            read += read_copy((mv_span){copy, bytes.length}, &err) == MV_OK;
        }
        copy[i] = was;
    }
    free(copy);
    return read;
}

Test(damage, cut_pickles_are_refused)
{
    mvt_trace *t = mvt_small();

    cut_everywhere(mvt_pickle_bytes(t, false));
    cut_everywhere(mvt_pickle_bytes(t, true));
    mvt_drop(t);
}

Test(damage, changed_pickles_are_refused_or_sound)
{
    mvt_trace *t = mvt_small();

    change_everywhere(mvt_pickle_bytes(t, false));
    change_everywhere(mvt_pickle_bytes(t, true));
    mvt_drop(t);
}
