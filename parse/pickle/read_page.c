/* Reads the pickle in HTML pages of PyTorch's _memory_viz. */
#include "parse/pickle/page_text.h"
#include "parse/readers.h"

#include <stdio.h>

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool mv_page_probe(mv_span head)
{
    uint64_t at = 0;

    while (at < head.length && is_space(head.data[at]))
        at++;
    return head.length - at > 1 && head.data[at] == '<' &&
           (head.data[at + 1] == '!' || (head.data[at + 1] | 0x20) == 'h');
}

static mv_code read_inner(mv_arena *arena, mv_source *inner, const mv_read_opts *opts,
                          mv_trace *out, mv_err *err)
{
    mv_span head;

    mv_source_need(inner, 64);
    head = (mv_span){inner->at, (uint64_t)(inner->end - inner->at)};
    if (mv_pickle_probe(head))
        return mv_pickle_read(arena, inner, opts, out, err);
    if (head.length < 64 && mv_source_fail(inner, err, "") != MV_TRUNCATED)
        return err->code;
    return mv_fail(err, MV_FORMAT, 0, "%s", "the page does not contain a pickle");
}

/* Converts the offset of an error from the pickle to the page, which is the user's file. */
static void place_error(const mv_page_text *text, const mv_source *inner, mv_err *err)
{
    if (text->failed || err->offset == MV_NO_OFFSET || inner->state == NULL ||
        strcmp(mv_source_compression(inner), "none") != 0)
        return;
    err->offset = mv_page_offset(text, err->offset);
}

/* Reads the page to its end. If it contains several snapshots, only the first is used. */
static mv_code read_rest(mv_source *page, mv_trace *out, mv_err *err)
{
    mv_note *note = &out->notes[MV_NOTE_LOOSE];

    out->origin.is_page = true;
    if (mv_page_has_more(page)) {
        if (note->count++ == 0)
            snprintf(note->first, sizeof note->first, "another snapshot in the page");
        return MV_OK;
    }
    if (mv_source_fail(page, err, "") != MV_TRUNCATED)
        return err->code;
    *err = (mv_err){.offset = MV_NO_OFFSET};
    return MV_OK;
}

mv_code mv_page_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts, mv_trace *out,
                     mv_err *err)
{
    mv_page_text text;
    mv_source inner = {0};
    mv_arena window;
    mv_code code;

    if (mv_page_find(source, &text, err) != MV_OK)
        return err->code;
    mv_arena_init(&window, arena->budget);
    code = mv_page_open(&window, &text, &inner, err);
    if (code == MV_OK)
        code = read_inner(arena, &inner, opts, out, err);
    if (code != MV_OK)
        place_error(&text, &inner, err);
    else
        code = read_rest(source, out, err);
    mv_source_close(&inner);
    mv_arena_release(&window);
    return code;
}
