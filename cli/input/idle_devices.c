#include "cli/input/idle_devices.h"

#include "analyze/ranks/summary.h"
#include "cli/report/table.h"

uint32_t mv_devices_in_use(const mv_trace *trace, uint32_t first, uint32_t end)
{
    uint32_t count = 0;

    for (uint32_t i = first; i < end; i++)
        count += mv_device_is_used(trace, i);
    return count;
}

bool mv_device_is_reported(const mv_trace *trace, uint32_t first, uint32_t end, uint32_t device)
{
    if (mv_device_is_used(trace, device))
        return true;
    return device == first && mv_devices_in_use(trace, first, end) == 0;
}

void mv_idle_put_others(mv_out *out, const mv_trace *trace, uint32_t first, uint32_t end,
                        bool is_apart)
{
    uint32_t used = mv_devices_in_use(trace, first, end), others = end - first - (used ? used : 1);

    if (end == first)
        mv_out_text(out, "no device: the file has no events and no memory\n");
    if (end == first || others == 0)
        return;
    if (is_apart)
        mv_out_char(out, '\n');
    mv_out_format(out, "%u other device%s idle\n", others, others == 1 ? " is" : "s are");
}

int mv_devices_report(mv_cli *cli, const mv_trace *trace, uint32_t first, uint32_t end,
                      void (*put)(const void *all, uint32_t device), const void *all)
{
    bool follows = false;

    if (mv_table_is_wanted(cli))
        return mv_table_put(cli, all);
    for (uint32_t device = first; device < end; device++) {
        if (!mv_device_is_reported(trace, first, end, device))
            continue;
        if (follows)
            mv_out_char(&cli->out, '\n');
        put(all, device);
        follows = true;
    }
    mv_idle_put_others(&cli->out, trace, first, end, follows);
    return MV_EXIT_DONE;
}
