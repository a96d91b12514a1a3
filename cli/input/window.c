#include "cli/input/window.h"

#include "cli/complain.h"
#include "cli/input/input.h"

/* Whether no selected device has an event in the window. */
static bool is_empty(const mv_cli *cli, const mv_trace *trace, char *why, uint32_t why_size)
{
    const mv_options *o = &cli->options;
    uint32_t first = 0, end = mv_trace_devices(trace);

    if (o->device != MV_ALL_DEVICES) {
        first = (uint32_t)o->device;
        end = first + 1;
    }
    return mv_window_is_empty(trace, first, end, o->from, o->to, why, why_size);
}

bool mv_window_find_in(const mv_cli *cli, const char *file, const mv_trace *trace, uint32_t device,
                       mv_window *window)
{
    const mv_options *o = &cli->options;
    char why[MV_WHY];

    if (mv_window_read(trace, device, o->from, o->to, window, why, sizeof why) &&
        (window->end > window->first || !is_empty(cli, trace, why, sizeof why)))
        return true;
    mv_complain_of(file, "%s", why);
    return false;
}

bool mv_window_find(const mv_cli *cli, const mv_trace *trace, uint32_t device, mv_window *window)
{
    return mv_window_find_in(cli, mv_input_name(cli), trace, device, window);
}
