/* Commands that pin, fold and move the lanes of the ranks, and show lanes of all levels. Their
 * argument is the number of the lane, counted from 1; 0: the lane with the keyboard focus, or else
 * the lane of the shown device. */
#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/timeline/pane_ranks.h"
#include "view/timeline/rank_lanes.h"

typedef struct {
    mv_device_row *rows;
    uint32_t count;
    uint32_t *order; /* [count] */
    mv_lane_choice *choices;
    uint32_t lane;
} lane_change;

/* Finds the lane that a command applies to. Returns false, with a message, if there is none. */
static bool open_lane(mv_view *view, uint64_t arg, lane_change *c)
{
    mv_ranks_pane *pane = view->timeline->ranks;

    if (view->now->main != MV_MAIN_RANKS) {
        mv_view_say(view, false, "%s", "lanes are in the ranks view");
        return false;
    }
    c->rows = mv_lane_rows(view, &c->count);
    c->choices = c->rows ? mv_lane_choices(view, c->rows, c->count) : NULL;
    c->order = pane->order;
    if (!c->choices || pane->ordered != c->count)
        return false;
    c->lane = arg ? (uint32_t)(arg - 1) : 0;
    if (!arg && view->spot.is_shown && view->spot.command == MV_DO_show_rank)
        c->lane = (uint32_t)view->spot.arg;
    else if (!arg)
        while (c->lane + 1 < c->count && c->rows[c->order[c->lane]].shown != mv_view_device(view))
            c->lane++;
    return c->lane < c->count;
}

static void write_lanes(mv_view *view, const lane_change *c)
{
    mv_lanes_write(mv_view_write(view)->lanes, c->rows, c->order, c->count, c->choices,
                   view->now->lane_order == MV_LANES_CHOSEN);
}

#define TURN_LANE(name, member)                                                 \
    void name(mv_view *view, uint64_t arg)                                      \
    {                                                                           \
        lane_change c;                                                          \
        if (!open_lane(view, arg, &c))                                          \
            return;                                                             \
        c.choices[c.order[c.lane]].member = !c.choices[c.order[c.lane]].member; \
        write_lanes(view, &c);                                                  \
    }
TURN_LANE(mv_do_lane_pin, is_pinned)
TURN_LANE(mv_do_lane_fold, is_folded)

/* Swaps a lane with its neighbour, among the pinned lanes or among all others. The keyboard focus
 * moves with the lane. */
static void move_lane(mv_view *view, uint64_t arg, bool is_down)
{
    lane_change c;
    uint32_t to, row;

    if (!open_lane(view, arg, &c))
        return;
    to = is_down ? c.lane + 1 : c.lane - 1;
    if (to >= c.count || c.choices[c.order[to]].is_pinned != c.choices[c.order[c.lane]].is_pinned)
        return;
    row = c.order[c.lane];
    c.order[c.lane] = c.order[to];
    c.order[to] = row;
    mv_view_write(view)->lane_order = MV_LANES_CHOSEN;
    write_lanes(view, &c);
    if (view->spot.is_shown && view->spot.command == MV_DO_show_rank && view->spot.arg == c.lane) {
        view->spot.arg = to;
        view->spot.has_moved = true;
    }
}

void mv_do_lane_up(mv_view *view, uint64_t arg)
{
    move_lane(view, arg, false);
}

void mv_do_lane_down(mv_view *view, uint64_t arg)
{
    move_lane(view, arg, true);
}

void mv_do_level_lanes(mv_view *view, uint64_t arg)
{
    (void)arg;
    mv_view_write(view)->has_level_lanes = !view->now->has_level_lanes;
    mv_view_write(view)->main = MV_MAIN_RANKS;
}
