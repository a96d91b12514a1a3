/* The marks of memviz.h, set by the program itself. */
#define MEMVIZ_CAPTURE
#include "capture/memviz.h"

#include "capture/record/recorder.h"

#include <errno.h>

static void record(mv_live_event kind, const char *text)
{
    mv_rec_visit visit;
    int kept = errno;

    if (mv_rec_enter(&visit)) {
        mv_rec_mark(kind, text, 0);
        mv_rec_leave(&visit);
    }
    errno = kept;
}

void memviz_mark(const char *text)
{
    record(MV_LIVE_EVENT_MARK, text);
}

void memviz_pause(void)
{
    record(MV_LIVE_EVENT_MARK, MV_MARK_PAUSE);
}

void memviz_resume(void)
{
    record(MV_LIVE_EVENT_MARK, MV_MARK_RESUME);
}

void memviz_push(const char *text)
{
    record(MV_LIVE_EVENT_PUSH, text);
}

void memviz_pop(void)
{
    record(MV_LIVE_EVENT_POP, "");
}
