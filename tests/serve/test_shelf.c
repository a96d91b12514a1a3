/* The files that are served, without a server: what is kept, what is dropped. */
#include "cli/serve/shelf.h"

#include <unistd.h>

#include "tests/fixture/fixture.h"
#include "tests/serve/fixture_server.h"

static mv_shelf_list look(mv_shelf *shelf)
{
    mv_shelf_list list;

    mvt_ok(mv_shelf_look(shelf, mvt_memory(), &list, mvt_err()));
    return list;
}

/* The state of a file's container when it has been made; a file that was made before is not made
 * again. */
static mv_shelf_state wait_for(mv_shelf *shelf, const mv_shelf_file *file, uint64_t *bytes,
                               bool *was_made)
{
    mv_shelf_answer answer;

    mv_shelf_container(shelf, file->id, file->version, &answer);
    *was_made = answer.state != MV_SHELF_MAKING;
    for (int i = 0; i < 6000 && answer.state == MV_SHELF_MAKING; i++) {
        cr_expect(answer.progress >= 0 && answer.progress <= 1);
        usleep(10000);
        mv_shelf_container(shelf, file->id, file->version, &answer);
    }
    if (answer.fd >= 0)
        close(answer.fd);
    *bytes = answer.bytes;
    return answer.state;
}

static const char *two_snapshots(void)
{
    const char *folder = mvt_serve_folder();

    mvt_in_folder(folder, "cp $SNAPS/gpt_train.pickle a; cp $SNAPS/mlp_train.pickle b");
    return folder;
}

Test(shelf, containers_are_kept_within_the_bound)
{
    const char *folder = two_snapshots();
    bool was_made;
    uint64_t bytes;

    for (uint64_t most = 1; most <= 100 * MIB; most *= 100 * MIB) {
        mv_shelf *shelf;
        mv_shelf_list list;

        mvt_ok(mv_shelf_open(mvt_memory(), &folder, 1, most, &shelf, mvt_err()));
        list = look(shelf);
        cr_assert_eq(list.count, 2);
        for (int round = 0; round < 2; round++)
            for (int i = 0; i < 2; i++) {
                cr_expect_eq(wait_for(shelf, &list.files[i], &bytes, &was_made), MV_SHELF_READY);
                cr_expect_gt(bytes, 1000);
                /* With a bound of one byte only the newest one is there. */
                cr_expect_eq(was_made, round == 1 && most > 1);
                cr_expect_eq(wait_for(shelf, &list.files[i], &bytes, &was_made), MV_SHELF_READY);
                cr_expect(was_made);
            }
        mv_shelf_close(shelf);
    }
}

Test(shelf, numbers_and_versions_that_are_none)
{
    const char *folder = two_snapshots();
    mv_shelf_answer answer;
    mv_shelf_list list;
    mv_shelf *shelf;

    mvt_ok(mv_shelf_open(mvt_memory(), &folder, 1, MIB, &shelf, mvt_err()));
    mv_shelf_original(shelf, 0, 0, &answer);
    cr_expect_eq(answer.state, MV_SHELF_ABSENT, "nothing was listed yet");
    list = look(shelf);
    for (int i = 0; i < 2; i++) {
        void (*take)(mv_shelf *, uint32_t, uint64_t, mv_shelf_answer *) =
            i ? mv_shelf_original : mv_shelf_container;
        take(shelf, 2, list.files[0].version, &answer);
        cr_expect_eq(answer.state, MV_SHELF_ABSENT);
        take(shelf, UINT32_MAX, list.files[0].version, &answer);
        cr_expect_eq(answer.state, MV_SHELF_ABSENT);
        take(shelf, list.files[0].id, list.files[1].version, &answer);
        cr_expect_eq(answer.state, MV_SHELF_STALE);
        cr_expect_eq(answer.fd, -1);
    }
    mv_shelf_close(shelf);
}

Test(shelf, a_limit_of_memory_is_a_line)
{
    const char *path = mvt_snapshot("gpt_train");
    mv_arena *arena = mvt_arena_of(3 * MIB);
    mv_shelf_answer answer;
    mv_shelf_list list;
    mv_shelf *shelf;

    mvt_ok(mv_shelf_open(arena, &path, 1, MIB, &shelf, mvt_err()));
    list = look(shelf);
    cr_assert_eq(list.count, 1);
    do
        mv_shelf_container(shelf, 0, list.files[0].version, &answer);
    while (answer.state == MV_SHELF_MAKING);
    cr_expect_eq(answer.state, MV_SHELF_FAILED);
    cr_expect_not_null(strstr(answer.why, "--max-memory"), "%s", answer.why);
    mv_shelf_close(shelf);
}
