#include "base/processors.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/fixture/fixture_test.h"

static bool write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    if (!file)
        return false;
    bool is_written = fputs(text, file) >= 0;
    return fclose(file) == 0 && is_written;
}

/* Writes a file below the test's root folder, and creates the folders of its path. */
static void put(const char *root, const char *name, const char *text)
{
    char *path = mvt_format("%s/%s", root, name);

    for (char *slash = path + strlen(root); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0755);
        *slash = '/';
    }
    cr_assert(write_text(path, text), "%s", path);
}

Test(processors, a_group_without_limits)
{
    const char *root = mvt_temp_folder();

    cr_expect_eq(mv_group_memory(root), UINT64_MAX, "no files");
    put(root, "proc/self/cgroup", "0::/\n");
    cr_expect_eq(mv_group_memory(root), UINT64_MAX);
    put(root, "sys/fs/cgroup/memory.max", "max\n");
    cr_expect_eq(mv_group_memory(root), UINT64_MAX);
    put(root, "proc/self/cgroup", "nonsense\n\n0\n1:\n:::\n");
    cr_expect_eq(mv_group_memory(root), UINT64_MAX);
}

Test(processors, the_smallest_limit_of_a_group_and_those_around_it_counts)
{
    const char *root = mvt_temp_folder();

    put(root, "proc/self/cgroup", "0::/slurm/job_7/step_0\n");
    put(root, "sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
    put(root, "sys/fs/cgroup/slurm/job_7/memory.max", "2147483648\n");
    put(root, "sys/fs/cgroup/slurm/memory.max", "8589934592\n");
    cr_expect_eq(mv_group_memory(root), (uint64_t)2 << 30);
    put(root, "sys/fs/cgroup/slurm/job_7/step_0/memory.max", "1048576\n");
    cr_expect_eq(mv_group_memory(root), 1 << 20);
}

Test(processors, a_container_has_its_limit_at_the_root)
{
    const char *root = mvt_temp_folder();

    put(root, "proc/self/cgroup", "0::/\n");
    put(root, "sys/fs/cgroup/memory.max", "1073741824\n");
    cr_expect_eq(mv_group_memory(root), (uint64_t)1 << 30);
    put(root, "proc/self/cgroup",
        "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/docker/abc\n");
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
    cr_expect_eq(mv_group_memory(root), (uint64_t)512 << 20);
}

Test(processors, groups_of_version_1)
{
    const char *root = mvt_temp_folder();

    put(root, "proc/self/cgroup", "7:cpuset:/other\n6:hugetlb,memory:/a/b\n2:memoryless:/c\n");
    put(root, "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    put(root, "sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1\n");
    put(root, "sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1\n");
    cr_expect_eq(mv_group_memory(root), UINT64_C(9223372036854771712));
    put(root, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "67108864\n");
    cr_expect_eq(mv_group_memory(root), 64 << 20);
}

/* Needs the right to create groups. */
Test(processors, the_limit_of_a_real_group_is_found)
{
    bool is_first = access("/sys/fs/cgroup/memory", F_OK) == 0;
    const char *top = is_first ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
    uint64_t before = mv_group_memory(""), limit;

    const char *group = mvt_format("%s/memviz-test-%d", top, (int)getpid());
    if (mkdir(group, 0755) != 0)
        mvt_skip("no right to create control groups");
    const char *limit_file =
        mvt_format("%s/%s", group, is_first ? "memory.limit_in_bytes" : "memory.max");
    bool is_in = write_text(limit_file, "1099511627776") &&
                 write_text(mvt_format("%s/cgroup.procs", group), "0");
    limit = mv_group_memory("");
    if (is_in)
        write_text(mvt_format("%s/cgroup.procs", top), "0");
    rmdir(group);
    if (!is_in)
        mvt_skip("no right to limit control groups");
    cr_expect_eq(limit, (uint64_t)1 << 40);
    cr_expect_geq(before, limit);
}
