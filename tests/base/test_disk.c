#include <errno.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/grow.h"
#include "tests/fixture/fixture_test.h"

enum { MEGABYTE = 1 << 20, BLOCKS = 12, PAGE = 4096, TMPFS = 0x01021994 };

typedef struct {
    mv_disk disk;
    mv_budget budget;
    mv_arena arena;
    uint64_t *block[BLOCKS];
    uint64_t count[BLOCKS]; /* how many numbers a block has */
} heap;

static uint64_t number_of(uint64_t block, uint64_t i)
{
    return (block << 48 ^ i) * 0x9e3779b97f4a7c15u;
}

static void begin(heap *h, const char *folder, uint64_t memory, uint64_t disk)
{
    mv_disk_open(&h->disk, folder, disk);
    h->budget = (mv_budget){.limit = memory, .disk = &h->disk};
    mv_arena_init(&h->arena, &h->budget);
}

/* Sizes near the limit at which blocks get separate mappings, and odd sizes above the limit. */
static void fill_in(heap *h, const char *folder, uint64_t memory, uint64_t disk)
{
    begin(h, folder, memory, disk);
    for (uint64_t b = 0; b < BLOCKS; b++) {
        h->count[b] = MV_ARENA_LARGE / 8 - 2 + b * b * b * 517 + b;
        h->block[b] = mv_push_array(&h->arena, uint64_t, h->count[b]);
        cr_assert_not_null(h->block[b]);
        for (uint64_t i = 0; i < h->count[b]; i++)
            h->block[b][i] = number_of(b, i);
    }
}

static void fill(heap *h)
{
    fill_in(h, ".", 512 * MEGABYTE, 0);
    cr_assert_eq(h->disk.used, 0);
}

static bool is_as_filled(const heap *h)
{
    for (uint64_t b = 0; b < BLOCKS; b++)
        for (uint64_t i = 0; i < h->count[b]; i++)
            if (h->block[b][i] != number_of(b, i))
                return false;
    return true;
}

static void end(heap *h)
{
    mv_arena_release(&h->arena);
    cr_assert_eq(h->budget.used, 0);
    cr_assert_eq(h->disk.used, 0);
    mv_disk_close(&h->disk);
}

static uint64_t bytes_of(const heap *h)
{
    uint64_t bytes = 0;

    for (uint64_t b = 0; b < BLOCKS; b++)
        bytes += h->count[b] * 8;
    return bytes;
}

static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%llu %llu", &pages, &resident), 2);
    fclose(file);
    return resident * PAGE;
}

Test(disk, blocks_that_do_not_fit_go_to_disk)
{
    const uint64_t limits[] = {2 * MEGABYTE, 3 * MEGABYTE, 5 * MEGABYTE, 9 * MEGABYTE};

    for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
        heap h;
        fill_in(&h, ".", limits[i], 0);
        cr_expect(is_as_filled(&h));
        cr_expect_leq(h.budget.peak, limits[i]);
        cr_expect_gt(h.disk.used, 0);
        cr_expect_geq(h.disk.used + h.budget.used, bytes_of(&h));
        cr_expect_not(h.budget.lacked);
        end(&h);
    }
}

/* Blocks that are read in any order stay in memory, since they are smaller than tables. */
Test(disk, small_blocks_stay_in_memory_after_large_ones)
{
    heap h;

    fill_in(&h, ".", 8 * MEGABYTE, 0);
    uint64_t filed = h.disk.used, used = h.budget.used;
    for (int i = 0; i < 400; i++)
        memset(mv_arena_push(&h.arena, 2000, 1), 1, 2000);
    cr_expect_gt(filed, 0);
    cr_expect_eq(h.disk.used, filed);
    cr_expect_geq(h.budget.used, used + 700000);
    cr_expect(is_as_filled(&h));
    end(&h);
}

Test(disk, small_pushes_go_to_disk_when_memory_is_spent)
{
    uint64_t *first = NULL, **at = &first;
    heap h;

    begin(&h, ".", MEGABYTE, 0);
    for (int i = 0; i < 4000; i++) {
        *at = mv_arena_push(&h.arena, 1000, 1);
        cr_assert_not_null(*at);
        for (int k = 0; k < 125; k++)
            cr_assert_eq((*at)[k], 0);
        memset(*at + 1, i & 0xff, 992);
        at = (uint64_t **)*at;
    }
    int i = 0;
    for (uint64_t *p = first; p; p = *(uint64_t **)p, i++)
        cr_assert_eq(((uint8_t *)p)[999], i & 0xff);
    cr_expect_eq(i, 4000);
    cr_expect_leq(h.budget.peak, MEGABYTE);
    cr_expect_gt(h.disk.used, 2 * MEGABYTE);
    end(&h);
}

