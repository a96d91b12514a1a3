/* Drops the rights that this process does not need once its files are known: if a file exploits an
 * error in a reader, it can do little. Still allowed: reading files, writing to open files and to
 * the places allowed here, memory, threads.
 *
 * Landlock (Linux 5.13) works on paths: it refuses starting programs, writing other files, and TCP.
 * A system call filter (seccomp) refuses processes, sockets, calls that affect other processes
 * (signals, memory, limits, priorities, System V and POSIX shared memory, queues and semaphores),
 * administrative calls, and changes of owners, attributes and modes of files by name. It is a deny
 * list, because libraries make calls outside our control: other calls are allowed. A refused call
 * returns EACCES or EPERM. If the kernel has neither, or a supervisor refuses them, nothing is
 * confined. */
#ifndef MV_CONFINE_H
#define MV_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

enum { MV_CONFINE_PLACES = 8 };

typedef struct {
    uint32_t count;
    struct {
        int fd;
        uint64_t rights;
    } place[MV_CONFINE_PLACES];
    bool writes_anywhere; /* files may be written everywhere: the paths come from a script */
} mv_confinement;

/* Allows a file to be written by mv_sink, which needs its folder and subfolders. Allows nothing for
 * NULL or "-". */
void mv_confine_allow_output(mv_confinement *c, const char *path);

/* Allows creating, replacing and removing files in a folder. */
void mv_confine_allow_folder(mv_confinement *c, const char *folder);

/* Allows temporary unnamed files in a folder. */
void mv_confine_allow_nameless(mv_confinement *c, const char *folder);

/* Confines this thread and the threads that it starts later, which cannot be undone. Releases
 * `c`. */
void mv_confine(mv_confinement *c);

#endif
