/* The served files, without a server: which files are kept and which are dropped. */
#include "cli/serve/served_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/input/folder_files.h"
#include "cli/serve/container_file.h"
#include "tests/fixture/fixture_live.h"
#include "tests/serve/fixture_server.h"

static mv_served_files *served;
static mv_served_files_answer answer; /* the last one */
static bool was_made;

static void close_served(void *files)
{
    mv_served_files_close(files);
}

/* Serves the files and folders until the test ends. */
static void serve(mv_arena *arena, const char *const *paths, uint32_t count, uint64_t most_kept)
{
    mvt_ok(mv_served_files_open(arena, paths, count, most_kept, &served, mvt_err()));
    mvt_at_end(close_served, served);
}

static mv_served_files_list look(void)
{
    mv_served_files_list list;

    mvt_ok(mv_served_files_look(served, mvt_memory(), &list, mvt_err()));
    return list;
}

/* Returns the state of a file's container after it has been made. An existing container is not made
 * again. */
static mv_served_files_state wait_for(const mv_served_files_file *file)
{
    mv_served_files_container(served, file->id, file->version, &answer);
    was_made = answer.state != MV_SERVED_FILE_MAKING;
    while (answer.state == MV_SERVED_FILE_MAKING) {
        cr_expect(answer.progress >= 0 && answer.progress <= 1);
        usleep(10000);
        mv_served_files_container(served, file->id, file->version, &answer);
    }
    if (answer.fd >= 0)
        close(answer.fd);
    return answer.state;
}

static const char *two_snapshots(void)
{
    const char *folder = mvt_serve_folder();

    mvt_in_folder(folder, "cp $SNAPS/gpt_train.pickle a; cp $SNAPS/mlp_train.pickle b");
    return folder;
}

Test(served, containers_are_kept_within_the_bound)
{
    const char *folder = two_snapshots();

    for (uint64_t most = 1; most <= 100 * MIB; most *= 100 * MIB) {
        serve(mvt_memory(), &folder, 1, most);
        mv_served_files_list list = look();
        cr_assert_eq(list.count, 2);
        for (int round = 0; round < 2; round++)
            for (int i = 0; i < 2; i++) {
                cr_expect_eq(wait_for(&list.files[i]), MV_SERVED_FILE_READY);
                cr_expect_gt(answer.bytes, 1000);
                /* With a bound of one byte, only the newest file stays. */
                cr_expect_eq(was_made, round == 1 && most > 1);
                cr_expect_eq(wait_for(&list.files[i]), MV_SERVED_FILE_READY);
                cr_expect(was_made);
            }
    }
}

Test(served, malformed_numbers_and_versions_are_refused)
{
    const char *folder = two_snapshots();

    serve(mvt_memory(), &folder, 1, MIB);
    mv_served_files_original(served, 0, 0, &answer);
    cr_expect_eq(answer.state, MV_SERVED_FILE_ABSENT, "nothing was listed yet");
    mv_served_files_list list = look();
    for (int i = 0; i < 2; i++) {
        void (*take)(mv_served_files *, uint32_t, uint64_t, mv_served_files_answer *) =
            i ? mv_served_files_original : mv_served_files_container;
        take(served, 2, list.files[0].version, &answer);
        cr_expect_eq(answer.state, MV_SERVED_FILE_ABSENT);
        take(served, UINT32_MAX, list.files[0].version, &answer);
        cr_expect_eq(answer.state, MV_SERVED_FILE_ABSENT);
        take(served, list.files[0].id, list.files[1].version, &answer);
        cr_expect_eq(answer.state, MV_SERVED_FILE_STALE);
        cr_expect_eq(answer.fd, -1);
    }
}

Test(served, a_memory_limit_is_reported_in_a_line)
{
    const char *path = mvt_snapshot("gpt_train");
    mv_arena *arena = mvt_arena_of(8 * MIB);

    serve(arena, &path, 1, MIB);
    mv_served_files_list list = look();
    cr_assert_eq(list.count, 1);
    cr_expect_eq(wait_for(&list.files[0]), MV_SERVED_FILE_FAILED);
    cr_expect_not_null(strstr(answer.why, "--max-memory"), "%s", answer.why);
}

static const mv_served_verdict *verdict_of(const mv_served_files_list *list, const char *name)
{
    const mv_served_verdict *found = NULL;

    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->files[i].name, name) == 0)
            found = &list->files[i].verdict;
    cr_assert_not_null(found, "%s is not listed", name);
    return found;
}

/* Reads the list until every file has a verdict. */
static mv_served_files_list look_until_read(void)
{
    for (;;) {
        mv_served_files_list list = look();
        uint32_t read = 0;
        for (uint32_t i = 0; i < list.count; i++)
            read += list.files[i].verdict.stage != MV_SERVED_NOT_READ;
        if (read == list.count)
            return list;
        usleep(5000);
    }
}

