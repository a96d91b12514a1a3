/* The actions that a confined process may or may not perform. */
#include "cli/confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parse/source/sink.h"
#include "tests/fixture/fixture.h"

#include "tests/programs/forbidden.h"

enum { MOST_ACTS = 64 };

typedef struct {
    const char *inside, *outside; /* folders; new files may be created in the first one */
    int error[MOST_ACTS];         /* the error of each action; 0: it succeeded */
    bool is_done;
} tried;

/* Returns `folder`/`name`, which is valid until the next call. */
static const char *in(const char *folder, const char *name)
{
    static char path[4200];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Runs `confined` in a separate process, with its output in `t`. */
static void in_child(tried *t, void (*confined)(tried *t))
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        confined(t);
        t->is_done = true;
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && t->is_done, "status %x", (unsigned)status);
}

static tried *set_up(void)
{
    tried *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    t->inside = mvt_temp_folder();
    t->outside = mvt_temp_folder();
    close(open(in(t->outside, "victim"), O_WRONLY | O_CREAT, 0600));
    mvt_forbidden_in(t->outside);
    return t;
}

static void confine(const tried *t)
{
    mv_confinement c = {0};

    mv_confine_allow_output(&c, in(t->inside, "made"));
    mv_confine(&c);
}

static void try_all(tried *t)
{
    confine(t);
    for (uint32_t i = 0; mvt_forbidden_acts[i].name; i++) {
        errno = 0;
        t->error[i] = mvt_forbidden_acts[i].act() < 0 ? errno : 0;
    }
}

Test(confine, actions_that_no_report_needs_are_refused)
{
    bool has_landlock = mvt_has_landlock(), has_filter = mvt_has_filter();
    tried *t = set_up();
    uint32_t count = 0;

    in_child(t, try_all);
    for (; mvt_forbidden_acts[count].name; count++) {
        const mvt_forbidden *act = &mvt_forbidden_acts[count];
        if (act->is_about_path ? has_landlock : has_filter)
            cr_expect(t->error[count] == EPERM || t->error[count] == EACCES, "%s: %d", act->name,
                      t->error[count]);
    }
    cr_assert(count > 30 && count < MOST_ACTS);
}

static void *run(void *user)
{
    return user;
}

static void note(tried *t, uint32_t *count, bool is_fine)
{
    t->error[(*count)++] = is_fine ? 0 : errno ? errno : -1;
}

static void live_on(tried *t)
{
    mv_confinement c = {0};
    uint32_t count = 0;
    pthread_t thread;
    mv_sink sink;
    mv_err err;

    mv_confine_allow_output(&c, in(t->inside, "made"));
    mv_confine_allow_output(&c, "/dev/null");
    mv_confine(&c);
    note(t, &count,
         pthread_create(&thread, NULL, run, NULL) == 0 && pthread_join(thread, NULL) == 0);
    for (int i = 0; i < 2; i++) { /* the second time, the file replaces the first one */
        note(t, &count, mv_sink_open(&sink, in(t->inside, "made"), &err) == MV_OK);
        mv_sink_write(&sink, "x", 1);
        note(t, &count, mv_sink_commit(&sink, &err) == MV_OK);
    }
    note(t, &count, mv_sink_open(&sink, "/dev/null", &err) == MV_OK);
    note(t, &count, mv_sink_commit(&sink, &err) == MV_OK);
    note(t, &count, memfd_create("x", MFD_CLOEXEC) >= 0);
    note(t, &count, open(in(t->outside, "victim"), O_RDONLY) >= 0);
    note(t, &count, open("/proc/self/maps", O_RDONLY) >= 0);
    note(t, &count, kill(getpid(), 0) == 0);
    note(t, &count,
         mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open("/proc/self/exe", O_RDONLY),
              0) != MAP_FAILED);
    t->error[MOST_ACTS - 1] = (int)count;
}

Test(confine, files_are_read_and_the_output_is_written)
{
    tried *t = set_up();
    struct stat st;

    in_child(t, live_on);
    cr_assert_eq(t->error[MOST_ACTS - 1], 12);
    for (int i = 0; i < 12; i++)
        cr_expect_eq(t->error[i], 0, "%d: %d", i, t->error[i]);
    cr_expect_eq(stat(in(t->inside, "made"), &st), 0);
}

static void allow_many(tried *t)
{
    mv_confinement c = {0};

    for (int i = 0; i < 2 * MV_CONFINE_PLACES; i++)
        mv_confine_allow_output(&c, in(t->inside, "made"));
    mv_confine_allow_output(&c, in(t->outside, "made"));
    mv_confine(&c);
    t->error[0] = open(in(t->outside, "made"), O_WRONLY | O_CREAT, 0600) < 0 ? errno : 0;
    t->error[1] = socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
}

Test(confine, with_too_many_places_files_are_written_everywhere)
{
    tried *t = set_up();

    in_child(t, allow_many);
    cr_expect_eq(t->error[0], 0);
    cr_expect(!mvt_has_filter() || t->error[1] == EPERM);
}
