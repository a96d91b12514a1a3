/* The viewer with all its threads, in its own program because Criterion does not start under
 * ThreadSanitizer. Opens the given files and uses the viewer while they load, once to the end and
 * then a few times with an early close. Of a live file, a part is opened, and the rest is added
 * meanwhile.
 *
 *     view_threads FILE...
 *     view_threads --grow LIVE PART */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "view/renewal.h"

enum { WIDTH = 1000, HEIGHT = 600 };

static void wake(void *user)
{
    atomic_fetch_add((atomic_uint *)user, 1);
}

enum { PARTS = 6, ROUNDS_OF_PART = 20 };

/* The live file that is copied, part by part, to the file that is open. */
static const char *whole;

/* Returns the number of bytes of the slots that the chunk at `at` takes, and its kind; 0 at the
 * end. */
static off_t slots_at(int fd, off_t at, uint16_t *kind)
{
    off_t slot = MV_LIVE_CHUNK_BYTES;
    mv_wire_chunk head;

    *kind = MV_LIVE_NAMES; /* as the facts, names are copied first */
    if (at == 0)
        return slot;
    if (pread(fd, &head, sizeof head, at) != sizeof head ||
        memcmp(head.magic, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES) != 0)
        return 0;
    *kind = head.kind;
    return ((off_t)(sizeof head + head.stored_bytes) + slot - 1) / slot * slot;
}

static bool copy(int from, int to, off_t at, off_t end)
{
    static uint8_t bytes[MV_LIVE_CHUNK_BYTES];
    enum { HEADS = sizeof(mv_wire_chunk) + sizeof(mv_live_head) }; /* written last */

    for (; at < end; at += (off_t)sizeof bytes)
        if (pread(from, bytes, sizeof bytes, at) != sizeof bytes ||
            pwrite(to, bytes + HEADS, sizeof bytes - HEADS, at + HEADS) < 0 ||
            pwrite(to, bytes, HEADS, at) != HEADS)
            return false;
    return true;
}

/* Copies one in PARTS of the chunks with events. */
static bool copy_part(const char *path, uint32_t part)
{
    int from = open(whole, O_RDONLY), to = open(path, O_WRONLY | O_CREAT, 0600);
    off_t bytes, end = 0;
    bool is_fine = from >= 0 && to >= 0;
    uint16_t kind;

    while ((bytes = slots_at(from, end, &kind)) > 0)
        end += bytes;
    for (off_t at = 0; is_fine && at < end; at += bytes) {
        bytes = slots_at(from, at, &kind);
        if (part == (kind == MV_LIVE_EVENTS ? (uint32_t)(at * PARTS / end) : 0))
            is_fine = copy(from, to, at, at + bytes);
    }
    close(from);
    return close(to) == 0 && is_fine;
}

/* Returns true if `readers` decode no record twice. */
static bool was_read_once(mv_budget *budget, mv_live_readers *readers, const char *path)
{
    mv_live_readers *both[] = {readers, mv_live_readers_open(budget)};
    bool is_fine = both[1] != NULL;
    mv_arena arena;
    mv_trace trace;

    for (int i = 0; i < 2 && is_fine; i++) {
        mv_arena_init(&arena, budget);
        is_fine = mv_live_readers_read(both[i], path, 0, &arena, &trace);
        mv_live_readers_return(both[i], &arena);
        mv_arena_release(&arena);
    }
    is_fine = is_fine &&
              mv_live_readers_status(both[0]).records == mv_live_readers_status(both[1]).records;
    mv_live_readers_close(both[1]);
    return is_fine;
}

static void key(mv_view *view, uint32_t key, uint8_t mods)
{
    mv_view_input(view, &(mv_input){.kind = MV_INPUT_KEY, .key = key, .mods = mods});
}

static bool session(int count, char **files, uint32_t rounds, bool to_the_end)
{
    mv_budget budget = {.limit = (uint64_t)8 << 30};
    atomic_uint wakes = 0;
    mv_live_readers *readers = mv_live_readers_open(&budget);
    mv_view_opts opts = {.is_threaded = true, .wake = wake, .user = &wakes, .readers = readers};
    mv_view *view = mv_view_open(&budget, &opts);
    mv_renewal renewal = {0}; /* the files are read again and again meanwhile */
    double ms = 1;
    bool is_fine = view && readers && (!whole || (unlink(files[0]), copy_part(files[0], 0)));

    for (int i = 0; view && i < count; i++)
        mv_view_add(view, files[i]);
    for (uint32_t i = 0; view && i < rounds; i++) {
        if (whole && i % ROUNDS_OF_PART == ROUNDS_OF_PART - 1 && i / ROUNDS_OF_PART < PARTS)
            is_fine &= copy_part(files[0], i / ROUNDS_OF_PART);
        mv_renewal_begin(&renewal, view);
        view = mv_renewal_update(&renewal, view, ms);
        /* Keys, wheel and clicks that make every pane request something. */
        static const uint32_t keys[] = {'1', '2', '3', '4', '5', '6', '7', 'C', 'P', 'W', 'S', 'X'};
        float x = (float)(i * 61 % WIDTH), y = 60 + (float)(i * 37 % (HEIGHT - 100));
        key(view, keys[i % (sizeof keys / sizeof *keys)], 0);
        mv_view_input(view, &(mv_input){.kind = MV_INPUT_MOVE, .x = x, .y = y});
        mv_view_input(view, &(mv_input){.kind = MV_INPUT_WHEEL, .x = x, .y = y, .dy = 1});
        mv_view_input(
            view, &(mv_input){.kind = MV_INPUT_PRESS, .button = 1, .clicks = 1, .x = x, .y = y});
        mv_view_input(
            view, &(mv_input){.kind = MV_INPUT_RELEASE, .button = 1, .clicks = 1, .x = x, .y = y});
        if (i % 20 == 7)
            key(view, MV_KEY_PAGE_DOWN, MV_MOD_CTRL);
        if (i % 30 == 11) {
            key(view, '/', 0);
            mv_view_input(view, &(mv_input){.kind = MV_INPUT_TEXT, .text = "size>1M"});
            key(view, MV_KEY_ENTER, 0);
            key(view, MV_KEY_ESCAPE, 0);
        }
        is_fine &= !mv_view_frame(view, WIDTH, HEIGHT, ms += 16)->failed;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    /* A reading that is cut short counts as failed, so the last one is waited for. */
    while (view && to_the_end && (renewal.next || !mv_view_is_idle(view))) {
        view = mv_renewal_update(&renewal, view, ms);
        mv_view_frame(view, WIDTH, HEIGHT, ms += 16);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    if (to_the_end)
        is_fine &= mv_view_is_evaluated(view);
    mv_renewal_end(&renewal);
    mv_view_close(view);
    if (whole && to_the_end)
        is_fine &= was_read_once(&budget, readers, files[0]);
    mv_live_readers_close(readers);
    if (to_the_end)
        is_fine &= wakes > 0; /* a worker wakes up after it has stored its answer */
    return is_fine && budget.used == 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--grow") == 0) {
        whole = argv[2];
        argv += 2;
        argc -= 2;
    }
    bool is_fine = argc > 1 && session(argc - 1, argv + 1, 150, true);
    for (uint32_t i = 0; i < 6; i++)
        is_fine &= session(argc - 1, argv + 1, i * 3, false);
    if (!is_fine)
        fprintf(stderr, "view_threads: a frame failed, or memory remains\n");
    return is_fine ? 0 : 1;
}