Test(served, verdicts_are_found_and_kept_while_containers_are_made)
{
    const char *folder = two_snapshots();

    mvt_in_folder(folder, "cp $SNAPS/leak_in_training.pickle leak; head -c 999 a >cut.pickle; "
                          "echo no >text.txt; printf x >kept.bin; chmod 0 kept.bin");
    serve(mvt_memory(), &folder, 1, MIB);
    mv_served_files_list list = look();
    cr_expect_eq(list.count, 5, "what is named as a snapshot is listed: %u", list.count);
    cr_expect_eq(verdict_of(&list, "a")->stage, MV_SERVED_NOT_READ);
    mv_served_files_find_verdicts(served);
    for (uint32_t i = 0; i < list.count; i++) /* each interrupts the current verdict */
        if (!strchr(list.files[i].name, '.'))
            cr_expect_eq(wait_for(&list.files[i]), MV_SERVED_FILE_READY);
    list = look_until_read();
    const mv_served_verdict *v = verdict_of(&list, "leak");
    cr_expect_str_eq(v->kind, "LEAK");
    cr_expect_not_null(strstr(v->text, "train.py:62 forward: 2.00 MiB a step"), "%s", v->text);
    cr_expect_gt(v->reserved, v->allocated);
    cr_expect_eq(v->bound, MV_BOUND_LEAST);
    v = verdict_of(&list, "b");
    cr_expect_eq(v->stage, MV_SERVED_READ);
    cr_expect_eq(v->problems, 0);
    cr_expect_str_eq(v->text, "no problem found");
    cr_expect_eq(v->devices, 1);
    v = verdict_of(&list, "cut.pickle");
    cr_expect_eq(v->stage, MV_SERVED_UNREADABLE);
    cr_expect_not_null(strstr(v->text, "byte 999: "), "%s", v->text);
    cr_expect_eq(verdict_of(&list, "kept.bin")->stage, MV_SERVED_UNREADABLE);
    /* The verdict must be about this version of the file. */
    mvt_in_folder(folder, "cp leak b");
    list = look();
    cr_expect_str_eq(verdict_of(&list, "leak")->kind, "LEAK");
    cr_expect_eq(verdict_of(&list, "b")->stage, MV_SERVED_NOT_READ);
    list = look_until_read();
    cr_expect_str_eq(verdict_of(&list, "b")->kind, "LEAK");
}

static void put_blocks(mvt_live *l, uint32_t blocks, const char *path)
{
    for (uint32_t i = 0; i < blocks; i++)
        mvt_live_block(l, .addr = 0x10000 + (uint64_t)i * 4096, .size = 4096);
    mvt_file_put(path, mvt_live_bytes(l));
}

/* Returns the list once the first file has a different version from `before`. */
static mv_served_files_file next_version(uint64_t before)
{
    mv_served_files_file file;

    do {
        usleep(1000);
        file = look().files[0];
    } while (file.version == before);
    return file;
}

/* A version stays while it is being read, and for some time afterwards. On a busy machine that time
 * may already be over; then the next read shows it. */
static bool stays_while_read(mvt_live *l, const char *path)
{
    mv_served_files_file file;

    for (int tries = 0; tries < 1000; tries++) {
        file = look().files[0];
        mv_served_files_container(served, file.id, file.version, &answer);
        if (answer.fd >= 0)
            close(answer.fd);
        put_blocks(l, 10, path);
        if (answer.state == MV_SERVED_FILE_MAKING && look().files[0].version == file.version)
            return true;
    }
    return false;
}

Test(served, a_live_file_has_a_version_for_each_read)
{
    const char *folder = mvt_serve_folder();
    char *path = mvt_format("%s/a.live", folder);
    mvt_live *l = mvt_live_new();

    put_blocks(l, 10, path);
    serve(mvt_memory(), &folder, 1, MIB);
    mv_served_files_file file = look().files[0];
    cr_expect(file.is_live);
    cr_expect(stays_while_read(l, path));
    file = look().files[0];
    cr_assert_eq(wait_for(&file), MV_SERVED_FILE_READY);
    put_blocks(l, 1000, path);
    mv_served_files_file next = next_version(file.version);
    cr_expect(next.is_live);
    mv_served_files_container(served, file.id, file.version, &answer);
    cr_expect_eq(answer.state, MV_SERVED_FILE_STALE);
    cr_assert_eq(wait_for(&next), MV_SERVED_FILE_READY);
    cr_expect_eq(look().files[0].version, next.version, "nothing is new");
    mvt_live_fact(l, "end_us", "9000000");
    mvt_file_put(path, mvt_live_bytes(l));
    cr_expect_not(next_version(next.version).is_live);
}

static void each_file(const char *folder, int round, uint32_t count, bool is_made)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *path = mvt_format("%s/round%d_%u", folder, round, i);
        if (!is_made)
            cr_assert_eq(unlink(path), 0);
        else
            close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
}

