/* Preloaded into memviz, this library cuts the file $MEMVIZ_TEST_SHRINK to $MEMVIZ_TEST_TO bytes
 * once it is mapped, as another process might do at the worst time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void cut(int fd)
{
    const char *name = getenv("MEMVIZ_TEST_SHRINK"), *to = getenv("MEMVIZ_TEST_TO");
    char link[64], path[4096];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0 || !name || !to)
        return;
    path[length] = 0;
    if (strcmp(path, name) == 0 && truncate(path, strtol(to, NULL, 10)) != 0)
        perror("truncate");
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    void *result = (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);

    if (result != MAP_FAILED && fd >= 0)
        cut(fd);
    return result;
}
