/* Traces that many tests share. */
#include "tests/fixture.h"

mvt_trace *mvt_small(void)
{
    mvt_trace *t = mvt_new();

    mvt_setting_text(t, "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:False");
    mvt_setting_int(t, "max_split_size", -1);
    mvt_annotate(t, "Optimizer.step#SGD.step", true, 1700000000000000);
    mvt_segment_alloc(t, .addr = 0x7f0000000000, .bytes = 2 << 20, .stack = "f:a.py:1;g:b.py:2");
    mvt_alloc(t, .addr = 0x7f0000000000, .bytes = 1000, .stack = "f:a.py:1;g:b.py:2");
    mvt_alloc(t, .addr = 0x7f0000000400, .bytes = 300, .stack = "h:a.py:9", .metadata = "step 1");
    mvt_free(t, .addr = 0x7f0000000000);
    mvt_oom(t, .addr = 12345, .bytes = (uint64_t)80 << 30);
    mvt_final_heap(t);
    return t;
}

mvt_trace *mvt_two_devices(void)
{
    mvt_trace *t = mvt_new();

    for (uint64_t i = 0; i < 40; i++) {
        uint32_t device = i % 2;
        mvt_alloc(t, .device = device, .addr = 0x7f0000000000 + i * 512, .bytes = 8 * i + 1,
                  .stream = i % 3 * 0x1000, .stack = i % 5 ? "f:a.py:1;g:b.py:2" : NULL);
        if (i > 10)
            mvt_free(t, .device = device, .addr = 0x7f0000000000 + (i - 10) * 512);
    }
    mvt_segment(t, .device = 1, .addr = 0x7f0000000000, .bytes = 20 << 20, .pool_a = 1,
                .expandable = true);
    mvt_block(t, .bytes = 512, .state = MV_BLOCK_PENDING_FREE, .stack = "f:a.py:1");
    mvt_block(t, .bytes = (20 << 20) - 512);
    return t;
}
