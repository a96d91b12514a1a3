
#include "view/frame/view.h"

MV_PLAIN_BEGIN
typedef struct {
    const mv_trace *trace;
    const mv_document_device *device;
    size_t is_evaluated;
    char search[MV_SEARCH_TEXT];
} search_question;
MV_PLAIN_END

typedef struct {
    mv_filter_bits allocs, segments;
    char why[MV_FILTER_WHY];
} search_answer;

static void *find(mv_arena *arena, void *context, const void *of)
{
    const search_question *a = of;
    const mv_lives *lives = &a->device->lives;
    const mv_leaks *leaks = a->is_evaluated ? &a->device->leaks : NULL;
    search_answer *found = mv_push_struct(arena, search_answer);
    mv_filter filter = {0};
    mv_err err = {0};

    (void)context;
    if (!found || !mv_filter_read(arena, a->search, &filter, found->why))
        return found;
    if (mv_filter_allocs(arena, a->trace, lives, leaks, &filter, &found->allocs, &err) != MV_OK ||
        mv_filter_segments(arena, a->trace, lives, &filter, &found->segments, &err) != MV_OK)
        snprintf(found->why, sizeof found->why, "%s", mv_code_text(err.code));
    return found;
}

bool mv_search_allocs(mv_arena *arena, const mv_trace *trace, const mv_document_device *device,
                      bool is_evaluated, const char *search, mv_filter_bits *out)
{
    const mv_leaks *leaks = is_evaluated ? &device->leaks : NULL;
    mv_filter filter = {0};
    char why[MV_FILTER_WHY];
    mv_err err = {0};

    if (!mv_filter_read(arena, search, &filter, why))
        return false;
    return mv_filter_allocs(arena, trace, &device->lives, leaks, &filter, out, &err) == MV_OK;
}

bool mv_search_open(mv_view *view)
{
    view->search_slot = mv_slot_open(view->jobs, find, NULL, sizeof(search_question));
    return view->search_slot != NULL;
}

/* Returns the result of the search; NULL: there is none yet. */
static const search_answer *ask(const mv_view *view, mv_slot *slot, const mv_document *document,
                                const mv_document_device *device)
{
    const search_answer *found;
    bool is_current;
    search_question a;

    memset(&a, 0, sizeof a);
    a.trace = &document->trace;
    a.device = device;
    a.is_evaluated =
        atomic_load_explicit(&device->stage, memory_order_acquire) == MV_DEVICE_REPORTED;
    memcpy(a.search, view->now->search, sizeof a.search);
    found = mv_slot_query(slot, &a, &is_current);
    return is_current ? found : NULL;
}

const mv_filter_bits *mv_search_matches(mv_view *view, mv_slot **slot, const mv_document *document,
                                        const mv_document_device *device)
{
    const search_answer *found = NULL;

    if (view->sheet || !*view->now->search || view->now->show == MV_SHOW_ALL)
        return NULL;
    if (!*slot)
        *slot = mv_slot_open(view->jobs, find, NULL, sizeof(search_question));
    if (*slot)
        found = ask(view, *slot, document, device);
    return found && !*found->why ? &found->allocs : NULL;
}

void mv_search_update(mv_view *view)
{
    const mv_document_device *device = mv_view_device(view);
    const search_answer *found;

    view->matches = view->segment_matches = NULL;
    *view->search_why = '\0';
    if (view->sheet) {
        if (view->sheet->main == MV_MAIN_SEGMENTS)
            view->segment_matches = view->sheet->opts.only;
        else
            view->matches = view->sheet->opts.only;
        return;
    }
    if (!device || !*view->now->search)
        return;
    found = ask(view, view->search_slot, mv_view_document(view), device);
    if (!found)
        return;
    memcpy(view->search_why, found->why, sizeof view->search_why);
    if (*found->why)
        return;
    view->matches = &found->allocs;
    view->segment_matches = &found->segments;
}
