#define XXH_INLINE_ALL
#include "capture/record/process_facts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "capture/live/apart.h"
#include "capture/record/process.h"
#include "capture/record/thread_state.h"
#include "capture/wire_leb128.h"

enum {
    MOST_FACT = 16 << 10, /* largest number of bytes in a value; longer values are cut */
    FOR_THE_END = 4 << 10 /* number of bytes reserved for the last facts */
};

static struct {
    mv_live_chunk chunk;
    uint64_t lost[MV_LOST_KINDS]; /* values of the counters when they were last written */
    bool has_python, has_why_off;
    char text[MOST_FACT]; /* the current value, which is too large for the program's stacks */
} facts;

static void put(const char *key, const char *value, size_t bytes, uint64_t keep)
{
    size_t key_bytes = strlen(key);
    uint8_t *at;

    if (bytes > MOST_FACT)
        bytes = MOST_FACT;
    at = mv_live_chunk_room(&facts.chunk, key_bytes + bytes + 2 * MV_LEB128_BYTES + keep);
    if (!at)
        return;
    at = mv_leb128_put(at, key_bytes);
    memcpy(at, key, key_bytes);
    at = mv_leb128_put(at + key_bytes, bytes);
    memcpy(at, value, bytes);
    mv_live_chunk_commit(&facts.chunk, at + bytes);
}

static void put_number(const char *key, uint64_t value, uint64_t keep)
{
    char digits[20];
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    put(key, digits + at, sizeof digits - at, keep);
}

static void put_text(const char *key, const char *value, uint64_t keep)
{
    if (value && *value)
        put(key, value, strlen(value), keep);
}

