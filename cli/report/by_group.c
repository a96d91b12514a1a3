#include "cli/report/by_group.h"

mv_group_by mv_by_what(const mv_cli *cli)
{
    return (mv_group_by)(cli->options.by - MV_BY_LINE);
}

mv_code mv_by_find(mv_cli *cli, const mv_trace *trace, const mv_lives *lives, const uint8_t *kinds,
                   uint32_t event, uint64_t limit, mv_grouped *out, mv_err *err)
{
    mv_code code =
        mv_grouping_find(&cli->arena, trace, lives, kinds, mv_by_what(cli), &out->grouping, err);

    out->trace = trace;
    out->limit = limit;
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

#define GROUP_FIELDS(COLUMN, MEMBER, LIST)                                                         \
    COLUMN("name", "group", 4, MV_UNIT_TEXT, 0, name)                                              \
    COLUMN("bytes", "bytes", 1, MV_UNIT_BYTES, 9, row->bytes)                                      \
    COLUMN("blocks", "blocks", 3, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, row->blocks)                   \
    COLUMN("share", "share", 2, MV_UNIT_COUNT | MV_UNIT_SPARE, 5, mv_value_share(row->bytes, all)) \
    MEMBER("frames", mv_value_frames(grouped->trace, row->stack))

static void list_groups(mv_rows *rows)
{
    const mv_grouped *grouped = mv_rows_one(rows);
    uint64_t all = bytes_of_all(grouped);
    uint32_t count = mv_rows_take(rows, grouped->rows.count, grouped->limit);

    mv_rows_head(rows, "name", mv_group_by_name(grouped->grouping.by));
    for (uint32_t i = 0; i < count; i++) {
        const mv_group_row *row = &grouped->rows.rows[i];
        const char *text = grouped->grouping.name[row->group];
        mv_value name = mv_value_shown(mv_value_text(row->group == 0 ? NULL : text), text);
        MV_ROWS_ADD(rows, GROUP_FIELDS);
    }
}

const mv_table mv_group_table = {MV_TABLE(GROUP_FIELDS, list_groups)};
