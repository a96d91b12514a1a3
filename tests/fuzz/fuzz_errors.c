/* libFuzzer target: any bytes as a text that contains memory errors.
 *
 * Checked: sizes lie within their bounds, sums equal their parts, each error is explained, and the
 * text repeated in a log gives the same errors twice. */
#include "analyze/oom_text/oom_text.h"
#include "tests/fixture/in_process.h"
#include "tests/fuzz/target.h"

enum { MOST_INPUT = 64 << 10 };

static void check_size(mv_printed_size size, const char *what)
{
    if (mv_size_is_printed(size) && (size.least > size.bytes || size.bytes > size.most))
        mvt_stop("%s: %llu is not within %llu to %llu", what, (unsigned long long)size.bytes,
                 (unsigned long long)size.least, (unsigned long long)size.most);
}

static mv_error_texts find(mv_arena *arena, mv_span text)
{
    mv_error_texts found;
    mv_err err;

    if (mv_error_texts_in(arena, text, &found, &err) != MV_OK)
        mvt_stop("a text is not read");
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mv_budget budget = {.limit = 1u << 30};
    mv_arena arena;

    if (size > MOST_INPUT)
        return 0;
    mv_arena_init(&arena, &budget);
    mv_error_texts once = find(&arena, (mv_span){data, size});
    for (uint32_t i = 0; i < once.count; i++) {
        const mv_error_text *error = &once.rows[i];
        mv_oom_text t;
        mv_err err;
        for (uint32_t j = 0; j < MV_ERROR_SIZE_COUNT; j++)
            check_size(error->size[j], "a size");
        if (mv_oom_text_find(&arena, error, &t, &err) != MV_OK)
            mvt_stop("not explained");
        check_size(t.not_pytorch, "not_pytorch");
        check_size(t.others, "others");
        check_size(t.outside, "outside");
        if (!*t.why || !*t.advice || error->line == 0 || error->times == 0)
            mvt_stop("an error without a line or a reason");
        for (uint32_t j = 0; j < t.excluded_count; j++)
            if (strcmp(t.excluded[j], mv_text_verdict_name(t.verdict)) == 0)
                mvt_stop("%s is the verdict, and excluded", t.excluded[j]);
    }
    /* 200 KB of other text separate the two copies, without any line similar to the first text's
     * lines. */
    uint8_t *text = mv_push_array(&arena, uint8_t, 2 * size + (200 << 10));
    memset(text + size, '\n', 200 << 10);
    memcpy(text, data, size);
    memcpy(text + size + (200 << 10), data, size);
    mv_error_texts twice = find(&arena, (mv_span){text, 2 * size + (200 << 10)});
    if (twice.count < once.count || (once.more == 0 && twice.count > 2 * once.count + 1))
        mvt_stop("%u errors, and %u in the text twice", once.count, twice.count);
    mv_arena_release(&arena);
    return 0;
}
