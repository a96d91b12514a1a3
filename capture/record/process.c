#include "capture/record/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "capture/record/forks.h"
#include "capture/record/names.h"
#include "capture/record/overrun.h"
#include "capture/record/process_facts.h"
#include "capture/record/stack_table.h"
#include "capture/record/status.h"
#include "capture/wire_status.h"

enum {
    MOST_FILES = 10000,       /* largest number of files for one process id; each exec makes a new
                               * file */
    FIRST_SEQUENCE = 1,       /* number of the first event; 0 means "none" */
    SET_ASIDE_BYTES = 8 << 20 /* bytes reserved in the file for a confined process, enough for a
                               * million events */
};

_Alignas(MV_WIPED_BYTES) mv_wiped_page mv_wiped;
mv_process_state mv_process;

uint64_t mv_process_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- Locks ---- */

static bool take(mv_lock *lock, int how(pthread_mutex_t *))
{
    mv_signals signals = mv_signals_block();

    if (how(&lock->mutex) == 0) {
        lock->signals = signals;
        return true;
    }
    mv_signals_restore(signals);
    return false;
}

bool mv_process_lock(mv_lock *lock)
{
    return take(lock, mv_process.settings.wait_free ? pthread_mutex_trylock : pthread_mutex_lock);
}

bool mv_process_trylock(mv_lock *lock)
{
    return take(lock, pthread_mutex_trylock);
}

void mv_process_unlock(mv_lock *lock)
{
    mv_signals signals = lock->signals;

    pthread_mutex_unlock(&lock->mutex);
    mv_signals_restore(signals);
}

/* ---- Losses, and the end of recording ---- */

void mv_process_lose(mv_lost_kind what)
{
    if (atomic_fetch_add(&mv_wiped.lost[what], 1) == 0)
        mv_facts_refresh();
}

void mv_process_stop(int error)
{
    int expected = MV_RECORDING_ON;

    if (!atomic_compare_exchange_strong(&mv_wiped.state, &expected, MV_RECORDING_STOPPED))
        return;
    atomic_store(&mv_wiped.epoch, 0);
    mv_facts_stopped(error);
}

/* ---- The settings ---- */

static mv_stacks_wanted stacks_named(const char *name)
{
    static const char *const names[] = {"none", "python", "native", "all"};

    for (int i = 0; name && i < 4; i++)
        if (strcmp(name, names[i]) == 0)
            return (mv_stacks_wanted)i;
    return MV_STACKS_PYTHON;
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value && strcmp(value, "0") != 0;
}

/* Returns the path of the capture; "": no capture was requested. */
static const char *wanted_out(void)
{
    const char *out = getenv("MEMVIZ_OUT");
    return out && *out == '/' && strlen(out) < PATH_MAX ? out : "";
}

/* Returns the number of the launcher's seccomp filters; UINT32_MAX: any number is allowed. */
static uint32_t allowed_filters(void)
{
    const char *filters = getenv("MEMVIZ_FILTERS");
    return filters ? (uint32_t)strtoul(filters, NULL, 10) : UINT32_MAX;
}

/* Returns a limit for bounded recordings, in which space reserved in advance counts too. */
static uint64_t wanted_window(void)
{
    const char *window = getenv("MEMVIZ_WINDOW");
    uint64_t bytes = window ? strtoull(window, NULL, 10) : 0;
    return bytes & ~(uint64_t)(MV_LIVE_CHUNK_BYTES - 1);
}

static void read_settings(mv_capture_settings *settings)
{
    const char *out = wanted_out(), *sampler = getenv("MEMVIZ_SAMPLER");

    memset(settings, 0, sizeof *settings);
    memcpy(settings->out, out, strlen(out));
    if (sampler && strlen(sampler) < sizeof settings->sampler)
        memcpy(settings->sampler, sampler, strlen(sampler));
    settings->stacks = stacks_named(getenv("MEMVIZ_STACKS"));
    settings->cpu = is_set("MEMVIZ_CPU");
    settings->wait_free = is_set("MEMVIZ_WAIT_FREE");
    settings->window = wanted_window();
    settings->filters = allowed_filters();
}

/* ---- Forks, and the end of the process ---- */

