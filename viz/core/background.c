#include "viz/core/background.h"

#include <sys/resource.h>
#include <unistd.h>

enum { NICE = 10 }; /* about a tenth of the drawing thread's share (sched(7)) */

void mv_background_begin(void)
{
    /* On Linux the priority is the thread's own. Where it is refused nothing is lost but speed. */
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
}
