#include "capture/recorder.h"

bool mv_rec_enter(void)
{
    return false;
}

void mv_rec_leave(void)
{
}

uint64_t mv_rec_sequence(void)
{
    return 0;
}

void mv_rec_call(const mv_rec_api *call)
{
    (void)call;
}

void mv_rec_block(const mv_rec_block_event *event)
{
    (void)event;
}

void mv_rec_oom(const mv_rec_block_event *event)
{
    (void)event;
}

void mv_rec_mark(mv_live_event kind, const char *text, uint64_t number)
{
    (void)kind;
    (void)text;
    (void)number;
}

bool mv_rec_wants_cpu(void)
{
    return false;
}
