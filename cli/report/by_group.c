#include "cli/report/by_group.h"

#include <stdio.h>

#include "cli/complain.h"
#include "cli/report/rows.h"
#include "cli/report/sheet.h"

bool mv_by_wanted(const mv_cli *cli, bool *wanted, int *status)
{
    const mv_options *o = &cli->options;

    *wanted = mv_option_given(o, MV_HAS(BY));
    if (*wanted && o->by == MV_BY_USE) {
        *status = mv_complain_usage(cli->command->name, "--by use is for segment_plot");
        return false;
    }
    return true;
}

mv_group_by mv_by_what(const mv_cli *cli)
{
    return (mv_group_by)(cli->options.by - MV_BY_LINE);
}

mv_code mv_by_find(mv_cli *cli, const mv_trace *trace, const mv_lives *lives, const uint8_t *kinds,
                   uint32_t event, mv_grouped *out, mv_err *err)
{
    mv_code code =
        mv_grouping_find(&cli->arena, trace, lives, kinds, mv_by_what(cli), &out->grouping, err);

    if (code == MV_OK)
        code = mv_grouping_sum(&cli->arena, lives, &out->grouping, event, &out->rows, err);
    return code;
}

static uint64_t bytes_of_all(const mv_grouped *grouped)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < grouped->rows.count; i++)
        sum += grouped->rows.rows[i].bytes;
    return sum;
}

cJSON *mv_by_json(mv_report *r, const mv_trace *trace, const mv_grouped *grouped, uint64_t limit)
{
    cJSON *array = mv_json_array(r, NULL, NULL);
    uint64_t all = bytes_of_all(grouped);

    for (uint32_t i = 0; i < grouped->rows.count && i < limit; i++) {
        const mv_group_row *row = &grouped->rows.rows[i];
        const char *name = grouped->grouping.name[row->group];
        cJSON *o = mv_json_object(r, array, NULL);
        mv_json_add(r, o, "name",
                    row->group == 0
                        ? cJSON_CreateNull()
                        : mv_json_span(r, (mv_span){(const uint8_t *)name, strlen(name)}));
        mv_json_add_u64(r, o, "bytes", row->bytes);
        mv_json_add_u64(r, o, "blocks", row->blocks);
        mv_json_add(r, o, "share", mv_json_real(all ? (double)row->bytes / (double)all : 0));
        mv_json_add(r, o, "frames", mv_json_frames(r, trace, row->stack));
    }
    return array;
}

void mv_by_put(mv_cli *cli, const mv_grouped *grouped, uint64_t limit)
{
    mv_column columns[] = {{"bytes", MV_UNIT_BYTES, 9},
                           {"share", MV_UNIT_COUNT, 5},
                           {"blocks", MV_UNIT_COUNT, 0},
                           {mv_group_by_name(grouped->grouping.by), MV_UNIT_TEXT, 0}};
    uint64_t all = bytes_of_all(grouped);
    mv_sheet sheet;
    char share[16];

    if (grouped->rows.count == 0)
        return;
    mv_sheet_init(&sheet, &cli->scratch, columns, 4);
    for (uint32_t i = 0; i < grouped->rows.count && i < limit; i++) {
        const mv_group_row *row = &grouped->rows.rows[i];
        double percent = all ? 100 * (double)row->bytes / (double)all : 0;
        mv_sheet_size(&sheet, row->bytes);
        snprintf(share, sizeof share, percent < 1 ? "%.1f %%" : "%.0f %%", percent);
        mv_sheet_text(&sheet, share);
        mv_sheet_count(&sheet, row->blocks);
        mv_sheet_text(&sheet, grouped->grouping.name[row->group]);
    }
    mv_out_char(&cli->out, '\n');
    mv_sheet_print(&sheet, &cli->out, 2);
    mv_rows_put_hidden(&cli->out, grouped->rows.count, limit);
}
