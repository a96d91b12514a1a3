/* The crash matrix: programs that record and then end in every possible way. However a program
 * ends, each event whose call returned must be in a file, no reference in a file may point to a
 * missing row, and the program's output must be the same as without the recorder. */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_program.h"
#include "tests/fixture/live_decode.h"
#include "tests/programs/victim_events.h"

typedef struct {
    const char *mode;
    uint32_t threads;
    uint64_t events;
    const char *out;          /* MEMVIZ_OUT, relative to the program's folder; NULL: "live" */
    bool is_plain, waits_not; /* not recorded; the value of MEMVIZ_WAIT_FREE */
    unsigned small_mb;        /* size of a separate file system for the live file; 0: none */
    void (*prepare)(void);    /* run in the victim's folder before its exec */
    unsigned kill_after_us;   /* the signal that ends the program; 0: it ends without one */
} victim_opts;

typedef struct {
    const char *folder, *live; /* the folder with the program's live files */
    victim_acks *acks;
    int status;
    char out[4096];
} victim;

static void become_victim(const victim *v, const victim_opts *opts)
{
    const char *threads = mvt_format("%u", opts->threads);
    const char *events = mvt_format("%llu", (unsigned long long)opts->events);

    setenv("VICTIM_ACKS", mvt_format("%s/acks", v->folder), 1);
    unsetenv("RANK");
    if (!opts->is_plain)
        setenv("MEMVIZ_OUT", mvt_format("%s/%s", v->live, opts->out ? opts->out : "live"), 1);
    if (opts->waits_not)
        setenv("MEMVIZ_WAIT_FREE", "1", 1);
    int out = chdir(v->folder) == 0 ? open("out", O_WRONLY | O_CREAT, 0600) : -1;
    if (out < 0 || dup2(out, STDOUT_FILENO) < 0)
        _exit(125);
    close(out);
    if (opts->prepare)
        opts->prepare();
    execl(MV_VICTIM_EVENTS, MV_VICTIM_EVENTS, opts->mode, threads, events, "0", (char *)NULL);
    _exit(126);
}

static void read_out(victim *v)
{
    FILE *file = fopen(mvt_format("%s/out", v->folder),
                       "a+"); /* a program that is killed early has made no file */
    cr_assert_not_null(file);
    v->out[fread(v->out, 1, sizeof v->out - 1, file)] = 0;
    fclose(file);
}

static void unmount(void *what)
{
    umount(what);
}

static victim run(victim_opts opts)
{
    victim v = {.folder = mvt_temp_folder()};
    int fd = open(mvt_format("%s/acks", v.folder), O_RDWR | O_CREAT, 0600);

    cr_assert(fd >= 0 && ftruncate(fd, sizeof *v.acks) == 0);
    v.acks = mmap(NULL, sizeof *v.acks, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert(v.acks != MAP_FAILED);
    close(fd);
    v.live = mvt_format("%s/live", v.folder);
    cr_assert_eq(mkdir(v.live, 0700), 0);
    if (opts.small_mb) {
        const char *size = mvt_format("size=%um", opts.small_mb);
        cr_assert_eq(mount("small", v.live, "tmpfs", 0, size), 0);
        mvt_at_end(unmount, (void *)v.live);
    }
    pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0)
        become_victim(&v, &opts);
    if (opts.kill_after_us) {
        usleep(opts.kill_after_us);
        kill(child, SIGKILL);
    }
    cr_assert_eq(waitpid(child, &v.status, 0), child);
    read_out(&v);
    return v;
}

/* ---- the required contents of the files ---- */

typedef struct {
    uint64_t next[VICTIM_SLOTS]; /* number of events found */
    size_t files, stopped, ended, commands;
    uint64_t gaps; /* number of sequence numbers without an event */
    uint64_t lost_stacks, lost_space;
    size_t event_bytes;
} found;

static uint64_t number_in(const live_decoded *d, const char *key)
{
    const char *value = live_decode_fact(d, key);
    return value ? strtoull(value, NULL, 10) : 0;
}

static void expect_stack(const live_decoded *d, const live_event *e, uint32_t stack)
{
    char want[1024] = "", got[1024];
    size_t used = 0;

    for (uint32_t i = 0; stack && i < victim_depth(stack); i++)
        used += (size_t)snprintf(want + used, sizeof want - used, "%sf%u:%u", i ? ";" : "",
                                 victim_code(stack, i), victim_offset(stack, i));
    live_decode_stack(d, e->stack, got, sizeof got);
    cr_assert_str_eq(got, want);
}

