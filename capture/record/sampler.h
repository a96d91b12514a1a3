/* Requests samples of the devices' memory from the launcher at times that its regular samples would
 * miss:
 *
 *     the first memory of a device           not waited for
 *     a failed request for memory            the program waits for it, a few milliseconds
 *     the end of the process or a context    the program waits: memory is released then
 *
 * The launcher listens on the abstract socket $MEMVIZ_SAMPLER. It takes a sample for each
 * connection, and then closes the connection. Without a launcher nothing happens. The socket is
 * opened in a thread with separate descriptors (live/apart.h), so the program never encounters it;
 * if the thread cannot be created, no sample is requested. The thread waits without holding a lock,
 * outside of CUDA, and with all signals blocked. If the launcher is suspended, the wait ends after
 * a second, or after ten at the end of the process. */
#pragma once

#include "capture/record/recorder.h"

/* Called after a call was recorded. */
void mv_sampler_after(const mv_rec_api *call);

/* Called before a call that ends a context. */
void mv_sampler_before_end(void);

/* Sends the launcher the reason why a recording is missing, from a process that could not map the
 * launcher's page. */
void mv_sampler_send_status(int error);
