#include "base/processors.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/text.h"

#ifdef MV_POSIX
#include <unistd.h>

uint32_t mv_processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count > 0 ? (uint32_t)count : 1;
}
#else
#include <sched.h>

uint32_t mv_processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}
#endif

uint64_t mv_address_space(void)
{
    struct rlimit limit;
    bool is_limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;

    return is_limited ? limit.rlim_cur : UINT64_MAX;
}

/* ---- control groups ---------------------------------------------------------------------- */

enum { PATH_BYTES = 4096 };

/* Returns UINT64_MAX if the file is missing, or contains the word "max". */
static uint64_t read_limit(const char *root, const char *folder, const char *group,
                           const char *name)
{
    char path[2 * PATH_BYTES];
    unsigned long long bytes = UINT64_MAX;
    FILE *file;

    if ((size_t)snprintf(path, sizeof path, "%s/sys/fs/cgroup%s%s/%s", root, folder, group, name) >=
        sizeof path)
        return UINT64_MAX;
    file = fopen(path, "re");
    if (!file)
        return UINT64_MAX;
    if (fscanf(file, "%llu", &bytes) != 1)
        bytes = UINT64_MAX;
    fclose(file);
    return bytes;
}

/* Returns the smallest limit of a group and the groups around it. In a container, the path may be
 * the host's, of which only the last folder that exists here is the container's. */
static uint64_t least_limit(const char *root, const char *folder, char *group, const char *name)
{
    uint64_t least = UINT64_MAX, limit;
    char *slash;

    for (;;) {
        slash = strrchr(group, '/');
        if (slash && !slash[1])
            *slash = 0;
        limit = read_limit(root, folder, group, name);
        least = limit < least ? limit : least;
        slash = strrchr(group, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

uint64_t mv_group_memory(const char *root)
{
    char path[PATH_BYTES], line[PATH_BYTES];
    uint64_t least = UINT64_MAX, limit;
    FILE *file;

    if ((size_t)snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= sizeof path)
        return UINT64_MAX;
    file = fopen(path, "re");
    /* A line is "NUMBER:CONTROLLERS:PATH". In version 2, there are no controllers. */
    while (file && fgets(line, sizeof line, file)) {
        char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;
        if (!group)
            continue;
        group[strcspn(group, "\n")] = 0;
        *group++ = 0;
        limit = UINT64_MAX;
        if (!list[1])
            limit = least_limit(root, "", group, "memory.max");
        else if (mv_text_has_word(list + 1, "memory", ","))
            limit = least_limit(root, "/memory", group, "memory.limit_in_bytes");
        least = limit < least ? limit : least;
    }
    if (file)
        fclose(file);
    return least;
}
