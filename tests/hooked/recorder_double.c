/* Replaces the recorder. It writes each of the hooks' calls as a line to the file $HOOKED_LOG. The
 * stand-ins for CUDA write to the same file, so that the file shows the order. */
#include "capture/record/recorder.h"
#include "capture/record/stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void loaded(void)
{
    mv_loader_begin();
}

static _Thread_local bool inside;
static _Thread_local mv_open_ranges ranges;
static atomic_uint_fast64_t sequence;

mv_open_ranges *mv_rec_open_ranges(void)
{
    return &ranges;
}

static const char *const actions[] = {
#define NAME(name, number, text, ...) [number] = text,
    MV_API_ACTION_LIST(NAME)
#undef NAME
};

static const char *const kinds[] = {
#define NAME(name, number) [number] = #name,
    MV_LIVE_EVENT_LIST(NAME)
#undef NAME
};

static void say(const char *line, int length)
{
    const char *path = getenv("HOOKED_LOG");
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (file >= 0 && write(file, line, (size_t)length) != length)
        _exit(99);
    if (file >= 0)
        close(file);
}

bool mv_rec_confine(bool is_strict)
{
    (void)is_strict;
    return false;
}

void mv_rec_unconfine(void)
{
}

bool mv_rec_enter(mv_rec_visit *visit)
{
    visit->mark = 1;
    if (inside || getenv("HOOKED_OFF"))
        return false;
    inside = true;
    errno = EXDEV; /* a hook must not pass it on */
    return true;
}

void mv_rec_leave(mv_rec_visit *visit)
{
    visit->mark = 0;
    inside = false;
    errno = EXDEV;
}

void mv_rec_context_ends(void)
{
    errno = EXDEV;
}

mv_rec_moment mv_rec_now(void)
{
    say("sequence\n", 9);
    return (mv_rec_moment){atomic_fetch_add(&sequence, 1) + 1, 1};
}

void mv_rec_call(const mv_rec_api *call)
{
    const char *from = "?", *slash;
    char line[512];
    Dl_info info;

    if (dladdr(call->caller, &info) && info.dli_fname)
        from = (slash = strrchr(info.dli_fname, '/')) ? slash + 1 : info.dli_fname;
    say(line, snprintf(line, sizeof line,
                       "call %s %s addr=%" PRIx64 " size=%" PRIu64 " handle=%" PRIx64
                       " device=%d result=%d numbered=%d from=%s\n",
                       call->api, actions[call->action], call->addr, call->size, call->handle,
                       call->device, call->result, call->moment.sequence != 0, from));
}

void mv_rec_heap(const mv_rec_heap_call *call)
{
    static const char *const names[] = {
#define NAME(name, number, text) [number] = text,
        MV_HEAP_ACTION_LIST(NAME)
#undef NAME
    };
    char line[256];

    say(line,
        snprintf(line, sizeof line, "heap %s %s addr=%" PRIx64 " size=%" PRIu64 " device=%d\n",
                 call->heap ? call->heap : "?", names[call->action], call->addr, call->size,
                 call->device));
}

void mv_rec_launch(void)
{
    say("launch\n", 7);
}

void mv_rec_wait(const void *caller, mv_wait what)
{
    (void)caller;
    if (what != MV_NO_WAIT)
        say("wait\n", 5);
}

static void say_block(const char *what, const mv_rec_block_event *event)
{
    char line[256];

    say(line, snprintf(line, sizeof line,
                       "%s addr=%" PRIx64 " size=%" PRId64 " allocated=%" PRId64
                       " reserved=%" PRId64 " device=%d:%d\n",
                       what, event->addr, event->size, (int64_t)event->allocated,
                       (int64_t)event->reserved, event->device_type, event->device));
}

void mv_rec_block(const mv_rec_block_event *event)
{
    say_block("block", event);
}

void mv_rec_oom(const mv_rec_block_event *event)
{
    say_block("oom", event);
}

void mv_rec_mark(mv_live_event kind, const char *text, uint64_t number)
{
    char line[2048];

    say(line, snprintf(line, sizeof line, "mark %s %" PRIu64 " %s\n", kinds[kind], number, text));
}

bool mv_rec_wants_cpu(void)
{
    return getenv("HOOKED_CPU") != NULL;
}
