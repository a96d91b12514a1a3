
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/fixture/fixture_view.h"

enum { MEGABYTE = 1 << 20, BLOCKS = 12, PAGE = 4096, TMPFS = 0x01021994 };

typedef struct {
    mv_budget budget;
    mv_arena arena;
    uint64_t *block[BLOCKS];
    uint64_t count[BLOCKS]; /* how many numbers a block has */
} heap;

static uint64_t number_of(uint64_t block, uint64_t i)
{
    return (block << 48 ^ i) * 0x9e3779b97f4a7c15u;
}

/* Sizes near the limit at which blocks get separate mappings, and odd sizes above the limit. */
static void fill(heap *h)
{
    h->budget = (mv_budget){.limit = 512 * MEGABYTE};
    mv_arena_init(&h->arena, &h->budget);
    for (uint64_t b = 0; b < BLOCKS; b++) {
        h->count[b] = MV_ARENA_LARGE / 8 - 2 + b * b * b * 517 + b;
        h->block[b] = mv_push_array(&h->arena, uint64_t, h->count[b]);
        cr_assert_not_null(h->block[b]);
        for (uint64_t i = 0; i < h->count[b]; i++)
            h->block[b][i] = number_of(b, i);
    }
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

Test(spill, bytes_stay_when_memory_is_given_back)
{
    heap h;
    mv_spilled first, second;

    fill(&h);
    uint64_t before = resident_bytes();
    mv_spill_arena(&h.arena, ".", &first);
    uint64_t after = resident_bytes();
    cr_assert_eq(first.kept, 0);
    cr_assert_leq(first.filed, bytes_of(&h));
    cr_assert_geq(first.filed, bytes_of(&h) - (BLOCKS * 2 + 1) * PAGE - MV_ARENA_LARGE);
    cr_assert_lt(after + first.filed * 9 / 10, before);
    cr_assert(is_as_filled(&h));
    mv_spill_arena(&h.arena, ".", &second);
    cr_assert_eq(second.filed + second.kept, 0, "moved once");
    mv_spill_forget(&h.arena);
    cr_assert_lt(resident_bytes() + first.filed * 9 / 10, before);
    cr_assert(is_as_filled(&h));
    end(&h);
}

Test(spill, only_new_events_are_written)
{
    heap h;
    mv_spilled moved;

    fill(&h);
    mv_spill_arena(&h.arena, ".", &moved);
    char *late = mv_arena_push(&h.arena, 3 * MEGABYTE, 1);
    memset(late, 7, 3 * MEGABYTE);
    mv_spill_arena(&h.arena, ".", &moved);
    cr_assert_eq(moved.kept, 0);
    cr_assert_gt(moved.filed, 3 * MEGABYTE - 2 * PAGE);
    cr_assert_leq(moved.filed, 3 * MEGABYTE);
    for (uint32_t i = 0; i < 3 * MEGABYTE; i++)
        cr_assert_eq(late[i], 7);
    cr_assert(is_as_filled(&h));
    end(&h);
}

Test(spill, moved_blocks_can_grow_and_be_dropped)
{
    mv_arena *arena = mvt_arena_of(64 * MEGABYTE);
    mv_spilled moved;

    uint8_t *at = mv_arena_grow(arena, NULL, MEGABYTE + 5);
    uint8_t *other = mv_arena_grow(arena, NULL, MEGABYTE);
    memset(at, 3, MEGABYTE + 5);
    mv_spill_arena(arena, ".", &moved);
    cr_assert_eq(moved.kept, 0);
    at = mv_arena_grow(arena, at, 9 * MEGABYTE);
    cr_assert_not_null(at);
    for (uint32_t i = 0; i < 9 * MEGABYTE; i++)
        cr_assert_eq(at[i], i < MEGABYTE + 5 ? 3 : 0);
    memset(at, 4, 9 * MEGABYTE); /* it is ordinary memory again */
    mv_spill_forget(arena);
    cr_assert_eq(at[8 * MEGABYTE], 4);
    mv_arena_drop(arena, other);
    mv_arena_drop(arena, at);
    cr_assert_eq(arena->budget->used, 0);
}

static void stays(heap *h, const char *folder)
{
    mv_spilled moved;

    mv_spill_arena(&h->arena, folder, &moved);
    cr_assert_eq(moved.filed, 0);
    cr_assert_gt(moved.kept, MEGABYTE);
    cr_assert(is_as_filled(h));
    h->block[BLOCKS - 1][PAGE] += 0; /* the memory can still be written to */
    mv_spill_forget(&h->arena);
    cr_assert(is_as_filled(h));
}

Test(spill, without_a_folder_memory_stays)
{
    heap h;

    fill(&h);
    stays(&h, "/nonexistent/folder");
    stays(&h, "/proc");
    end(&h);
}

Test(spill, files_that_are_memory_are_not_used)
{
    struct statfs fs;
    heap h;

    if (statfs("/dev/shm", &fs) != 0 || fs.f_type != TMPFS)
        mvt_skip("no tmpfs here");
    fill(&h);
    stays(&h, "/dev/shm");
    end(&h);
}

Test(spill, limits_of_file_size_and_descriptors_do_no_harm)
{
    for (int size = 0; size < 2; size++) {
        struct rlimit limit, before;
        heap h;

        fill(&h);
        getrlimit(size ? RLIMIT_FSIZE : RLIMIT_NOFILE, &before);
        limit = (struct rlimit){size ? MEGABYTE : 3, before.rlim_max};
        cr_assert_eq(setrlimit(size ? RLIMIT_FSIZE : RLIMIT_NOFILE, &limit), 0);
        stays(&h, ".");
        end(&h);
        setrlimit(size ? RLIMIT_FSIZE : RLIMIT_NOFILE, &before);
    }
}

Test(spill, without_large_blocks_nothing_is_moved)
{
    mv_arena *arena = mvt_arena_of(MEGABYTE);
    mv_spilled moved = {1, 1};

    mv_spill_arena(arena, NULL, &moved);
    cr_assert_eq(moved.filed + moved.kept, 0);
    cr_assert_not_null(mv_arena_push(arena, 100, 1));
    mv_spill_arena(arena, NULL, &moved);
    cr_assert_eq(moved.filed + moved.kept, 0);
    mv_spill_forget(arena);
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

LongTest(spill, other_threads_may_read_during_a_move)
{
    static heap h;
    reader r = {.heap = &h};
    pthread_t threads[2];
    mv_spilled moved;

    fill(&h);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, read_on, &r), 0);
    while (atomic_load(&r.rounds) < 2)
        usleep(100);
    mv_spill_arena(&h.arena, ".", &moved);
    for (uint32_t last = atomic_load(&r.rounds); atomic_load(&r.rounds) < last + 20;)
        mv_spill_forget(&h.arena);
    atomic_store(&r.is_over, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    cr_assert_gt(moved.filed, MEGABYTE);
    cr_assert_not(atomic_load(&r.is_wrong));
    end(&h);
}

static char *frame_of(mv_view *view)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    mv_scene_print(mvt_view_frame(view), out);
    fclose(out);
    return text;
}

Test(spill, a_viewer_shows_the_same_picture)
{
    mv_view *view = mvt_view("gpt_train");
    mv_document *document = view->documents[0];
    char *before = frame_of(view), *after;

    mv_document_spill(document, 0, MV_LONG_EVENTS);
    cr_assert_eq(document->spilled.filed, 0, "too short for that");
    mv_document_spill(document, 0, 1);
    cr_assert_gt(document->devices[0].spilled.filed + document->spilled.filed, 0);
    after = frame_of(view);
    cr_assert_str_eq(before, after);
    free(before);
    free(after);
}
