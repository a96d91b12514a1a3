#include "cli/report/tensor_list.h"

#include "base/sort.h"
#include "cli/report/prose.h"

#define TENSOR_FIELDS(COLUMN, MEMBER, LIST)                              \
    MEMBER("name", mv_value_string(list->trace, t->name[row->tensor]))   \
    MEMBER("role", mv_tensor_role_name(t->role[row->tensor]))            \
    MEMBER("slot", mv_value_known(list->trace, t->slot[row->tensor]))    \
    MEMBER("shape", mv_value_string(list->trace, t->shape[row->tensor])) \
    MEMBER("dtype", mv_value_string(list->trace, t->dtype[row->tensor])) \
    COLUMN("bytes", "bytes", 1, MV_UNIT_BYTES, 9, row->bytes)            \
    COLUMN(NULL, "tensor", 2, MV_UNIT_TEXT, 0, mv_tensor_text(list->trace, row->tensor, text))

static void list_tensors(mv_rows *rows)
{
    const mv_tensor_list *list = mv_rows_one(rows);
    const mv_tensors *t = &list->trace->tensors;
    uint32_t count = mv_rows_take(rows, list->count, list->limit);
    char text[MV_TENSOR_TEXT];

    for (uint32_t i = 0; i < count; i++) {
        const mv_site_tensor *row = &list->rows[i];
        MV_ROWS_ADD(rows, TENSOR_FIELDS);
    }
}

const mv_table mv_tensor_table = {MV_TABLE(TENSOR_FIELDS, list_tensors)};

void mv_tensors_put(mv_cli *cli, const mv_trace *trace, const mv_attribution *found,
                    const mv_site_tensors *tensors, uint64_t limit)
{
    mv_site_tensor *rows = mv_push_array(&cli->scratch, mv_site_tensor, tensors->count);
    mv_tensor_list list = {trace, rows, tensors->count, limit};
    uint32_t outside = found->categories.tensors.outside;
    char size[MV_SIZE_TEXT], lost[80] = "";

    if (!rows || found->categories.tensors.count + outside == 0)
        return;
    memcpy(rows, tensors->rows, tensors->count * sizeof *rows);
    mv_sort_rows(&cli->scratch, rows, tensors->count, MV_FALLING(mv_site_tensor, bytes),
                 MV_RISING(mv_site_tensor, tensor));
    if (outside > 0)
        snprintf(lost, sizeof lost, "; %u more lie%s in no block of PyTorch's allocator", outside,
                 outside == 1 ? "s" : "");
    mv_out_text(&cli->out, "\n  ");
    mv_prose_put(&cli->out, 2, 4, "%u tensor%s with a name: %s%s", tensors->count,
                 tensors->count == 1 ? "" : "s", mv_size_text(size, tensors->bytes), lost);
    mv_table_print(cli, &mv_tensor_table, NULL, &list, "");
}
