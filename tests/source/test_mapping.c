/* Files that shrink while they are mapped: lost bytes must become zeros, and the reader must be
 * notified. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parse/source/mapping.h"
#include "tests/fixture/fixture_live.h"
#include "tests/fixture/fixture_program.h"

enum { PAGES = 64, PAGE = 4096 };

static const char *put_pages(void)
{
    static uint8_t bytes[PAGES * PAGE];

    memset(bytes, 7, sizeof bytes);
    return mvt_temp_file((mv_span){bytes, sizeof bytes});
}

static int open_pages(void)
{
    return open(put_pages(), O_RDWR);
}

static uint64_t sum_of(const mv_mapping *m)
{
    const volatile uint8_t *bytes = m->data;
    uint64_t sum = 0;

    for (uint64_t i = 0; i < m->bytes; i++)
        sum += bytes[i];
    return sum;
}

Test(mapping, whole_files_are_read_unchanged)
{
    int fd = open_pages();
    mv_mapping m;

    cr_assert(mv_mapping_open(fd, PAGES * PAGE, &m));
    cr_expect_eq(sum_of(&m), 7 * PAGES * PAGE);
    cr_expect_not(mv_mapping_is_torn(&m));
    mv_mapping_close(&m);
    mv_mapping_close(&m);
}

Test(mapping, lost_bytes_are_zeros)
{
    for (int kept = 0; kept < PAGES; kept += 9) {
        int fd = open_pages();
        mv_mapping m;

        cr_assert(mv_mapping_open(fd, PAGES * PAGE, &m));
        cr_assert_eq(ftruncate(fd, kept * PAGE), 0);
        cr_expect_eq(sum_of(&m), (uint64_t)7 * kept * PAGE);
        cr_expect(mv_mapping_is_torn(&m));
        mv_mapping_close(&m);
        close(fd);
    }
}

static void *sum_in_thread(void *user)
{
    static uint64_t sums[8];
    static _Atomic uint32_t next;
    uint64_t *sum = &sums[next++ % 8];

    *sum = sum_of(user);
    return sum;
}

Test(mapping, threads_may_reach_the_lost_bytes_together)
{
    int fd = open_pages();
    pthread_t threads[4];
    mv_mapping m, other;
    void *sum;

    cr_assert(mv_mapping_open(fd, PAGES * PAGE, &m) && mv_mapping_open(fd, PAGE, &other));
    cr_assert_eq(ftruncate(fd, 3 * PAGE), 0);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, sum_in_thread, &m);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &sum);
        cr_expect_eq(*(uint64_t *)sum, 7 * 3 * PAGE);
    }
    cr_expect(mv_mapping_is_torn(&m));
    cr_expect_not(mv_mapping_is_torn(&other));
    mv_mapping_close(&m);
    mv_mapping_close(&other);
}

Test(mapping, too_many_mapped_files_are_refused)
{
    int fd = open_pages();
    mv_mapping m[100];
    int open = 0;

    while (open < 100 && mv_mapping_open(fd, PAGE, &m[open]))
        open++;
    cr_expect_eq(open, 64);
    while (open > 0)
        mv_mapping_close(&m[--open]);
    cr_expect(mv_mapping_open(fd, PAGE, &m[0]));
    mv_mapping_close(&m[0]);
}

/* A fault outside all mappings must still end the program. */
Test(mapping, other_faults_keep_their_handlers)
{
    int fd = open_pages(), state;
    pid_t child = fork();

    if (child == 0) {
        mv_mapping m;
        signal(SIGBUS, SIG_DFL);
        mv_mapping_open(fd, PAGE, &m);
        mv_mapping_close(&m);
        raise(SIGBUS);
        raise(SIGBUS);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &state, 0), child);
    cr_expect(WIFSIGNALED(state) && WTERMSIG(state) == SIGBUS, "%x", (unsigned)state);
}

Test(mapping, sources_report_a_file_that_shrank)
{
    const char *path = put_pages();
    int fd = open(path, O_RDWR);
    mv_source source;
    mv_span rest;

    mvt_ok(mv_source_open(mvt_memory(), path, &source, mvt_err()));
    mvt_ok(mv_source_rest(&source, &rest, mvt_err()));
    mvt_ok(mv_source_check(&source, mvt_err()));
    cr_assert_eq(ftruncate(fd, 5 * PAGE + 100), 0);
    cr_expect_eq(mv_source_check(&source, mvt_err()), MV_IO);
    cr_expect_eq(mvt_err()->offset, 5 * PAGE + 100);
    mv_source_close(&source);
}

/* The file shrinks at several points of a container, a live file and a summary, in every kind of
 * command. */
LongTest(mapping, commands_on_a_shrunk_file_end_with_one_line)
{
    static const char *const make[] = {"$MEMVIZ convert -q $SNAPS/gpt_train.pickle f.bin",
                                       "$MEMVIZ summarize -q $SNAPS/gpt_train.pickle -o f.bin",
                                       "cat $LIVE >f.bin"};
    static const char *const commands[3][4] = {
        {"info", "peak", "dump --chunks", "view --headless --shot x.png"},
        {"ranks", "ranks", "ranks", "ranks"},
        {"info", "trace", "stats", "dump"}};
    static const int parts[] = {0, 1, 40, 77, 99};
    mvt_live *l = mvt_live_new();

    mvt_live_block(l, .addr = 0x1000, .size = 512);
    const char *live = mvt_temp_file(mvt_live_bytes(l));
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < 4 * sizeof parts / sizeof *parts; k++) {
            mvt_run r =
                mvt_sh("LIVE=%s; %s; n=$(stat -c %%s f.bin);"
                       "MEMVIZ_TEST_SHRINK=$PWD/f.bin MEMVIZ_TEST_TO=$((n * %d / 100)) "
                       "MEMVIZ_CONFINE=off ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 "
                       "LD_PRELOAD=" MV_SHRINKING
                       " $MEMVIZ %s f.bin; s=$?; echo $n $(stat -c %%s f.bin); exit $s",
                       live, make[i], parts[k / 4], commands[i][k % 4]);
            cr_expect_eq(r.status, 1, "%s at %d %%: %d: %s", commands[i][k % 4], parts[k / 4],
                         r.status, r.err);
            cr_expect(strstr(r.err, "f.bin: ") && strstr(r.err, "the file shrank"), "%s: %s %s",
                      commands[i][k % 4], r.err, r.out);
        }
}