const char *mv_facts_rank(void)
{
    static const char *const ranks[] = {"RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    const char *rank = NULL;

    for (size_t i = 0; i < sizeof ranks / sizeof *ranks && !(rank && *rank); i++)
        rank = getenv(ranks[i]);
    return rank;
}

/* Writes the facts about the rank. Programs may set these variables themselves, so they are read at
 * the start and again at the end. */
static void put_rank(uint64_t keep)
{
    put_text("rank", mv_facts_rank(), keep);
    put_text("local_rank", getenv("LOCAL_RANK"), keep);
    put_text("world_size", getenv("WORLD_SIZE"), keep);
}

/* Writes the variables that number the devices of the process. If one of them is set but empty, no
 * device is visible. */
static void put_devices(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");

    if (visible)
        put("cuda_visible_devices", visible, strlen(visible), FOR_THE_END);
    put_text("cuda_device_order", getenv("CUDA_DEVICE_ORDER"), FOR_THE_END);
}

/* Writes the fact about PyTorch's cache. PyTorch reads the variable once, at its first
 * allocation. */
static void put_caching(void)
{
    const char *off = getenv("PYTORCH_NO_CUDA_MEMORY_CACHING");

    if (off && strcmp(off, "0") != 0)
        put_text("no_caching", "1", FOR_THE_END);
}

static void put_names_of_process(void)
{
    struct utsname host;
    long count;

    if (uname(&host) == 0)
        put_text("host", host.nodename, FOR_THE_END);
    count = readlink("/proc/self/exe", facts.text, sizeof facts.text - 1);
    if (count > 0)
        put("executable", facts.text, (size_t)count, FOR_THE_END);
    if (syscall(SYS_getcwd, facts.text, sizeof facts.text) > 0)
        put_text("cwd", facts.text, FOR_THE_END);
}

/* Reads the command line into facts.text. Returns the number of bytes, or -1. */
static void read_command(void *with, bool is_apart)
{
    int fd = mv_apart_open("/proc/self/cmdline", O_RDONLY, is_apart);

    *(long *)with = fd < 0 ? -1 : syscall(SYS_read, fd, facts.text, sizeof facts.text - 1);
    if (fd >= 0)
        syscall(SYS_close, fd);
}

/* Closes a descriptor in this thread, because a filter may not expect the creation of a separate
 * thread. If the descriptor's number now belongs to a different file, another thread has already
 * closed ours. */
static void close_here(int fd, const struct stat *opened)
{
    struct stat now;

    if (fstat(fd, &now) == 0 && now.st_dev == opened->st_dev && now.st_ino == opened->st_ino)
        syscall(SYS_close, fd);
}

/* Reads the status of the process in pieces, because a user can be in thousands of groups. */
bool mv_facts_has_filter(uint32_t allowed)
{
    static const char key[] = "\nSeccomp_filters:\t";
    enum { MOST_LINE = 64 };
    char text[512];
    int fd = allowed == UINT32_MAX
                 ? -1
                 : (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);
    struct stat opened = {0};
    size_t length = 0;
    const char *at = NULL;

    if (fd >= 0)
        fstat(fd, &opened);
    while (fd >= 0) {
        long count = syscall(SYS_read, fd, text + length, sizeof text - 1 - length);
        length += count > 0 ? (size_t)count : 0;
        text[length] = 0;
        at = strstr(text, key);
        if (count <= 0 || (at && strchr(at + 1, '\n')))
            break;
        if (length > MOST_LINE) {
            memmove(text, text + length - MOST_LINE, MOST_LINE);
            length = MOST_LINE;
        }
    }
    if (fd >= 0)
        close_here(fd, &opened);
    return at && strtoul(at + sizeof key - 1, NULL, 10) > allowed;
}

/* Joins the words of the command line with spaces. */
static void put_command(void)
{
    long count = -1;

    mv_apart_or_here(read_command, &count); /* signals are blocked, because the `opening` lock is
                                             * held */
    while (count > 0 && facts.text[count - 1] == 0)
        count--;
    for (long i = 0; i < count; i++)
        if (facts.text[i] == 0)
            facts.text[i] = ' ';
    if (count > 0)
        put("command", facts.text, (size_t)count, FOR_THE_END);
}

static void put_clocks(void)
{
    struct timespec real;
    uint64_t now = mv_process_now_us();

    clock_gettime(CLOCK_REALTIME, &real);
    put_number("start_us", now, FOR_THE_END);
    put_number("monotonic_us", now, FOR_THE_END);
    put_number("realtime_us", (uint64_t)real.tv_sec * 1000000 + (uint64_t)real.tv_nsec / 1000,
               FOR_THE_END);
}

static void put_settings(void)
{
    static const char *const stacks[] = {"none", "python", "native", "all"};

    put_text("stacks", stacks[mv_process.settings.stacks], FOR_THE_END);
    if (mv_process.settings.cpu)
        put_text("cpu", "1", FOR_THE_END);
    put_text("shim", MV_PROGRAM_VERSION, FOR_THE_END);
}

void mv_facts_begin(void *first_chunk)
{
    mv_wire_header header = {.magic = MV_WIRE_MAGIC, .version = MV_WIRE_VERSION};

    header.hash = XXH3_64bits(&header, offsetof(mv_wire_header, hash));
    memcpy(first_chunk, &header, sizeof header);
    mv_live_chunk_place(&facts.chunk, (uint8_t *)first_chunk + sizeof header,
                        MV_LIVE_CHUNK_BYTES - sizeof header,
                        &(mv_live_chunk_about){.kind = MV_LIVE_FACTS});
    put_number("pid", (uint64_t)getpid(), FOR_THE_END);
    put_number("parent", (uint64_t)getppid(), FOR_THE_END);
    put_clocks();
    put_settings();
    put_rank(FOR_THE_END);
    put_devices();
    put_caching();
    put_names_of_process();
    put_command();
}

static void put_lost(bool is_end)
{
    static const char *const keys[] = {
#define KEY(name, key) key,
        MV_LOST_LIST(KEY)
#undef KEY
    };

    for (int i = 0; i < MV_LOST_KINDS; i++) {
        uint64_t lost = atomic_load(&mv_wiped.lost[i]);
        if (lost == facts.lost[i] || (lost < 2 * facts.lost[i] && !is_end))
            continue;
        put_number(keys[i], lost, is_end ? 0 : FOR_THE_END);
        facts.lost[i] = lost;
    }
}

static void put_python(void)
{
    const char *version, *why;

    if (mv_process.settings.stacks == MV_STACKS_NONE)
        return;
    version = facts.has_python ? NULL : mv_python_version();
    why = facts.has_why_off ? NULL : mv_python_why_off();
    put_text("python", version, FOR_THE_END);
    put_text("stacks_off", why, FOR_THE_END);
    facts.has_python = facts.has_python || version;
    facts.has_why_off = facts.has_why_off || why;
}

void mv_facts_refresh(void)
{
    if (!mv_process_epoch() || !mv_process_trylock(&mv_wiped.facts))
        return;
    put_lost(false);
    put_python();
    mv_process_unlock(&mv_wiped.facts);
}

void mv_facts_stopped(int error)
{
    const char *words =
        error == MV_CONFINED_ERROR  ? "the reserve made before a system-call filter is used up"
        : error == MV_STOPPED_ERROR ? "as memviz ctl stop requested"
        : error == MV_LIVE_FULL     ? "its files are at --max-size, and memviz run made no room"
                                    : strerrordesc_np(error);

    if (!mv_process_lock(&mv_wiped.facts))
        return;
    put_text("stopped", words ? words : "unknown error", 0);
    put_number("stopped_us", mv_process_now_us(), 0);
    put_lost(true);
    mv_process_unlock(&mv_wiped.facts);
}

/* Takes the lock if this is possible at the end of the process. It is not possible if a signal
 * handler ends the process while its own thread is writing facts, because waiting would then never
 * end. */
static bool lock_at_end(void)
{
    if (mv_thread.inside)
        return mv_process_trylock(&mv_wiped.facts);
    return mv_process_lock(&mv_wiped.facts);
}

void mv_facts_end(void)
{
    if (!lock_at_end())
        return;
    put_rank(0);
    put_lost(true);
    put_python();
    put_number("end_us", mv_process_now_us(), 0);
    mv_process_unlock(&mv_wiped.facts);
}

void mv_facts_forget(void)
{
    memset(&facts, 0, sizeof facts - sizeof facts.text);
}
