/* Preloaded into memviz, this library acts like a reader that a malicious file has taken over. As
 * soon as the process is confined and reads, it attempts every forbidden action once, and writes
 * each result to $ATTACK_LOG (scripts/attack/confined). */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "forbidden.h"

static int note = -1;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("ATTACK_LOG"), *folder = getenv("ATTACK_FOLDER");

    if (path && folder) {
        note = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        mvt_forbidden_in(folder);
    }
}

static void attack(void)
{
    int here = note, before = errno;

    if (here < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        return;
    note = -1;
    for (const mvt_forbidden *f = mvt_forbidden_acts; f->name; f++) {
        const char *how = "done";
        errno = 0;
        if (f->act() < 0)
            how = errno == EPERM || errno == EACCES ? "refused" : strerror(errno);
        dprintf(here, "%s\t%s\t%s\n", f->is_about_path ? "place" : "call", f->name, how);
    }
    close(here);
    errno = before;
}

ssize_t read(int fd, void *to, size_t bytes)
{
    static ssize_t (*real)(int, void *, size_t);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "read");
    attack();
    return real(fd, to, bytes);
}
