/* Drops the rights that this process does not need once its files are known, so that a file that
 * exploits a bug in a reader can do little harm. The process may still read files, write to open
 * files and to the paths allowed here, allocate memory and start threads.
 *
 * Landlock (Linux 5.13) restricts paths: it prevents the process from starting programs, writing
 * other files, and using TCP. A system call filter (seccomp) refuses to create processes and
 * sockets, and also refuses calls that affect other processes (signals, memory, limits, priorities,
 * System V and POSIX shared memory, queues and semaphores), administrative calls, and changes of
 * owners, attributes and modes of files by name. The filter is a deny list that allows all other
 * calls, because memviz does not control which calls libraries make. A refused call returns EACCES
 * or EPERM. If the kernel supports neither mechanism, or a supervisor refuses both, the process is
 * not confined. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { MV_CONFINE_PLACES = 8 };

typedef struct {
    uint32_t count;
    struct {
        int fd;
        uint64_t rights;
    } place[MV_CONFINE_PLACES];
    bool writes_anywhere; /* files may be written anywhere, because the paths come from a script */
} mv_confinement;

/* Allows mv_sink to write the file `path`, which requires rights on its directory and
 * subdirectories. Allows nothing for NULL or "-". */
void mv_confine_allow_output(mv_confinement *c, const char *path);

/* Confines this thread and the threads that it starts later. This cannot be undone. Releases
 * `c`. */
void mv_confine(mv_confinement *c);
