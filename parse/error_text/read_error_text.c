#include "parse/error_text/error_window.h"

#include "base/grow.h"
#include "base/sort.h"

enum {
    LEAST_WINDOW = 192 << 10, /* number of bytes read at a time, which is less than
                               * MV_SOURCE_WINDOW */
    KEPT = MV_ERROR_BYTES + MV_ERROR_BACK
};

typedef struct {
    mv_arena *arena;
    mv_error_texts *out;
    char *squeezed; /* [MV_SOURCE_WINDOW] */
    uint32_t *from; /* [MV_SOURCE_WINDOW] */
    mv_error_window *window;
    uint64_t done;  /* offset in the text up to which errors have been found */
    uint64_t lines; /* number of line ends before `counted` */
    uint64_t counted;
} finder;

/* ---- finding errors ----------------------------------------------------------------------- */

enum { MARKS = 4 };

/* Squeezed words that indicate an error: in sentences and tables, and in errors without sizes. */
static const char *const of_sizes[MARKS] = {"utofmemory.Tried", "memorysummary,deviceID",
                                            "exceedallowedmemory", "youtriedtoallocate"};
static const char *const of_bare[MARKS] = {"utofmemory", "ALLOC_FAILED", "OUT_OF_MEMORY",
                                           "hipErrorOutOfMemory"};

static bool begins_one(const char *at, const char *const marks[MARKS])
{
    for (int i = 0; i < MARKS; i++)
        if (*at == *marks[i] && mv_error_has(at, marks[i]))
            return true;
    return false;
}

/* The first three bytes of the marks, one bit for each mark: few positions of a text have the same
 * bit in all three bytes. */
enum { SENTENCE = 1, SUMMARY = 2, ASYNC = 4, HOST = 8, FAILED = 16, OF_CUDA = 32, OF_HIP = 64 };
static const uint8_t first[256] = {['u'] = SENTENCE, ['m'] = SUMMARY, ['e'] = ASYNC, ['y'] = HOST,
                                   ['A'] = FAILED,   ['O'] = OF_CUDA, ['h'] = OF_HIP};
static const uint8_t second[256] = {['t'] = SENTENCE, ['e'] = SUMMARY, ['x'] = ASYNC, ['o'] = HOST,
                                    ['L'] = FAILED,   ['U'] = OF_CUDA, ['i'] = OF_HIP};
static const uint8_t third[256] = {['o'] = SENTENCE, ['m'] = SUMMARY, ['c'] = ASYNC, ['u'] = HOST,
                                   ['L'] = FAILED,   ['T'] = OF_CUDA, ['p'] = OF_HIP};

static bool may_begin(const char *at)
{
    const uint8_t *p = (const uint8_t *)at;

    return first[p[0]] & second[p[1]] & third[p[2]];
}

/* Returns the latest possible end of the error at squeezed byte `i`, which is the beginning of the
 * next error. Because each error ends there, no text is read twice, and the total time is
 * linear. */
static uint64_t end_of(const finder *f, mv_span text, uint32_t i, uint32_t count)
{
    for (uint32_t k = i + 1; k < count && f->from[k] - f->from[i] < MV_ERROR_BYTES; k++)
        if (may_begin(f->squeezed + k) && begins_one(f->squeezed + k, of_sizes))
            return f->from[k];
    return text.length - f->from[i] < MV_ERROR_BYTES ? text.length : f->from[i] + MV_ERROR_BYTES;
}

/* ---- rows --------------------------------------------------------------------------------- */

static bool is_same(const mv_error_text *a, const mv_error_text *b)
{
    return a->size[MV_ERROR_REQUESTED].bytes == b->size[MV_ERROR_REQUESTED].bytes &&
           a->device == b->device && a->rank == b->rank && a->process_count == b->process_count &&
           strcmp(a->phrase, b->phrase) == 0 && memcmp(a->size, b->size, sizeof a->size) == 0;
}

static bool keep(finder *f, const mv_error_text *row)
{
    mv_error_texts *out = f->out;

    for (uint32_t i = out->count; i-- > 0;)
        if (is_same(&out->rows[i], row)) {
            out->rows[i].times++;
            return true;
        }
    if (out->count == MV_MOST_ERROR_TEXTS) {
        out->more++;
        return true;
    }
    return mv_append(f->arena, out->rows, out->count, out->capacity, *row);
}

static uint64_t line_at(finder *f, mv_span text, uint64_t base, uint64_t at)
{
    const uint8_t *p = text.data + (f->counted - base), *end = text.data + at;

    if (base + at <= f->counted)
        return f->lines + 1;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
        f->lines++;
        p++;
    }
    f->counted = base + at;
    return f->lines + 1;
}

/* ---- windows ------------------------------------------------------------------------------ */

