#include "parse/readers.h"
#include "tests/fuzz/mutate_form.h"

static const mvt_format *find(mv_span bytes)
{
    mv_span head = {bytes.data, bytes.length < 64 ? bytes.length : 64};

    if (mv_pickle_probe(head))
        return &mvt_format_pickle;
    if (mv_msgpack_probe(head))
        return &mvt_format_msgpack;
    return mv_snapshot_probe(head) ? &mvt_format_container : NULL;
}

const mvt_format mvt_format_any = {NULL, NULL, NULL, find};
