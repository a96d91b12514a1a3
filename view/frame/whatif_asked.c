
#include "view/frame/view.h"

bool mv_whatif_open(mv_view *view)
{
    view->whatif_shared = (mv_whatif_shared){.budget = view->budget};
    pthread_mutex_init(&view->whatif_shared.lock, NULL);
    view->whatif_slot = mv_slot_open(view->jobs, mv_whatif_replay, &view->whatif_shared,
                                     sizeof(mv_whatif_question));
    return view->whatif_slot != NULL;
}

void mv_whatif_update(mv_view *view)
{
    const mv_document_device *device = mv_view_device(view);
    const mv_view_state *now = view->now;
    mv_whatif_question q;
    bool is_current;

    view->whatif = NULL;
    view->is_whatif_without_memory = false;
    if (view->sheet || !device || (now->tab != MV_TAB_WHATIF && !*now->whatif))
        return;
    memset(&q, 0, sizeof q);
    q.document = mv_view_document(view);
    q.device = device;
    memcpy(q.items, now->whatif, sizeof q.items);
    view->whatif = mv_slot_query(view->whatif_slot, &q, &is_current);
    view->is_whatif_without_memory = is_current && !view->whatif;
    if (!is_current && view->whatif && view->whatif->ask.device != device)
        view->whatif = NULL;
}
