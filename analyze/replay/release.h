/* The releases of PyTorch that may have written a snapshot: those whose files have exactly its
 * keys. A key that is present means "since"; a key that is missing although its release always
 * writes it means "before". The table in release.c names the source of each fact. */
#ifndef MV_RELEASE_H
#define MV_RELEASE_H

#include "parse/model/trace.h"

typedef enum {
    MV_WRITER_PYTORCH,
    MV_WRITER_MEMVIZ,   /* captured */
    MV_WRITER_PROFILER, /* made by _memory_viz from a torch.profiler run: the release is unknown */
    MV_WRITER_NPU,      /* torch_npu, which adopts PyTorch's format at its own pace */
    MV_WRITER_XPU,      /* torch.xpu */
    MV_WRITER_OTHER     /* another tool (analyze/events/recorder.h) */
} mv_writer_kind;

typedef struct {
    mv_writer_kind kind;
    uint32_t first, last; /* release 2.7 is 207; first 0: no lower bound, last 0: no upper bound;
                           * both 0: unknown, or the keys contradict each other */
} mv_release;

mv_release mv_release_of(const mv_trace *trace);

/* The variable that sets the allocator of the release that wrote a file. PYTORCH_ALLOC_CONF if that
 * is 2.9 or later, which warns that the old name is deprecated; PYTORCH_CUDA_ALLOC_CONF, which
 * every release accepts, if it may be earlier. */
const char *mv_release_conf(const mv_trace *trace);

enum { MV_RELEASE_TEXT = 48 };

/* "PyTorch 2.5 to 2.7", "PyTorch 2.0", "PyTorch 2.12 or later", "torch_npu"; "" if nothing
 * is known. */
const char *mv_release_text(char text[MV_RELEASE_TEXT], mv_release release);

#endif
