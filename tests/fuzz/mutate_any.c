#include "parse/readers.h"
#include "tests/fuzz/mutate.h"

typedef struct {
    bool (*probe)(mv_span head);
    mvt_mutate_fn *mutate;
    mvt_cross_fn *cross;
} kind;

static const kind kinds[] = {{mv_pickle_probe, mvt_mutate_pickle, mvt_cross_pickle},
                             {mv_msgpack_probe, mvt_mutate_msgpack, mvt_cross_msgpack},
                             {mv_snapshot_probe, mvt_mutate_container, mvt_cross_container}};

static const kind *kind_of(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].probe((mv_span){data, size < 64 ? size : 64}))
            return &kinds[i];
    return NULL;
}

size_t mvt_mutate_any(uint8_t *data, size_t size, size_t room, uint64_t seed)
{
    const kind *k = kind_of(data, size);

    return k ? k->mutate(data, size, room, seed) : 0;
}

size_t mvt_cross_any(mv_span a, mv_span b, uint8_t *out, size_t room, uint64_t seed)
{
    const kind *k = kind_of(a.data, a.length);

    return k && k == kind_of(b.data, b.length) ? k->cross(a, b, out, room, seed) : 0;
}