Test(disk, lists_grow_from_memory_to_disk)
{
    uint64_t *rows = NULL, *others = NULL;
    uint32_t count = 0, capacity = 0, other_count = 0, other_capacity = 0;
    heap h;

    begin(&h, ".", 4 * MEGABYTE, 0);
    for (uint32_t i = 0; i < 2000000; i++) {
        cr_assert(mv_append(&h.arena, rows, count, capacity, number_of(1, i)));
        cr_assert(mv_append(&h.arena, others, other_count, other_capacity, number_of(2, i)));
    }
    for (uint32_t i = 0; i < 2000000; i++)
        cr_assert(rows[i] == number_of(1, i) && others[i] == number_of(2, i));
    cr_expect_geq(h.disk.used, 32000000);
    cr_expect_leq(h.budget.peak, 4 * MEGABYTE);
    mv_arena_drop(&h.arena, rows);
    cr_expect_lt(h.disk.used, 32000000);
    end(&h);
}

/* Space is reserved before it is used, so that a full disk is not a fault. */
Test(disk, a_full_disk_is_a_refusal)
{
    heap h;

    begin(&h, ".", 4 * MEGABYTE, 8 * MEGABYTE);
    cr_assert_not_null(mv_arena_push(&h.arena, 6 * MEGABYTE, 1));
    cr_expect_eq(h.budget.used, 0);
    cr_expect_not_null(mv_arena_push(&h.arena, 3 * MEGABYTE, 1),
                       "all of the memory can be used when the disk is full");
    cr_expect_not(h.budget.lacked);
    cr_expect_null(mv_arena_push(&h.arena, 3 * MEGABYTE, 1));
    cr_expect(h.budget.lacked);
    end(&h);
}

/* Needs the right to mount file systems. */
Test(disk, a_full_file_system_is_a_refusal)
{
    const uint64_t blocks[] = {1, 3, 5, 7, 9, 11};
    const char *folder = mvt_temp_folder(), *full = mvt_format("%s/full", folder);
    int pushed = 0;
    heap h;

    if (system(mvt_format("cd %s && truncate -s 24M image && mkfs.ext4 -q image && mkdir full && "
                          "mount -o loop image full 2>/dev/null",
                          folder)) != 0)
        mvt_skip("no right to mount file systems");
    begin(&h, full, 2 * MEGABYTE, UINT64_MAX);
    for (unsigned i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        char *at = mv_arena_push(&h.arena, blocks[i] * MEGABYTE, 1);
        if (!at)
            break;
        memset(at, 1, blocks[i] * MEGABYTE);
        pushed++;
    }
    cr_expect_geq(pushed, 3);
    cr_expect_leq(pushed, 4);
    cr_expect(h.budget.lacked);
    end(&h);
    cr_expect_eq(umount(full), 0, "%d", errno);
}

static void stays(const char *folder, uint64_t disk)
{
    heap h;

    fill_in(&h, folder, 512 * MEGABYTE, disk);
    mv_arena_file(&h.arena);
    cr_expect_eq(h.disk.used, 0, "%s", folder);
    cr_expect(is_as_filled(&h));
    h.block[BLOCKS - 1][PAGE] += 0; /* the memory can still be written to */
    mv_arena_forget(&h.arena);
    cr_expect(is_as_filled(&h));
    h.budget.limit = h.budget.used + MEGABYTE;
    cr_expect_null(mv_arena_push(&h.arena, 2 * MEGABYTE, 1));
    end(&h);
}

Test(disk, without_a_folder_data_stays_in_memory)
{
    struct statfs fs;

    stays("/nonexistent/folder", 0);
    stays("/proc", 0);
    if (statfs("/dev/shm", &fs) == 0 && fs.f_type == TMPFS)
        stays("/dev/shm", 0);
}

static char *folder_of(const char *temporary)
{
    static char found[256];
    mv_disk disk;

    if (temporary)
        setenv("TMPDIR", temporary, 1);
    else
        unsetenv("TMPDIR");
    mv_disk_open(&disk, NULL, 0);
    memcpy(found, disk.folder, sizeof found);
    mv_disk_close(&disk);
    return found;
}

Test(disk, the_folder_is_tmpdir_or_var_tmp)
{
    struct statfs fs;

    cr_expect_str_eq(folder_of("."), ".");
    cr_expect_str_eq(folder_of(NULL), "/var/tmp");
    cr_expect_str_eq(folder_of(""), "/var/tmp");
    cr_expect_str_eq(folder_of("/nonexistent/folder"), "/var/tmp");
    if (statfs("/dev/shm", &fs) == 0 && fs.f_type == TMPFS)
        cr_expect_str_eq(folder_of("/dev/shm"), "/var/tmp");
}

Test(disk, a_folder_that_is_not_writable_is_not_used)
{
    const char *closed = mvt_format("%s/closed", mvt_temp_folder()), *found;

    cr_assert_eq(mkdir(closed, 0555), 0);
    if (geteuid() == 0 && seteuid(65534) != 0)
        mvt_skip("cannot become another user");
    found = folder_of(closed);
    if (geteuid() == 65534)
        cr_assert_eq(seteuid(0), 0);
    cr_expect_str_eq(found, "/var/tmp");
}

