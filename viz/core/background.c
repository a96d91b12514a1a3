#include "viz/core/background.h"

#include <sys/resource.h>
#include <unistd.h>

/* Gives this thread about a tenth of the CPU time of the thread that draws (sched(7)). */
enum { NICE = 10 };

void mv_background_begin(void)
{
    /* On Linux, the priority belongs to the thread. If the change is refused, only speed is
     * lost. */
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
}
