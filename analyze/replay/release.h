/* Which PyTorch wrote a snapshot: the releases whose files have just the keys that this one has.
 * A key that is there says "since", one that is missing where its release always writes it says
 * "before". The table in release.c names the source of each fact. */
#ifndef MV_RELEASE_H
#define MV_RELEASE_H

#include "parse/model/trace.h"

typedef enum {
    MV_WRITER_PYTORCH,
    MV_WRITER_MEMVIZ,   /* captured */
    MV_WRITER_PROFILER, /* _memory_viz made it from a torch.profiler run: no release shows */
    MV_WRITER_NPU,      /* torch_npu, which follows PyTorch's format in its own time */
    MV_WRITER_XPU       /* torch.xpu */
} mv_writer_kind;

typedef struct {
    mv_writer_kind kind;
    uint32_t first, last; /* release 2.7 is 207; first 0: any before, last 0: any since; both 0:
                           * nothing is known, or what is there contradicts itself */
} mv_release;

mv_release mv_release_of(const mv_trace *trace);

enum { MV_RELEASE_TEXT = 48 };

/* "PyTorch 2.5 to 2.7", "PyTorch 2.0", "PyTorch 2.12 or later", "torch_npu"; "" when nothing is
 * known. */
const char *mv_release_text(char text[MV_RELEASE_TEXT], mv_release release);

#endif