Test(disk, limits_of_file_size_and_descriptors_do_no_harm)
{
    for (int size = 0; size < 2; size++) {
        struct rlimit limit, before;
        getrlimit(size ? RLIMIT_FSIZE : RLIMIT_NOFILE, &before);
        limit = (struct rlimit){size ? MEGABYTE : 3, before.rlim_max};
        cr_assert_eq(setrlimit(size ? RLIMIT_FSIZE : RLIMIT_NOFILE, &limit), 0);
        if (size) {
            heap h;
            fill_in(&h, ".", 512 * MEGABYTE, 0);
            cr_expect_leq(h.disk.limit, MEGABYTE);
            mv_arena_file(&h.arena);
            cr_expect_leq(h.disk.used, MEGABYTE);
            cr_expect(is_as_filled(&h));
            end(&h);
        } else {
            stays(".", 0);
        }
        setrlimit(size ? RLIMIT_FSIZE : RLIMIT_NOFILE, &before);
    }
}

/* ---- moving ------------------------------------------------------------------------------ */

Test(disk, bytes_stay_when_memory_is_given_back)
{
    heap h;

    fill(&h);
    uint64_t before = resident_bytes(), used = h.budget.used;
    mv_arena_file(&h.arena);
    mv_arena_forget(&h.arena);
    uint64_t after = resident_bytes(), filed = h.disk.used;
    cr_assert_geq(filed, bytes_of(&h) - MV_ARENA_LARGE);
    cr_assert_eq(h.budget.used + filed, used);
    cr_assert_lt(after + filed * 8 / 10, before);
    cr_assert(is_as_filled(&h));
    mv_arena_file(&h.arena);
    cr_assert_eq(h.disk.used, filed, "moved once");
    mv_arena_forget(&h.arena);
    cr_assert_lt(resident_bytes() + filed * 8 / 10, before);
    h.block[BLOCKS - 1][PAGE] ^= 1; /* blocks can still be written to */
    mv_arena_forget(&h.arena);
    h.block[BLOCKS - 1][PAGE] ^= 1;
    cr_assert(is_as_filled(&h));
    end(&h);
}

Test(disk, only_new_blocks_are_moved)
{
    heap h;

    fill(&h);
    mv_arena_file(&h.arena);
    uint64_t filed = h.disk.used;
    char *late = mv_arena_push(&h.arena, 3 * MEGABYTE, 1);
    memset(late, 7, 3 * MEGABYTE);
    mv_arena_file(&h.arena);
    cr_assert_geq(h.disk.used, filed + 3 * MEGABYTE);
    cr_assert_leq(h.disk.used, filed + 3 * MEGABYTE + 2 * PAGE);
    for (uint32_t i = 0; i < 3 * MEGABYTE; i++)
        cr_assert_eq(late[i], 7);
    cr_assert(is_as_filled(&h));
    end(&h);
}

Test(disk, moved_blocks_can_grow_and_be_dropped)
{
    heap h;

    begin(&h, ".", 64 * MEGABYTE, 0);
    uint8_t *at = mv_arena_grow(&h.arena, NULL, MEGABYTE + 5);
    uint8_t *other = mv_arena_grow(&h.arena, NULL, MEGABYTE);
    memset(at, 3, MEGABYTE + 5);
    mv_arena_file(&h.arena);
    at = mv_arena_grow(&h.arena, at, 9 * MEGABYTE);
    cr_assert_not_null(at);
    for (uint32_t i = 0; i < 9 * MEGABYTE; i++)
        cr_assert_eq(at[i], i < MEGABYTE + 5 ? 3 : 0);
    memset(at, 4, 9 * MEGABYTE);
    mv_arena_forget(&h.arena);
    cr_assert_eq(at[8 * MEGABYTE], 4);
    mv_arena_drop(&h.arena, other);
    mv_arena_drop(&h.arena, at);
    cr_assert_eq(h.disk.used, 0);
    cr_assert_eq(h.budget.used, 0);
    end(&h);
}

typedef struct {
    const heap *heap;
    _Atomic bool is_over, is_wrong;
    _Atomic uint32_t rounds;
} reader;

static void *read_on(void *user)
{
    reader *r = user;

    while (!atomic_load(&r->is_over)) {
        if (!is_as_filled(r->heap))
            atomic_store(&r->is_wrong, true);
        atomic_fetch_add(&r->rounds, 1);
    }
    return NULL;
}

LongTest(disk, other_threads_may_read_during_a_move)
{
    static heap h;
    reader r = {.heap = &h};
    pthread_t threads[2];

    fill(&h);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, read_on, &r), 0);
    while (atomic_load(&r.rounds) < 2)
        usleep(100);
    mv_arena_file(&h.arena);
    for (uint32_t last = atomic_load(&r.rounds); atomic_load(&r.rounds) < last + 20;)
        mv_arena_forget(&h.arena);
    atomic_store(&r.is_over, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    cr_assert_gt(h.disk.used, MEGABYTE);
    cr_assert_not(atomic_load(&r.is_wrong));
    end(&h);
}
