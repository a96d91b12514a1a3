/* Included first by scripts/check: removes Linux-only functions, so that using them is an error. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#undef O_TMPFILE
#undef O_PATH
#undef MAP_POPULATE
#undef MREMAP_MAYMOVE
#undef CPU_COUNT
#pragma GCC poison mremap memfd_create fallocate posix_fadvise pipe2 dup3 gettid
#pragma GCC poison sched_getaffinity mkostemp statx prlimit mempcpy strchrnul rawmemchr memrchr
#pragma GCC poison secure_getenv program_invocation_name program_invocation_short_name qsort_r
#pragma GCC poison copy_file_range sync_file_range vmsplice splice tee fstatfs statfs
