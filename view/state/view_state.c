#include "view/state/view_state.h"

/* ---- defaults ----------------------------------------------------------------------------- */

const mv_view_state mv_view_state_first = {
#define MV_STATE_PLACE(kind, name, first, words) .name = first,
#define MV_STATE_PLACES                          MV_STATE_NONE
#define MV_STATE_DESK                            MV_STATE_NONE
#define MV_STATE_DESKS                           MV_STATE_NONE
#define MV_STATE_MOMENT                          MV_STATE_NONE
#include "view/state/view_state.def"
#undef MV_STATE_PLACE
#undef MV_STATE_DESK
#undef MV_STATE_DESKS
#undef MV_STATE_MOMENT
};

const mv_view_desk mv_view_desk_first = {
#define MV_STATE_PLACE                            MV_STATE_NONE
#define MV_STATE_DESK(kind, name, first, words)   .name = first,
#define MV_STATE_DESKS                            MV_STATE_NONE
#define MV_STATE_MOMENT(kind, name, first, words) .name = first,
#include "view/state/view_state.def"
#undef MV_STATE_PLACE
#undef MV_STATE_PLACES
#undef MV_STATE_DESK
#undef MV_STATE_DESKS
#undef MV_STATE_MOMENT
};

/* ---- all members -------------------------------------------------------------------------- */

#define MEMBER(of, the_kind, the_name, the_count, the_words, desk, kept) \
    {.name = #the_name,                                                  \
     .words = the_words,                                                 \
     .kind = MV_MEMBER_##the_kind,                                       \
     .count = the_count,                                                 \
     .offset = offsetof(of, the_name),                                   \
     .size = sizeof(((of *)0)->the_name) / (the_count),                  \
     .is_of_desk = desk,                                                 \
     .is_kept = kept},

const mv_state_member mv_state_members[] = {
#define MV_STATE_PLACE(kind, name, first, words) \
    MEMBER(mv_view_state, kind, name, 1, words, false, true)
#define MV_STATE_PLACES(kind, name, count) MEMBER(mv_view_state, kind, name, count, "", false, true)
#define MV_STATE_DESK(kind, name, first, words) \
    MEMBER(mv_view_desk, kind, name, 1, words, true, true)
#define MV_STATE_DESKS(kind, name, count) MEMBER(mv_view_desk, kind, name, count, "", true, true)
#define MV_STATE_MOMENT(kind, name, first, words) \
    MEMBER(mv_view_desk, kind, name, 1, words, true, false)
#include "view/state/view_state.def"
};

static_assert(sizeof mv_state_members / sizeof *mv_state_members <= MV_STATE_MOST, "raise it");

const uint32_t mv_state_member_count = sizeof mv_state_members / sizeof *mv_state_members;

bool mv_view_state_is_equal(const mv_view_state *a, const mv_view_state *b)
{
    for (uint32_t i = 0; i < mv_state_member_count; i++) {
        const mv_state_member *m = &mv_state_members[i];
        if (!m->is_of_desk && memcmp((const char *)a + m->offset, (const char *)b + m->offset,
                                     m->size * m->count) != 0)
            return false;
    }
    return true;
}