/* Returns the time of an error, which is in the same line or an earlier one. */
static int64_t time_of(const finder *f, mv_span text, uint64_t at)
{
    uint64_t back = at < MV_ERROR_BACK ? at : MV_ERROR_BACK;
    int64_t time = mv_error_time(f->window->line, f->window->line_length);

    return time != MV_NO_TIME ? time : mv_error_time((const char *)text.data + at - back, back);
}

/* Reads the error at squeezed byte `i`, if there is one. Returns the position in the text at which
 * to continue. */
static uint64_t look(finder *f, mv_span text, uint64_t base, uint32_t i, uint32_t count,
                     bool *failed)
{
    uint64_t at = f->from[i], line = at;
    mv_error_window *w = f->window;
    mv_error_text row;
    uint32_t before = f->out->count, end;

    while (line > 0 && at - line < MV_ERROR_LINE && text.data[line - 1] != '\n')
        line--;
    mv_error_window_make(text, line, at, end_of(f, text, i, count), w);
    if (!mv_error_read(w, &row, &end))
        return at + 1;
    row.line = line_at(f, text, base, at);
    *failed = !keep(f, &row);
    if (f->out->count > before)
        f->out->rows[before].time_ms = time_of(f, text, at);
    /* `end` is a position in the squeezed text; the original text is at least as long */
    return at + (end > w->begins ? end - w->begins : 1);
}

/* Finds all errors in the text, which is the last part if `is_last` is set. Returns the number of
 * bytes that need not be read again. */
static uint64_t scan(finder *f, mv_span text, uint64_t base, bool is_last, bool *failed)
{
    uint64_t until = is_last ? text.length : text.length - MV_ERROR_BYTES;
    uint32_t count = mv_error_squeeze(text, f->squeezed, f->from);

    memset(f->squeezed + count, 0, 3);
    for (uint32_t i = 0; i < count && f->from[i] < until && !*failed; i++)
        if (may_begin(f->squeezed + i) && base + f->from[i] >= f->done &&
            (begins_one(f->squeezed + i, of_sizes) ||
             (begins_one(f->squeezed + i, of_bare) && mv_error_bare(f->squeezed, i))))
            f->done = base + look(f, text, base, i, count, failed);
    if (f->done < base + until)
        f->done = base + until;
    line_at(f, text, base, is_last ? text.length : text.length - KEPT);
    return is_last ? text.length : text.length - KEPT;
}

mv_code mv_error_texts_read(mv_arena *arena, mv_source *source, mv_error_texts *out, mv_err *err)
{
    uint64_t base = mv_source_offset(source);
    mv_arena own;
    finder f = {.arena = arena, .out = out};
    bool is_last = false, failed;

    *out = (mv_error_texts){0};
    mv_arena_init(&own, arena->budget);
    f.squeezed = mv_push_array(&own, char, MV_SOURCE_WINDOW * 2 + 3);
    f.from = mv_push_array(&own, uint32_t, MV_SOURCE_WINDOW * 2);
    f.window = mv_push_struct(&own, mv_error_window);
    failed = !f.squeezed || !f.from || !f.window;
    while (!failed && !is_last) {
        mv_span text;
        uint64_t at = mv_source_offset(source) - base;
        is_last = !mv_source_need(source, LEAST_WINDOW);
        text = (mv_span){source->at, (uint64_t)(source->end - source->at)};
        if (text.length > MV_SOURCE_WINDOW * 2) {
            text.length = MV_SOURCE_WINDOW * 2;
            is_last = false;
        }
        source->at += scan(&f, text, at, is_last, &failed);
    }
    out->bytes = mv_source_offset(source) - base;
    mv_arena_release(&own);
    if (failed)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "errors in a text");
    if (mv_source_fail(source, err, "") != MV_TRUNCATED)
        return err->code;
    out->by_time = out->count > 1;
    for (uint32_t i = 0; i < out->count; i++)
        out->by_time = out->by_time && out->rows[i].time_ms != MV_NO_TIME;
    if (out->by_time)
        mv_sort_rows(NULL, out->rows, out->count, MV_RISING(mv_error_text, time_ms));
    *err = (mv_err){.offset = MV_NO_OFFSET};
    return MV_OK;
}

mv_code mv_error_texts_in(mv_arena *arena, mv_span text, mv_error_texts *out, mv_err *err)
{
    mv_source source = {0};
    mv_arena window;
    mv_code code;

    *out = (mv_error_texts){0};
    mv_arena_init(&window, arena->budget);
    code = mv_source_over(&window, text, &source, err);
    if (code == MV_OK)
        code = mv_error_texts_read(arena, &source, out, err);
    mv_source_close(&source);
    mv_arena_release(&window);
    return code;
}
