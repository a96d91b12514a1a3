/* Records the marks that the program makes through memviz.h, and the ranges of CUDA graph
 * captures. */
#define MEMVIZ_CAPTURE
#include "capture/memviz.h"

#include "capture/hooks/hooks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

static void record(mv_live_event kind, const char *text, uint64_t number)
{
    mv_rec_visit visit;
    int kept = errno;

    if (mv_rec_enter(&visit)) {
        mv_rec_mark(kind, text, number);
        mv_rec_leave(&visit);
    }
    errno = kept;
}

void memviz_mark(const char *text)
{
    record(MV_LIVE_EVENT_MARK, text, 0);
}

void memviz_pause(void)
{
    record(MV_LIVE_EVENT_MARK, MV_MARK_PAUSE, 0);
}

void memviz_resume(void)
{
    record(MV_LIVE_EVENT_MARK, MV_MARK_RESUME, 0);
}

void memviz_push(const char *text)
{
    record(MV_LIVE_EVENT_PUSH, text, 0);
}

void memviz_pop(void)
{
    record(MV_LIVE_EVENT_POP, "", 0);
}

/* Returns a range number made from a stream's address. It differs from all of NVTX's range numbers,
 * which are counted from 1. */
static uint64_t range_of(const void *stream)
{
    return (uint64_t)(uintptr_t)stream | (uint64_t)1 << 63;
}

void mv_hook_graph_capture(mv_live_event event, const void *stream)
{
    static atomic_uint captures;
    char text[48] = "";

    if (event == MV_LIVE_EVENT_BEGIN)
        snprintf(text, sizeof text, "CUDA graph capture %u", atomic_fetch_add(&captures, 1) + 1);
    record(event, text, range_of(stream));
}