/* Called in a forked child: wipes the page, unless the kernel has already done so. */
static void forked(void)
{
    memset(&mv_wiped, 0, sizeof mv_wiped);
    mv_thread_forked();
    mv_names_forked();
    mv_live_file_forget(&mv_process.file);
}

/* Prepares the process. Called once in the life of a process image. */
static void prepare(void)
{
    if (sysconf(_SC_PAGESIZE) == MV_WIPED_BYTES)
        madvise(&mv_wiped, sizeof mv_wiped, MADV_WIPEONFORK);
    pthread_atfork(NULL, NULL, forked);
    mv_forks_watch();
    mv_status_begin(getenv("MEMVIZ_STATUS"), false);
    mv_process.has_thread_end = pthread_key_create(&mv_process.thread_end, mv_thread_end) == 0;
}

/* Forgets the parent's ids and chunks, which have no meaning in the child's file. */
static void forget_parent(void)
{
    mv_names_forget();
    mv_stack_table_forget();
    mv_facts_forget();
    atomic_store(&mv_process.sequence, FIRST_SEQUENCE);
}

static void ask(void)
{
    static bool prepared;

    read_settings(&mv_process.settings);
    if (!prepared)
        prepare();
    prepared = true;
    atomic_store(&mv_wiped.state, MV_RECORDING_WAITING);
}

/* Determines the first state. A filter may end the process because of an unexpected call. Therefore
 * filters are looked for first, using only calls that the loader has just made. */
static int first_state(void)
{
    if (!*wanted_out())
        return MV_RECORDING_OFF;
    return !mv_is_confined() && mv_facts_has_filter(allowed_filters()) ? MV_RECORDING_FILTERED
                                                                       : MV_RECORDING_WAITING;
}

/* Reads the settings once. If there is no environment, it is too early, because libc sets it before
 * running constructors. */
static void ask_once(void)
{
    int unasked = MV_RECORDING_UNASKED, first = environ ? first_state() : unasked;

    if (first != MV_RECORDING_WAITING) {
        atomic_compare_exchange_strong(&mv_wiped.state, &unasked, first);
        return;
    }
    if (!take(&mv_wiped.opening, pthread_mutex_lock))
        return;
    if (atomic_load(&mv_wiped.state) == MV_RECORDING_UNASKED)
        ask();
    mv_process_unlock(&mv_wiped.opening);
}

/* Reports that a filter prevents recording. Makes only system calls that the loader makes too. */
static void report_filter(void)
{
    int filtered = MV_RECORDING_FILTERED;

    if (!atomic_compare_exchange_strong(&mv_wiped.state, &filtered, MV_RECORDING_STOPPED))
        return;
    mv_status_begin(getenv("MEMVIZ_STATUS"), true);
    mv_status_opened(MV_STATUS_FILTERED);
}

/* ---- The file ---- */

/* A path under construction. If a part of the path does not fit, the path cannot be used. */
typedef struct {
    char *text;
    size_t used, room;
} path;

static void append(path *to, const char *text)
{
    for (; *text; text++)
        if (to->used < to->room)
            to->text[to->used++] = *text;
}

static void append_number(path *to, uint64_t number)
{
    char digits[21] = "";
    size_t at = sizeof digits - 1;

    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    append(to, digits + at);
}

/* Appends a rank or a host name, which are untrusted, as part of a file name. */
static void append_word(path *to, const char *word)
{
    char one[2] = "";

    for (; *word; word++) {
        one[0] = *word == '/' ? '_' : *word;
        append(to, one);
    }
}

static void append_rank(path *to)
{
    const char *rank = mv_facts_rank();
    append_word(to, rank && *rank ? rank : "0");
}

static void append_host(path *to)
{
    struct utsname host;
    append_word(to, uname(&host) == 0 ? host.nodename : "host");
}

/* Appends a template, with %p, %r, %h and %% replaced. */
static void append_template(path *to, const char *template)
{
    char one[2] = "";

    for (; *template; template ++) {
        one[0] = *template;
        if (*template != '%' || !strchr("prh%", template[1]) || !template[1]) {
            append(to, one);
            continue;
        }
        template ++;
        if (*template == 'p')
            append_number(to, (uint64_t)getpid());
        else if (*template == 'r')
            append_rank(to);
        else if (*template == 'h')
            append_host(to);
        else
            append(to, "%");
    }
}