static size_t count_of(const live_decoded *d, mv_live_event kind)
{
    size_t count = 0;

    for (size_t i = 0; i < d->event_count; i++)
        count += d->events[i].kind == kind;
    return count;
}

static size_t count_in(const mv_trace *trace, mv_action action)
{
    size_t count = 0;

    for (uint32_t device = 0; device < trace->device_count; device++)
        for (uint32_t i = 0; i < trace->devices[device].events.count; i++)
            count += trace->devices[device].events.action[i] == action;
    return count;
}

/* Every command must read the same contents as the slow reader. */
static void expect_readable(const live_decoded *d, const char *path)
{
    mv_trace trace;

    if (!d->event_count)
        return;
    mvt_ok(mv_trace_read(mvt_memory(), path, NULL, &trace, mvt_err()));
    cr_assert_eq(count_in(&trace, MV_ACTION_ALLOC), count_of(d, MV_LIVE_EVENT_BLOCK));
    cr_assert_eq(count_in(&trace, MV_ACTION_FREE_COMPLETED), count_of(d, MV_LIVE_EVENT_FREE));
}

static found look(const victim *v)
{
    struct dirent *entry;
    found f = {0};
    DIR *dir = opendir(v->live);

    cr_assert_not_null(dir);
    while ((entry = readdir(dir))) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 5, ".live") != 0)
            continue;
        const char *path = mvt_format("%s/%s", v->live, entry->d_name);
        live_decoded d;
        live_decode(path, &d);
        cr_assert_str_empty(d.fault, "%s: %s", path, d.fault);
        f.files++;
        f.stopped += live_decode_fact(&d, "stopped") != NULL;
        f.ended += live_decode_fact(&d, "end_us") != NULL;
        f.commands += live_decode_fact(&d, "command") != NULL;
        f.lost_stacks += number_in(&d, "lost_stacks");
        f.lost_space += number_in(&d, "lost_space");
        for (size_t i = 0; i < d.event_count; i++) {
            const live_event *e = &d.events[i];
            uint64_t slot = (e->addr >> VICTIM_SLOT_BITS) - 1;
            cr_assert_lt(slot, VICTIM_SLOTS);
            victim_event want = victim_event_of((uint32_t)slot, f.next[slot]++);
            cr_assert_eq(e->kind, want.is_free ? MV_LIVE_EVENT_FREE : MV_LIVE_EVENT_BLOCK);
            cr_assert_eq(e->addr, want.addr);
            cr_assert_eq(e->size, want.size);
            cr_assert_eq(e->device_type, 1);
            cr_assert_eq(e->device, (int64_t)slot % 2);
            if (!(e->stack == 0 && f.lost_stacks))
                expect_stack(&d, e, want.stack);
        }
        uint64_t last = d.event_count ? d.events[d.event_count - 1].sequence : 0;
        f.gaps += last - d.event_count;
        f.event_bytes += d.event_bytes;
        expect_readable(&d, path);
        live_decode_drop(&d);
    }
    closedir(dir);
    return f;
}

/* A recorded program must end and print like an unrecorded one; then its files are checked. */
static victim run_beside_plain(victim_opts opts)
{
    victim v = run(opts);

    opts.is_plain = true;
    victim plain = run(opts);
    cr_assert_eq(v.status, plain.status, "status %d instead of %d", v.status, plain.status);
    cr_assert_str_eq(v.out, plain.out);
    cr_assert_eq(look(&plain).files, 0);
    for (int slot = 0; slot < VICTIM_SLOTS; slot++)
        cr_assert_eq(v.acks->done[slot], plain.acks->done[slot]);
    return v;
}

static void expect_mode(const char *mode, size_t files)
{
    victim v = run_beside_plain((victim_opts){.mode = mode, .threads = 3, .events = 5000});
    found f = look(&v);

    /* All events must be there, and no others. */
    for (int slot = 0; slot < VICTIM_SLOTS; slot++)
        cr_assert_eq(f.next[slot], v.acks->done[slot], "slot %d: %llu of %llu events", slot,
                     (unsigned long long)f.next[slot], (unsigned long long)v.acks->done[slot]);
    cr_assert_eq(f.gaps, 0);
    cr_assert_eq(f.files, files, "%zu files", f.files);
    cr_assert_eq(f.commands, files, "facts that are read from files of the kernel");
    cr_assert_eq(f.stopped, 0);
}