LongTest(served, files_take_the_rows_of_those_that_are_gone)
{
    const char *folder = mvt_serve_folder();

    serve(mvt_memory(), &folder, 1, MIB);
    mvt_in_folder(folder, "cp $SNAPS/gpt_train.pickle a");
    mv_served_files_list list = look();
    cr_assert_eq(list.count, 1);
    mv_served_files_file first = list.files[0];
    cr_expect_eq(wait_for(&first), MV_SERVED_FILE_READY);
    each_file(folder, 0, MV_SERVED_MOST, true);
    cr_expect_eq(look().left_out, 1);
    mvt_in_folder(folder, "rm a; cp $SNAPS/mlp_train.pickle b");
    each_file(folder, 0, MV_SERVED_MOST, false);
    list = look();
    cr_expect_eq(list.left_out, 0);
    cr_assert_eq(list.count, 1);
    cr_expect_str_eq(list.files[0].name, "b");
    cr_expect_eq(list.files[0].id, first.id, "the first row that is free");
    cr_expect_eq(wait_for(&list.files[0]), MV_SERVED_FILE_READY);
    cr_expect_not(was_made, "a result made from another file is not used for this one");
    mv_served_files_container(served, first.id, first.version, &answer);
    cr_expect_eq(answer.state, MV_SERVED_FILE_STALE);
}

LongTest(served, names_that_come_and_go_take_no_memory)
{
    mv_arena *arena = mvt_arena_of(64 * MIB);
    const char *folder = mvt_serve_folder();
    uint64_t used = 0;

    serve(arena, &folder, 1, MIB);
    for (int round = 0; round < 3; round++) {
        each_file(folder, round, MV_SERVED_MOST, true);
        cr_expect_eq(look().left_out, 0, "round %d", round);
        each_file(folder, round, MV_SERVED_MOST, false);
        if (round == 0)
            used = arena->budget->used;
    }
    cr_expect_eq(arena->budget->used, used);
}

LongTest(served, named_files_come_before_those_of_full_folders)
{
    const char *folder = mvt_serve_folder(), *other = mvt_serve_folder(), *paths[2] = {folder};

    each_file(folder, 0, MV_SERVED_MOST + 10, true);
    mvt_in_folder(other, "cp $SNAPS/gpt_train.pickle named");
    paths[1] = mvt_format("%s/named", other);
    serve(mvt_memory(), paths, 2, MIB);
    mv_served_files_list list = look();
    cr_expect_eq(list.left_out, 11);
    cr_assert_eq(list.count, 1);
    cr_expect_str_eq(list.files[0].name, "named");
    /* Files do not lose their rows while they are away, either. */
    mvt_in_folder(other, "mv named away");
    cr_expect_eq(look().left_out, 11);
    mvt_in_folder(other, "mv away named");
    cr_expect_eq(look().count, 1);
}

static void show_nothing(void *user, uint64_t done, uint64_t total)
{
    (void)user, (void)done, (void)total;
}

/* Makes an empty zstd frame and 4 TiB of frames that are skipped. They are a hole, which takes
 * longer to read than the test may take. Returns NULL if this is not possible here. */
static const char *hole_file(const char *folder)
{
    static const uint8_t empty[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0},
                         skipped[] = {0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff};
    const char *path = mvt_format("%s/hole", folder);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    off_t at = sizeof empty;
    bool is_made = pwrite(fd, empty, sizeof empty, 0) == sizeof empty;

    for (int i = 0; i < 1024; i++, at += (off_t)sizeof skipped + UINT32_MAX)
        is_made = is_made && pwrite(fd, skipped, sizeof skipped, at) == sizeof skipped;
    is_made = is_made && ftruncate(fd, at) == 0;
    close(fd);
    return is_made ? path : NULL;
}

Test(served, a_pipe_in_a_files_place_is_not_waited_for, .timeout = 250)
{
    const char *folder = mvt_serve_folder();
    mv_budget budget = {.limit = MIB};
    mv_container_file made;

    const char *path = mvt_format("%s/pipe", folder);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_expect_eq(mv_container_file_make(&budget, path, show_nothing, NULL, &made, mvt_err()),
                 MV_IO);
    cr_expect_str_eq(mvt_err()->detail, "not a regular file");
    cr_expect_not(mv_is_snapshot_file(&budget, path, true));
}

Test(served, a_hole_is_not_a_snapshot_and_blocks_no_client, .timeout = 250)
{
    const char *folder = mvt_serve_folder(), *path = hole_file(folder);

    if (!path)
        mvt_skip("no files of that size here");
    serve(mvt_memory(), &folder, 1, MIB);
    cr_expect_eq(look().count, 0);
    /* A client that requests the file gets the reason. */
    serve(mvt_memory(), &path, 1, MIB);
    mv_served_files_list list = look();
    cr_assert_eq(list.count, 1);
    cr_expect_eq(wait_for(&list.files[0]), MV_SERVED_FILE_FAILED);
    cr_expect(strstr(answer.why, "never written (holes)"), "%s", answer.why);
}
