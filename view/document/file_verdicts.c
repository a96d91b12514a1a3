#include "view/document/file_verdicts.h"

#include <stdio.h>

bool mv_file_has_several_levels(const mv_document *document)
{
    return document->levels.count > 1;
}

/* Copies a row of the triage. Its strings are copied too, because they do not outlive the
 * triage. */
static bool keep_row(mv_text_maker *words, const mv_triage_row *from, const char *main_level,
                     mv_verdict *to)
{
    *to = (mv_verdict){.device = from->device,
                       .kind = from->finding->kind,
                       .report = from->finding->report,
                       .bytes = from->bytes,
                       .text = mv_make_text(words, "%s", from->text),
                       .level = mv_make_text(words, "%s", from->level ? from->level : main_level)};
    return !words->failed;
}

static void *keep(mv_arena *arena, const mv_triage *t, const mv_trace *read, const mv_trace *main)
{
    mv_file_verdicts *out = mv_push_struct(arena, mv_file_verdicts);
    mv_text_maker words = {.arena = arena};

    if (!out || !(out->rows = mv_push_array(arena, mv_verdict, t->count)))
        return NULL;
    out->level = mv_level_name_of(main, mv_level_default(read));
    for (uint32_t i = 0; i < t->count; i++) {
        if (!keep_row(&words, &t->rows[i], out->level, &out->rows[out->count++]))
            return NULL;
    }
    out->problems = mv_triage_problems(t);
    out->badge = mv_triage_badge(arena, t, read);
    return out->badge ? out : NULL;
}

void *mv_file_verdicts_find(mv_arena *arena, void *context, const void *ask)
{
    const mv_document *document;
    const mv_trace *read;
    mv_triage triage;
    mv_arena scratch;
    mv_trace main;
    mv_err err = {.offset = MV_NO_OFFSET};
    void *out = NULL;

    (void)context;
    memcpy(&document, ask, sizeof document);
    read = mv_trace_as_read(&document->trace);
    main = *read;
    mv_arena_init(&scratch, arena->budget);
    if (mv_level_take_named(&scratch, &main, "", &err) == MV_OK) {
        if (mv_triage_find(arena->budget,
                           (mv_triage_query){.read = read,
                                             .trace = &main,
                                             .with_others = true,
                                             .no_whatif = true,
                                             .end = UINT32_MAX},
                           1, &triage, &err) == MV_OK)
            out = keep(arena, &triage, read, &main);
        mv_triage_release(&triage);
    }
    mv_arena_release(&scratch);
    return out;
}
