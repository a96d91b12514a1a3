/* Idle devices (not mv_device_is_used): a process can access all devices of a machine, but uses
 * only a few of them.
 *
 * Text reports show only the devices in use, and end with the number of idle ones. If all are idle,
 * they show the first one. JSON contains every device. */
#pragma once

#include "cli/commands.h"

/* Whether a report on the devices [first, end) includes `device`. O(devices * segments). */
bool mv_device_is_reported(const mv_trace *trace, uint32_t first, uint32_t end, uint32_t device);

/* Returns how many of the devices [first, end) are in use. */
uint32_t mv_devices_in_use(const mv_trace *trace, uint32_t first, uint32_t end);

/* Prints "7 other devices are idle" if any are, or that the file has no device. If `is_apart`,
 * prints a blank line first. */
void mv_idle_put_others(mv_out *out, const mv_trace *trace, uint32_t first, uint32_t end,
                        bool is_apart);

/* Prints a report on the devices [first, end). This is the requested table (cli/report/table.h), or
 * else text. For text, calls `put` for each device, with an empty line in between, and then prints
 * the number of idle devices. Returns the exit status. */
int mv_devices_report(mv_cli *cli, const mv_trace *trace, uint32_t first, uint32_t end,
                      void (*put)(const void *all, uint32_t device), const void *all);
