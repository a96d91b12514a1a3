/* Strings, frames and stacks of a page. Only strings that something in the page refers to are
 * included. */
#include <string.h>

#include "analyze/code/culprit.h"
#include "viz/html/html_parts.h"

enum { LABEL_SIZE = 256 };

typedef struct {
    mv_html *page;
    const mv_trace *trace;
    uint32_t *row_of; /* [strings.count] row in the page, from 1; 0: not included */
} tables;

static void want(tables *t, mv_string_id string)
{
    if (string.row < t->trace->strings.count)
        t->row_of[string.row] = 1;
}

static void add_strings(tables *t)
{
    const mv_trace *trace = t->trace;
    mv_packed *c = &t->page->columns;
    uint32_t rows = 0;

    for (uint32_t i = 0; i < trace->frames.count; i++) {
        want(t, trace->frames.function[i]);
        want(t, trace->frames.file[i]);
    }
    for (uint32_t i = 0; i < trace->annotations.count; i++)
        want(t, trace->annotations.name[i]);
    mv_packed_open(c, MV_CODING_TEXT, "strings");
    for (uint32_t i = 0; i < trace->strings.count; i++) {
        if (t->row_of[i] == 0)
            continue;
        t->row_of[i] = ++rows;
        mv_packed_add_text(c, mv_string_span(trace, (mv_string_id){i}));
    }
    mv_packed_close(c);
}

static void add_string_column(tables *t, const char *name, const mv_string_id *strings,
                              uint32_t count)
{
    mv_packed *c = &t->page->columns;

    mv_packed_open(c, MV_CODING_PLAIN, "%s", name);
    for (uint32_t i = 0; i < count; i++)
        mv_packed_add(c, strings[i].row < t->trace->strings.count ? t->row_of[strings[i].row] : 0);
    mv_packed_close(c);
}

static void add_frames(tables *t, const uint8_t *kinds)
{
    const mv_frames *f = &t->trace->frames;
    mv_packed *c = &t->page->columns;

    add_string_column(t, "frame.function", f->function, f->count);
    add_string_column(t, "frame.file", f->file, f->count);
    mv_packed_open(c, MV_CODING_PLAIN, "frame.line");
    for (uint32_t i = 0; i < f->count; i++)
        mv_packed_add(c, f->line[i] < 0 ? 0 : (uint64_t)f->line[i] + 1);
    mv_packed_close(c);
    mv_packed_open(c, MV_CODING_PLAIN, "frame.kind");
    for (uint32_t i = 0; i < f->count; i++) /* 3: native, 4: noise */
        mv_packed_add(c, kinds[i] <= MV_FRAME_TELLING ? kinds[i] : kinds[i] - 1u);
    mv_packed_close(c);
}

/* Frames have the same names as in all pictures. */
static void add_labels(tables *t, const uint8_t *kinds)
{
    mv_packed *c = &t->page->columns;
    char label[LABEL_SIZE];

    mv_packed_open(c, MV_CODING_TEXT, "frame.label");
    for (uint32_t i = 0; i < t->trace->frames.count; i++) {
        mv_frame_label(t->trace, (mv_frame_id){i}, label, sizeof label);
        mv_packed_add_text(c, (mv_span){(const uint8_t *)label, strlen(label)});
    }
    mv_packed_close(c);
    mv_packed_open(c, MV_CODING_TEXT, "stack.empty"); /* and a stack without frames */
    mv_culprit_label(t->trace, kinds, MV_EMPTY_STACK, label, sizeof label);
    mv_packed_add_text(c, (mv_span){(const uint8_t *)label, strlen(label)});
    mv_packed_close(c);
}

static void add_stacks(tables *t)
{
    const mv_stacks *s = &t->trace->stacks;
    mv_packed *c = &t->page->columns;

    mv_packed_open(c, MV_CODING_PLAIN, "stack.frames");
    for (uint32_t i = 0; i < s->count; i++)
        mv_packed_add(c, s->first[i + 1] - s->first[i]);
    mv_packed_close(c);
    mv_packed_open(c, MV_CODING_DELTA, "stack.frame");
    for (uint64_t i = 0; s->count && i < s->first[s->count]; i++)
        mv_packed_add(c, s->frame[i].row);
    mv_packed_close(c);
}

static void add_annotations(tables *t)
{
    const mv_annotations *a = &t->trace->annotations;
    mv_packed *c = &t->page->columns;

    add_string_column(t, "note.name", a->name, a->count);
    mv_packed_open(c, MV_CODING_DELTA, "note.time");
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(c, (uint64_t)a->time_us[i]);
    mv_packed_close(c);
    mv_packed_open(c, MV_CODING_PLAIN, "note.stage");
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(c, a->stage[i]);
    mv_packed_close(c);
    mv_packed_open(c, MV_CODING_PLAIN, "note.device");
    for (uint32_t i = 0; i < a->count; i++)
        mv_packed_add(c, (uint64_t)((int64_t)a->device[i] + 1));
    mv_packed_close(c);
}

mv_code mv_html_tables(mv_html *page, mv_err *err)
{
    tables t = {.page = page, .trace = page->trace};
    mv_arena scratch;
    const uint8_t *kinds;

    mv_arena_init(&scratch, page->arena->budget);
    t.row_of = mv_push_array(&scratch, uint32_t, page->trace->strings.count);
    kinds = mv_frame_kinds(&scratch, page->trace);
    if (t.row_of && kinds) {
        add_strings(&t);
        add_frames(&t, kinds);
        add_labels(&t, kinds);
        add_stacks(&t);
        add_annotations(&t);
    }
    mv_arena_release(&scratch);
    if (!t.row_of || !kinds)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "page");
    return MV_OK;
}
