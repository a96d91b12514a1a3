#include "capture/hooks/hooks.h"

uint64_t mv_channels_bytes(const mv_cuda_channels *channels)
{
    enum { LAST_PLAIN_KIND = 2 }; /* cudaChannelFormatKindFloat */

    if (!channels || channels->kind < 0 || channels->kind > LAST_PLAIN_KIND || channels->x < 0 ||
        channels->y < 0 || channels->z < 0 || channels->w < 0)
        return 0;
    return ((uint64_t)channels->x + channels->y + channels->z + channels->w) / 8;
}

uint64_t mv_format_bytes(int format, unsigned channels)
{
    switch (format) {
    case 0x01: /* CU_AD_FORMAT_UNSIGNED_INT8 */
    case 0x08: /* CU_AD_FORMAT_SIGNED_INT8 */
        return channels;
    case 0x02: /* CU_AD_FORMAT_UNSIGNED_INT16 */
    case 0x09: /* CU_AD_FORMAT_SIGNED_INT16 */
    case 0x10: /* CU_AD_FORMAT_HALF */
        return 2 * (uint64_t)channels;
    case 0x03: /* CU_AD_FORMAT_UNSIGNED_INT32 */
    case 0x0a: /* CU_AD_FORMAT_SIGNED_INT32 */
    case 0x20: /* CU_AD_FORMAT_FLOAT */
        return 4 * (uint64_t)channels;
    default:
        return 0;
    }
}

static size_t halved(size_t extent, bool halves)
{
    if (halves)
        extent /= 2;
    return extent ? extent : 1;
}

uint64_t mv_array_bytes(uint64_t element, mv_cuda_extent extent, unsigned levels, unsigned flags)
{
    enum { MOST_LEVELS = 32 };
    uint64_t bytes = 0;

    extent.width = halved(extent.width, false);
    extent.height = halved(extent.height, false);
    extent.depth = halved(extent.depth, false);
    for (unsigned level = 0; level < levels && level < MOST_LEVELS; level++) {
        bytes += element * extent.width * extent.height * extent.depth;
        extent.width = halved(extent.width, true);
        extent.height = halved(extent.height, true);
        extent.depth = halved(extent.depth, !(flags & MV_CUDA_ARRAY_LAYERED));
    }
    return bytes;
}

int mv_props_device(const mv_cuda_props *props)
{
    return props && props->location_kind == MV_CUDA_LOCATION_DEVICE ? props->location
                                                                    : MV_NO_DEVICE;
}

mv_api_action mv_node_action(const mv_cuda_node *node)
{
    return node && node->kind == MV_CUDA_NODE_MEM_ALLOC ? MV_API_GRAPH_ALLOC : MV_API_ACTION_COUNT;
}
