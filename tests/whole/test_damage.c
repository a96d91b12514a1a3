/* Files with every byte changed, and files cut at every byte unless the reader's own tests do that
 * (pickle, msgpack, container). A cut file must never be accepted, and a changed file must never
 * give an unsound trace. */
#include "tests/fixture/fixture.h"

enum { BUDGET = 64 << 20 };

/* The outcome for damaged bytes. */
typedef enum {
    REFUSED,
    SAME,  /* read, as the same trace as the whole bytes */
    NOTED, /* read, and the notes report missing data */
    OTHER  /* read without a note, but as another trace */
} outcome;

static mv_span pickled(mv_arena *arena, const mv_trace *trace)
{
    return mvt_pickle_of(arena, trace, false);
}

static outcome outcome_of(mv_arena *arena, const mv_trace *trace, mv_span whole)
{
    const char *unsound = mvt_unsound(trace);

    cr_assert_null(unsound, "%s", unsound);
    mv_span is = pickled(arena, trace);
    if (is.length == whole.length && memcmp(is.data, whole.data, is.length) == 0)
        return SAME;
    return trace->notes[MV_NOTE_DAMAGED].count > 0 ? NOTED : OTHER;
}

/* Reads a copy of exactly its size, so that a sanitizer notices reads past the end. `whole` is the
 * undamaged trace as a pickle. */
static outcome read_copy(mv_span bytes, mv_span whole)
{
    uint8_t *copy = malloc(bytes.length + (bytes.length == 0));
    outcome result = REFUSED;
    mv_arena *arena = mvt_arena_of(BUDGET);
    mv_trace trace;
    mv_err err;

    cr_assert_not_null(copy);
    memcpy(copy, bytes.data, bytes.length);
    mv_code code = mv_trace_read_bytes(arena, (mv_span){copy, bytes.length}, &trace, &err);
    if (code == MV_OK)
        result = outcome_of(arena, &trace, whole);
    else
        cr_assert(err.code == code && (err.offset == MV_NO_OFFSET || err.offset <= bytes.length),
                  "%s at offset %llu of %llu: %s", mv_code_name(code),
                  (unsigned long long)err.offset, (unsigned long long)bytes.length, err.detail);
    mv_arena_release(arena);
    free(copy);
    cr_assert_eq(arena->budget->used, 0);
    return result;
}

static bool is_among(outcome is, const outcome *allowed)
{
    for (int i = 0; i < 3; i++)
        if (allowed[i] == is)
            return true;
    return false;
}

static void cut_everywhere(mvt_trace *t, mv_span bytes, const outcome allowed[3])
{
    mv_span whole = pickled(mvt_arena(t), mvt_done(t));

    for (uint64_t length = 0; length < bytes.length; length++) {
        outcome is = read_copy((mv_span){bytes.data, length}, whole);
        cr_assert(is_among(is, allowed), "outcome %d when cut to %llu of %llu bytes", is,
                  (unsigned long long)length, (unsigned long long)bytes.length);
    }
}

static const mv_span nothing = {(const uint8_t *)"", 0};

/* Each byte with its lowest and with its highest bit inverted. Formats without checksums can become
 * another sound trace. */
static void change_everywhere(mv_span bytes)
{
    uint8_t *copy = memcpy(mv_arena_push(mvt_memory(), bytes.length, 1), bytes.data, bytes.length);

    for (uint64_t i = 0; i < 2 * bytes.length; i++) {
        const uint8_t flip = i % 2 ? 0x80 : 1;
        copy[i / 2] ^= flip;
        read_copy((mv_span){copy, bytes.length}, nothing);
        copy[i / 2] ^= flip;
    }
}

static const outcome refused[3] = {REFUSED, REFUSED, REFUSED};

LongTest(damage, changed_pickles_are_refused_or_sound)
{
    change_everywhere(mvt_pickle_bytes(mvt_small(), false));
    change_everywhere(mvt_pickle_bytes(mvt_small(), true));
}

LongTest(damage, changed_msgpack_is_refused_or_sound)
{
    change_everywhere(mvt_plain_bytes(mvt_small()));
    change_everywhere(mvt_file(mvt_memory(), MV_TESTDATA "/corpus/msgpack/small_compact"));
}

/* Bytes after the closing quote are not needed. */
Test(damage, cut_pages_are_refused_or_whole)
{
    mvt_trace *t = mvt_small();
    mv_span page = mvt_page_bytes(t);
    const uint8_t *quote = memrchr(page.data, '}', page.length);

    while (*quote != '"')
        quote--;
    cut_everywhere(t, (mv_span){page.data, (uint64_t)(quote - page.data)}, refused);
    cut_everywhere(t, page, (const outcome[3]){REFUSED, SAME, SAME});
}

LongTest(damage, changed_pages_stay_sound)
{
    change_everywhere(mvt_page_bytes(mvt_small()));
}

/* Each file, cut at every byte and with every byte changed, must be sound or refused. Returns the
 * number of cut files that were read without a note. */
static uint32_t break_everywhere(const char *name)
{
    mv_span file = mvt_file(mvt_memory(), mvt_format(MV_TESTDATA "/corpus/%s", name));
    uint32_t silent = 0;

    for (uint64_t length = 0; length < file.length; length++)
        silent += read_copy((mv_span){file.data, length}, nothing) == OTHER;
    change_everywhere(file);
    return silent;
}

/* Lines have no checksum, so a cut line is noticed, but missing lines are not. */
LongTest(damage, logs_of_rmm_are_refused_or_noted)
{
    cr_assert_eq(break_everywhere("rmm/steps"), 11);
    cr_assert_eq(break_everywhere("rmm/colons"), 5);
}

/* Messages have no checksum either, so a profile that is cut between two messages is a different
 * profile. In XLA's file, nothing after the host's plane matters. */
LongTest(damage, profiles_are_refused_or_sound)
{
    cr_assert_leq(break_everywhere("xplane/small"), 2);
    cr_assert_eq(break_everywhere("pprof/tpu"), 0);
    cr_assert_eq(break_everywhere("kineto/small"), 0);
}
