#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/utf8.h"

#define PATIENCE_MS 1000
#define BETWEEN_MS  100

void mv_progress_start(mv_progress *progress, const char *what, bool quiet)
{
    *progress = (mv_progress){.silent = quiet || !isatty(STDERR_FILENO)};
    snprintf(progress->what, sizeof progress->what, "%s", what);
    mv_utf8_sanitize(progress->what);
    progress->started_ms = mv_now_ms();
}

void mv_progress_show(void *user, uint64_t done, uint64_t total)
{
    mv_progress *p = user;
    int64_t now;

    if (p->silent)
        return;
    now = mv_now_ms();
    if (now - p->started_ms < PATIENCE_MS || now - p->printed_ms < BETWEEN_MS)
        return;
    p->printed_ms = now;
    p->shown = true;
    if (total > 0 && total != UINT64_MAX)
        fprintf(stderr, "\r\033[K%s: %u %%", p->what,
                (unsigned)((double)done / (double)total * 100));
    else
        fprintf(stderr, "\r\033[K%s: %llu MiB", p->what, (unsigned long long)(done >> 20));
    fflush(stderr);
}

void mv_progress_end(mv_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
