#include "cli/window.h"

#include "cli/complain.h"
#include "cli/input.h"

/* The first event of a window that begins, or ends, at `x`. */
static bool place(const mv_trace *trace, uint32_t device, const char *x, uint32_t *event, char *why,
                  uint32_t why_size)
{
    mv_position position;

    if (!x)
        return true;
    if (!mv_position_find(trace, device, x, &position, why, why_size))
        return false;
    *event = position.event;
    return true;
}

bool mv_window_find(const mv_cli *cli, const mv_trace *trace, uint32_t device, mv_window *window)
{
    const mv_options *o = &cli->options;
    char why[160];

    *window = (mv_window){0, mv_trace_events(trace, device).count};
    if (!place(trace, device, o->from, &window->first, why, sizeof why) ||
        !place(trace, device, o->to, &window->end, why, sizeof why)) {
        mv_complain_of(mv_input_name(cli), "%s", why);
        return false;
    }
    if (window->end < window->first)
        window->end = window->first;
    return true;
}
