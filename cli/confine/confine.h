/* Takes from this process what it does not need any more once its files are known: should a file
 * find an error in a reader, little can be done with it. What is left: reading files, writing to
 * what is open and into the places that are allowed here, memory, threads.
 *
 * Landlock (Linux 5.13) knows paths: it refuses other programs, other files to write, TCP. A filter
 * of system calls (seccomp) refuses processes, sockets, whatever reaches another process (signals,
 * memory, limits, priorities, System V's and POSIX's memory, queues and semaphores), what
 * administers a machine, and owners, attributes and modes of files by name. It is a list of what is
 * known, since libraries make calls that no one here has chosen: what is on no list is allowed. A
 * refused call returns EACCES or EPERM. Where the kernel has neither, or a supervisor refuses them,
 * nothing happens. */
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
    bool writes_anywhere; /* files may be written everywhere: a script says where */
} mv_confinement;

/* A file that is going to be written by mv_sink: into its folder, and the folders in that. Nothing
 * with NULL or "-". */
void mv_confine_allow_output(mv_confinement *c, const char *path);

/* A folder: files are made, replaced and removed in it. */
void mv_confine_allow_folder(mv_confinement *c, const char *folder);

/* A folder for temporary files that never have a name. */
void mv_confine_allow_nameless(mv_confinement *c, const char *folder);

/* For this thread and those that it starts from now on; it cannot be undone. Releases `c`. */
void mv_confine(mv_confinement *c);

#endif