Test(recorder, launches_and_waits_are_counted)
{
    static const uint64_t launches[] = {0, 1, 1, 1, 1, 2}, waits[] = {0, 1, 1, 1, 3, 4};
    victim v = run((victim_opts){.mode = "clock"});
    mvt_run listed = mvt_sh("ls -d %s/*.live", v.live);
    mv_trace trace;

    listed.out[strcspn(listed.out, "\n")] = 0;
    mvt_ok(mv_trace_read(mvt_memory(), listed.out, NULL, &trace, mvt_err()));
    cr_assert_eq(trace.api_calls.count, 6);
    for (int i = 0; i < 6; i++) {
        cr_expect_eq(trace.api_calls.launches[i], launches[i], "%d", i);
        cr_expect_eq(trace.api_calls.waits[i], waits[i], "%d: %llu", i,
                     (unsigned long long)trace.api_calls.waits[i]);
    }
}

/* ---- Ends ---- */

Test(recorder, a_program_that_exits_has_every_event)
{
    expect_mode("exit", 1);
    expect_mode("atexit", 1);
}

Test(recorder, the_end_is_recorded_as_a_fact)
{
    victim v = run((victim_opts){.mode = "exit", .threads = 1, .events = 10});

    cr_assert_eq(look(&v).ended, 1);
    v = run((victim_opts){.mode = "_exit", .threads = 1, .events = 10});
    cr_assert_eq(look(&v).ended, 0);
}

Test(recorder, a_program_that_ends_at_once_has_every_event)
{
    expect_mode("_exit", 1);
    expect_mode("abort", 1);
}

LongTest(recorder, exec_makes_another_file)
{
    expect_mode("exec", 2);
}

LongTest(recorder, child_has_its_own_file)
{
    expect_mode("fork", 2);
    expect_mode("forks", 3);
    expect_mode("clone", 2);
}

LongTest(recorder, child_that_becomes_a_program_has_its_own_file)
{
    expect_mode("fork_exec", 2);
    expect_mode("vfork", 2);
    expect_mode("spawn", 2);
}

Test(recorder, program_that_closes_everything_keeps_its_files)
{
    expect_mode("close", 1);
}

LongTest(recorder, threads_that_end_leave_their_chunks_to_others)
{
    expect_mode("short", 1);
    expect_mode("many", 1);
}

Test(recorder, thousands_of_threads_fill_few_chunks)
{
    victim v = run((victim_opts){.mode = "many", .threads = 3, .events = 5000});
    live_decoded d;

    cr_assert_eq(system(mvt_format("mv %s/*.live %s/one", v.live, v.live)), 0);
    live_decode(mvt_format("%s/one", v.live), &d);
    cr_assert_str_empty(d.fault, "%s", d.fault);
    cr_assert_eq(d.event_count, 3 * 5000 + 8 * VICTIM_WAVES * VICTIM_FEW);
    /* The events of one short thread belong to one thread, and those of the next thread to
     * another. */
    uint32_t threads[VICTIM_SLOTS] = {0};
    uint64_t seen[VICTIM_SLOTS] = {0};
    for (size_t i = 0; i < d.event_count; i++) {
        uint64_t slot = (d.events[i].addr >> VICTIM_SLOT_BITS) - 1;
        bool is_first = slot < 20 ? seen[slot] == 0 : seen[slot] % VICTIM_FEW == 0;
        cr_assert_eq(d.events[i].thread != threads[slot], is_first, "event %zu", i);
        threads[slot] = d.events[i].thread;
        seen[slot]++;
    }
    cr_assert_leq(d.event_chunks, 8 + d.event_bytes / MV_LIVE_CHUNK_BYTES + 1, "%zu chunks",
                  d.event_chunks);
    live_decode_drop(&d);
}

Test(recorder, nothing_happens_without_an_event)
{
    victim v = run((victim_opts){.mode = "exit", .threads = 0, .events = 1});

    cr_assert_eq(look(&v).files, 0);
}

