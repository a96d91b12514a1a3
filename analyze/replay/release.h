/* Finds the PyTorch releases that may have written a snapshot. These are the releases whose files
 * have exactly the snapshot's keys. If a key is present, the snapshot is from the release that
 * introduced the key, or a later one. If a key is missing although newer releases always write it,
 * the snapshot is from an earlier release. The table in release.c names the source of each fact. */
#pragma once

#include "parse/model/trace.h"

typedef enum {
    MV_WRITER_PYTORCH,
    MV_WRITER_MEMVIZ,   /* a capture by memviz */
    MV_WRITER_PROFILER, /* made by _memory_viz from a torch.profiler run, so the release is
                         * unknown */
    MV_WRITER_NPU,      /* torch_npu, which adopts changes of PyTorch's format at its own pace */
    MV_WRITER_XPU,      /* torch.xpu */
    MV_WRITER_OTHER     /* another tool (analyze/events/recorder.h) */
} mv_writer_kind;

typedef struct {
    mv_writer_kind kind;
    uint32_t first, last; /* first and last possible release; 2.7 is 207. first 0: no lower
                           * bound; last 0: no upper bound; both 0: unknown, or the keys
                           * contradict each other */
} mv_release;

mv_release mv_release_of(const mv_trace *trace);

/* Returns the name of the variable that sets the allocator of the release that wrote a file. It is
 * PYTORCH_ALLOC_CONF for 2.9 and later releases, which warn that the old name is deprecated.
 * Otherwise it is PYTORCH_CUDA_ALLOC_CONF, which every release accepts. */
const char *mv_release_conf(const mv_trace *trace);

enum { MV_RELEASE_TEXT = 48 };

/* Writes "PyTorch 2.5 to 2.7", "PyTorch 2.0", "PyTorch 2.12 or later", "torch_npu"; "" if nothing
 * is known. Returns `text`. */
const char *mv_release_text(char text[MV_RELEASE_TEXT], mv_release release);
