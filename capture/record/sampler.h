/* Requests samples of the devices' memory from the launcher, which its regular samples would miss:
 *
 *     the first memory of a device           not waited for
 *     a failed request for memory            the program waits for it, a few milliseconds
 *     the end of the process or a context    the program waits: memory is released then
 *
 * The launcher listens on the socket $MEMVIZ_SAMPLER (abstract, of this machine); it takes a sample
 * for each connection, and then hangs up. Without a launcher nothing happens. The socket belongs to
 * a thread with descriptors of its own (live/apart.h): the program does not see it, and without
 * such a thread no sample is requested. The wait is under no lock, outside of CUDA, and with all
 * signals blocked; if the launcher is stopped it ends after a second, at the end after ten. */
#ifndef MV_SAMPLER_H
#define MV_SAMPLER_H

#include "capture/record/recorder.h"

/* After a call was recorded. */
void mv_sampler_after(const mv_rec_api *call);

/* Before a call that ends a context. */
void mv_sampler_before_end(void);

/* Sends the launcher the reason for a missing recording: for a process that could not map its
 * page. */
void mv_sampler_send_status(int error);

#endif