LongTest(recorder, a_program_killed_at_any_moment_has_every_event)
{
    for (unsigned i = 0; i < 200; i++) {
        /* Killed at any time: for each thread, at most its current event is missing, or is there
         * although its call has not returned. */
        unsigned us = 1 + i * i % 9973;
        bool waits_not = i % 4 == 3;
        enum { THREADS = 4 };
        victim v = run((victim_opts){.mode = waits_not ? "warm" : "exit",
                                     .threads = THREADS,
                                     .waits_not = waits_not,
                                     .kill_after_us = us});
        found f = look(&v);
        cr_assert_eq(v.status, SIGKILL);
        for (int slot = 0; slot < THREADS; slot++) {
            uint64_t done = v.acks->done[slot];
            cr_assert(f.next[slot] == done || f.next[slot] == done + 1,
                      "slot %d: %llu of %llu events, killed after %u us", slot,
                      (unsigned long long)f.next[slot], (unsigned long long)done, us);
        }
        cr_assert_leq(f.gaps, THREADS);
        mvt_end_now(v.folder);
    }
}

/* ---- Limits ---- */

static void limit(int which, rlim_t most)
{
    struct rlimit l = {most, most};
    if (setrlimit(which, &l) != 0)
        _exit(124);
}

static void limit_file_size(void)
{
    limit(RLIMIT_FSIZE, (8 << 20) + (200 << 10));
}

static void limit_file_size_below_a_chunk(void)
{
    limit(RLIMIT_FSIZE, 20 << 10);
}

static void limit_memory(void)
{
    limit(RLIMIT_AS, 96 << 20);
}

/* The recording stops, and what was written is complete. The program does not notice. */
static void expect_stopped(victim_opts opts, const char *why)
{
    victim v = run_beside_plain(opts);
    found f = look(&v);
    uint64_t recorded = 0, done = 0;

    cr_assert_eq(f.files, 1);
    cr_assert_eq(f.stopped, 1, "%s", why);
    for (int slot = 0; slot < VICTIM_SLOTS; slot++) {
        cr_assert_leq(f.next[slot], v.acks->done[slot]);
        recorded += f.next[slot];
        done += v.acks->done[slot];
    }
    cr_assert_gt(recorded, 1000);
    cr_assert_lt(recorded, done);
    cr_assert_leq(f.gaps, opts.threads);
}

static void expect_nothing(victim_opts opts)
{
    victim v = run_beside_plain(opts);

    cr_assert_eq(look(&v).event_bytes, 0);
}

/* Mounts a separate file system for this test. Returns false if the machine does not allow it. */
static bool can_mount(void)
{
    return (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

LongTest(recorder, full_file_system_stops_the_recording)
{
    victim_opts opts = {.mode = "exit", .threads = 2, .events = 300000, .small_mb = 2};

    if (!can_mount())
        mvt_skip("nothing can be mounted here");
    expect_stopped(opts, "a step of 8 MB does not fit, but chunks do until it is full");
    opts.small_mb = 10;
    opts.events = 2000000;
    expect_stopped(opts, "a step fits");
}

/* A thread that starts when there is no memory left is counted, but not recorded. */
Test(recorder, no_memory_for_a_thread_is_counted)
{
    victim v = run_beside_plain(
        (victim_opts){.mode = "no_memory", .threads = 2, .events = 5000, .prepare = limit_memory});
    found f = look(&v);

    cr_assert(f.next[0] == 5000 && f.next[1] == 5000);
    cr_assert_eq(f.next[30] + f.lost_space, 5000);
    cr_assert_eq(f.gaps, 0);
}

/* The recording takes no descriptor number from the program, so no other file can get that number.
 * The program has all of its numbers. */
Test(recorder, the_program_keeps_all_descriptor_numbers)
{
    expect_mode("no_numbers", 1);
}

Test(recorder, a_file_that_cannot_be_created_does_not_exist)
{
    expect_nothing((victim_opts){.mode = "fork", .threads = 2, .events = 100, .out = "no/live"});
    expect_nothing((victim_opts){
        .mode = "exit", .threads = 2, .events = 100, .prepare = limit_file_size_below_a_chunk});
}

LongTest(recorder, limit_of_file_size_stops_the_recording)
{
    expect_stopped(
        (victim_opts){.mode = "exit", .threads = 2, .events = 1000000, .prepare = limit_file_size},
        "RLIMIT_FSIZE");
}
