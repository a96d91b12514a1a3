/* The viewer with all its threads, in its own program because Criterion does not start under
 * ThreadSanitizer. Opens the given files and uses the viewer while they load, once to the end and
 * then a few times with an early close.
 *
 *     view_threads FILE... */
#include <time.h>

#include "view/renewal.h"

enum { WIDTH = 1000, HEIGHT = 600 };

static void wake(void *user)
{
    atomic_fetch_add((atomic_uint *)user, 1);
}

static void key(mv_view *view, uint32_t key, uint8_t mods)
{
    mv_view_input(view, &(mv_input){.kind = MV_INPUT_KEY, .key = key, .mods = mods});
}

static bool session(int count, char **files, uint32_t rounds, bool to_the_end)
{
    mv_budget budget = {.limit = (uint64_t)8 << 30};
    atomic_uint wakes = 0;
    mv_view_opts opts = {.is_threaded = true, .wake = wake, .user = &wakes};
    mv_view *view = mv_view_open(&budget, &opts);
    mv_renewal renewal = {0}; /* the files are read again and again meanwhile */
    double ms = 1;
    bool is_fine = view != NULL;

    for (int i = 0; view && i < count; i++)
        mv_view_add(view, files[i]);
    for (uint32_t i = 0; view && i < rounds; i++) {
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
    while (view && to_the_end && !mv_view_is_idle(view)) {
        mv_view_frame(view, WIDTH, HEIGHT, ms += 16);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    if (to_the_end)
        is_fine &= mv_view_is_evaluated(view);
    mv_renewal_end(&renewal);
    mv_view_close(view);
    if (to_the_end)
        is_fine &= wakes > 0; /* a worker wakes up after it has stored its answer */
    return is_fine && budget.used == 0;
}

int main(int argc, char **argv)
{
    bool is_fine = argc > 1 && session(argc - 1, argv + 1, 150, true);

    for (uint32_t i = 0; i < 6; i++)
        is_fine &= session(argc - 1, argv + 1, i * 3, false);
    if (!is_fine)
        fprintf(stderr, "view_threads: a frame failed, or memory remains\n");
    return is_fine ? 0 : 1;
}
