/* Asks the launcher for samples of the devices' memory, which its own beat would miss:
 *
 *     the first memory of a device           not waited for
 *     a call that is refused memory          the program waits for it, a few milliseconds
 *     the end, and that of a context         likewise: what is in use goes then
 *
 * The launcher listens on a socket that $MEMVIZ_SAMPLER names (abstract, of this machine); it takes
 * a sample for whoever connects, and then hangs up. Without one nothing happens. The socket is that
 * of a thread with descriptors of its own (live/apart.h): the program has none of it, and nothing
 * is asked where there can be no such thread. The wait is under no lock, outside of CUDA, and with
 * all signals blocked; with a launcher that is stopped it ends after a second, at the end after
 * ten. */
#ifndef MV_SAMPLER_H
#define MV_SAMPLER_H

#include "capture/record/recorder.h"

/* After a call was recorded. */
void mv_sampler_after(const mv_rec_api *call);

/* Before what ends a context. */
void mv_sampler_before_end(void);

/* Tells the launcher why there is no recording: for a process that could not map its page. */
void mv_sampler_tell(int error);

#endif
