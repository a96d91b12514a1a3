/* Memory that a library's own threads get for a line of the program that called the library.
 *
 *     program      all_reduce ─────────────────────────────►  matmul      train.py:165
 *     allocates      NCCL NCCL NCCL                           PyTorch
 *     NCCL's thread                 NCCL NCCL NCCL                        no line of the program
 *
 * In each step the thread's allocations come after those of one line, from the same library, and
 * before anything that another line of the program allocates: so they are charged to that line, if
 * this holds for at least nine of ten. Only for the growing memory of libraries other than
 * PyTorch's allocator, on a level of CUDA calls. */
#ifndef MV_OWN_THREADS_H
#define MV_OWN_THREADS_H

#include "analyze/leaks/leak_state.h"

/* Makes w->of_own_thread: [sites.count] 1: the site's memory is charged to the line of another
 * site, whose group it joins. Needs the leaked sites. False when memory is out. */
bool mv_own_threads_join(mv_leak_state *w);

#endif
