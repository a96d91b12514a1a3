/* memviz floor: the least memory that any allocator could have reserved for this run. */
#include "analyze/floor/floor_costs.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/report/prose.h"
#include "cli/report/table.h"

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    uint32_t first, end;     /* range of the reported devices */
    mv_minimum *found;       /* [end - first] */
    mv_minimum_costs *costs; /* [end - first] */
} floor_report;

/* ---- fields ------------------------------------------------------------------------------ */

#define COST_FIELDS(COLUMN, MEMBER, LIST)            \
    MEMBER("bytes", cost->bytes)                     \
    MEMBER("segments", mv_value_u64(cost->segments)) \
    MEMBER("frames", mv_value_frames(r->trace, cost->stack))

MV_LIST_ROWS_OF(list_costs, floor_report, r, mv_minimum_costs, costs, costs->count,
                const mv_minimum_cost *cost = &costs->rows[i], COST_FIELDS)

static const mv_table cost_table = {MV_TABLE(COST_FIELDS, list_costs)};

#define DEVICE_FIELDS(COLUMN, MEMBER, LIST)                                            \
    MEMBER("device", mv_value_u64(r->first + i))                                       \
    MEMBER("reserved", f->reserved)                                                    \
    MEMBER("lower", mv_value_or_null(f->is_known, mv_value_u64(f->lower)))             \
    MEMBER("upper", mv_value_or_null(f->is_known, mv_value_u64(f->upper)))             \
    MEMBER("checked", mv_value_bool(f->is_known))                                      \
    MEMBER("separation", mv_value_or_null(f->is_known, mv_value_u64(f->separation)))   \
    MEMBER("placement", mv_value_or_null(f->is_known, mv_value_u64(f->placement)))     \
    MEMBER("ideal", mv_value_or_null(f->is_known, mv_value_bool(f->ideal)))            \
    MEMBER("load_event", mv_value_or_null(f->is_known, mv_value_event(f->load_event))) \
    MEMBER("blocks", mv_value_u64(f->block_count))                                     \
    LIST("costs", &cost_table, mv_value_rows(&r->costs[i]))                            \
    MEMBER("unknown_because", f->why)                                                  \
    MEMBER("note", f->note)

MV_LIST_ROWS(list_devices, floor_report, r, r->end - r->first, const mv_minimum *f = &r->found[i],
             DEVICE_FIELDS)

static const mv_table device_table = {MV_TABLE(DEVICE_FIELDS, list_devices)};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST) LIST("devices", &device_table, mv_value_rows(NULL))

const mv_table mv_report_floor = {MV_TABLE(REPORT_FIELDS, mv_rows_list_lists), .main = "devices"};

/* ---- text -------------------------------------------------------------------------------- */

static void put_device(const void *all, uint32_t device)
{
    const floor_report *r = all;
    const mv_minimum *f = &r->found[device - r->first];
    char place[MV_PLACE_TEXT];
    const char *costs;

    mv_out_style(r->out, MV_STYLE_BOLD);
    mv_out_format(r->out, "%s: ", mv_level_place(r->trace, device, place));
    mv_prose_put(r->out, 10 + (device > 9), 2, "%s", mv_minimum_verdict(&r->cli->scratch, f));
    mv_out_style(r->out, MV_STYLE_NONE);
    for (uint32_t i = 0; i < MV_MINIMUM_SENTENCES; i++) {
        const char *text = mv_minimum_sentence(&r->cli->scratch, f, i);
        if (!text || !*text)
            continue;
        mv_prose_put_item(r->out, "%s", text);
    }
    costs = mv_minimum_costs_sentence(&r->cli->scratch, r->trace, &r->costs[device - r->first]);
    if (costs && *costs)
        mv_prose_put_item(r->out, "%s", costs);
}

/* ---- both -------------------------------------------------------------------------------- */

static mv_code find_all(floor_report *r, mv_err *err)
{
    mv_code code = MV_OK;

    r->found = mv_push_array(&r->cli->arena, mv_minimum, (uint64_t)r->end - r->first);
    r->costs = mv_push_array(&r->cli->arena, mv_minimum_costs, (uint64_t)r->end - r->first);
    if (!r->found || !r->costs)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = 0; code == MV_OK && i < r->end - r->first; i++) {
        mv_lives lives;
        code = mv_input_lives(r->cli, &r->cli->arena, r->trace, r->first + i, &lives, err);
        if (code == MV_OK)
            code = mv_minimum_find(&r->cli->arena, r->trace, &lives, false, &r->found[i], err);
        if (code == MV_OK)
            code = mv_minimum_costs_find(&r->cli->arena, &lives, &r->found[i], &r->costs[i], err);
    }
    return code;
}

int mv_cmd_floor(mv_cli *cli)
{
    mv_trace trace;
    floor_report r = {.cli = cli, .out = &cli->out, .trace = &trace};
    mv_err err = {.offset = MV_NO_OFFSET};

    mv_input_follows_heap(cli);
    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &r.first, &r.end))
        return MV_EXIT_FAILED;
    if (find_all(&r, &err) != MV_OK)
        return mv_complain(mv_input_name(cli), &err);
    return mv_devices_report(cli, &trace, r.first, r.end, put_device, &r);
}