/* Opens the file <template>.<pid>[.N].live, where N counts the process images of one process id. */
static int open_file(mv_live_file *file)
{
    int error = EEXIST;

    for (uint64_t n = 0; error == EEXIST && n < MOST_FILES; n++) {
        path name = {.text = file->path, .room = sizeof file->path - 1};
        append_template(&name, mv_process.settings.out);
        append(&name, ".");
        append_number(&name, (uint64_t)getpid());
        if (n) {
            append(&name, ".");
            append_number(&name, n);
        }
        append(&name, ".live");
        if (name.used == name.room)
            return ENAMETOOLONG;
        file->path[name.used] = 0;
        file->most_step = mv_process.settings.window;
        file->room = mv_process.settings.window ? mv_overrun_room : NULL;
        error = mv_live_file_open(file);
    }
    return error;
}

/* Opens the file. Returns 0, an errno number, or MV_STATUS_FILTERED. */
static int open_first(void **first)
{
    int error;

    if (mv_is_confined() || mv_facts_has_filter(mv_process.settings.filters))
        return MV_STATUS_FILTERED;
    error = open_file(&mv_process.file);
    return error ? error : mv_live_file_take(&mv_process.file, MV_LIVE_CHUNK_BYTES, first);
}

/* Opens the recording. The caller must hold the `opening` lock. */
static void open_now(void)
{
    void *first;
    int error;

    forget_parent();
    error = open_first(&first);
    mv_status_opened(error);
    if (error) {
        mv_live_file_forget(&mv_process.file);
        atomic_store(&mv_wiped.state, MV_RECORDING_STOPPED);
        return;
    }
    mv_overrun_begin();
    mv_facts_begin(first);
    mv_names_lock(); /* no thread can add a name before the first name, "" */
    atomic_store(&mv_wiped.epoch, ++mv_process.last_epoch);
    atomic_store(&mv_wiped.state, MV_RECORDING_ON);
    mv_names_begin();
    mv_names_unlock();
}

/* Prepares the collection of stacks. This takes the loader's lock, so the caller must not hold a
 * lock of the shim. */
static void start_stacks(void)
{
    static atomic_flag started = ATOMIC_FLAG_INIT;

    if (mv_process.settings.stacks == MV_STACKS_NONE)
        return;
    if (!atomic_flag_test_and_set(&started))
        mv_native_start();
    mv_stack_table_start();
}

bool mv_process_start(void)
{
    int state = atomic_load(&mv_wiped.state);

    if (state == MV_RECORDING_UNASKED) {
        ask_once();
        state = atomic_load(&mv_wiped.state);
    }
    if (state == MV_RECORDING_FILTERED)
        report_filter();
    if (state != MV_RECORDING_WAITING)
        return state == MV_RECORDING_ON;
    start_stacks();
    if (!mv_process_lock(&mv_wiped.opening)) {
        mv_process_lose(MV_LOST_OPENING);
        return false;
    }
    if (atomic_load(&mv_wiped.state) == MV_RECORDING_WAITING)
        open_now();
    mv_process_unlock(&mv_wiped.opening);
    return atomic_load(&mv_wiped.state) == MV_RECORDING_ON;
}

/* ---- Filters on system calls ---- */

bool mv_process_confine(bool is_strict)
{
    if (mv_is_confined())
        return false;
    if (is_strict)
        mv_process_stop(EPERM);
    if (mv_process_epoch() && mv_process_lock(&mv_wiped.opening)) {
        mv_live_file_set_aside(&mv_process.file, SET_ASIDE_BYTES);
        mv_process_unlock(&mv_wiped.opening);
        mv_confined_prepare();
        mv_module_at(0); /* reads the list of modules */
    }
    atomic_store(&mv_confined_now, true);
    return true;
}

void mv_process_unconfine(void)
{
    atomic_store(&mv_confined_now, false);
}

__attribute__((constructor)) static void loaded(void)
{
    int kept = errno;

    ask_once();
    if (atomic_load(&mv_wiped.state) == MV_RECORDING_WAITING)
        mv_loader_begin();
    errno = kept;
}

/* Ends the recording when the process ends. Nothing is unmapped or closed, because destructors that
 * run later still free memory. */
__attribute__((destructor)) static void ended(void)
{
    int kept = errno;

    if (mv_process_epoch()) {
        mv_rec_end();
        mv_facts_end();
    }
    errno = kept;
}
