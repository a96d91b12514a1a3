#include "view/document/saved_index.h"
#include "base/plain.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "parse/source/sink.h"

enum { VERSION = 1, SAMPLE = 1 << 20, NAME = 32 + 6, PATH = MV_SAVED_PATH + NAME + 2 };

static const char ending[] = ".index";

MV_PLAIN_BEGIN
typedef struct {
    char magic[8];
    uint32_t version;
    uint32_t count; /* number of devices */
    mv_saved_key key;
    uint64_t checksum; /* checksum of all bytes before and after this field */
} head;
MV_PLAIN_END

static_assert(sizeof(head) == 40, "bump VERSION");
static_assert(sizeof(mv_saved_device) == 32 + 24 * MV_SAVED_COLUMNS, "bump VERSION");

/* ---- the file ---------------------------------------------------------------------------- */

static bool has_fitted(int length)
{
    return length > 0 && length < MV_SAVED_PATH;
}

bool mv_saved_folder(char folder[MV_SAVED_PATH])
{
    const char *wish = getenv("MEMVIZ_CACHE"), *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");

    if (wish && strcmp(wish, "off") == 0)
        return false;
    if (cache && *cache == '/')
        return has_fitted(snprintf(folder, MV_SAVED_PATH, "%s/memviz", cache));
    return home && *home == '/' &&
           has_fitted(snprintf(folder, MV_SAVED_PATH, "%s/.cache/memviz", home));
}

static void name_of(mv_saved_key key, char name[NAME + 1])
{
    snprintf(name, NAME + 1, "%016llx%016llx%s", (unsigned long long)key.high,
             (unsigned long long)key.low, ending);
}

static void path_of(const char *folder, mv_saved_key key, char path[PATH])
{
    char name[NAME + 1];

    name_of(key, name);
    snprintf(path, PATH, "%s/%s", folder, name);
}

typedef struct {
    uint64_t size, seconds, nanoseconds, padding;
    char samples[3][SAMPLE];
} sampled;

static bool sample(int file, sampled *to)
{
    uint64_t size;
    struct stat s;

    if (fstat(file, &s) != 0 || !S_ISREG(s.st_mode))
        return false;
    size = (uint64_t)s.st_size;
    to->size = size;
    to->seconds = (uint64_t)s.st_mtim.tv_sec;
    to->nanoseconds = (uint64_t)s.st_mtim.tv_nsec;
    return pread(file, to->samples[0], SAMPLE, 0) >= 0 &&
           pread(file, to->samples[1], SAMPLE, (off_t)(size / 2)) >= 0 &&
           pread(file, to->samples[2], SAMPLE, size > SAMPLE ? (off_t)(size - SAMPLE) : 0) >= 0;
}

bool mv_saved_key_of(mv_arena *arena, const char *path, mv_saved_key *out)
{
    sampled *samples = mv_arena_grow(arena, NULL, sizeof *samples);
    int file = samples ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    bool is_known = file >= 0 && sample(file, samples);

    if (is_known) {
        XXH128_hash_t hash = XXH3_128bits(samples, sizeof *samples);
        *out = (mv_saved_key){hash.low64, hash.high64};
    }
    if (file >= 0)
        close(file);
    mv_arena_drop(arena, samples);
    return is_known;
}

/* ---- the outline ------------------------------------------------------------------------- */

void mv_saved_device_fill(uint32_t device, const mv_pyramid *pyramid, mv_saved_device *out)
{
    uint64_t events = pyramid->events;
    mv_pyramid_reader reader;

    *out = (mv_saved_device){.device = device, .events = pyramid->events};
    out->columns = events < MV_SAVED_COLUMNS ? (uint32_t)events : MV_SAVED_COLUMNS;
    mv_pyramid_reader_init(&reader, pyramid);
    for (uint64_t i = 0; i < out->columns; i++) {
        uint32_t first = i == 0 ? MV_BEFORE : (uint32_t)(i * events / out->columns);
        mv_extent extent =
            mv_pyramid_range(&reader, first, (uint32_t)((i + 1) * events / out->columns));
        out->least[i] = extent.least.allocated;
        out->most[i] = extent.most.allocated;
        out->reserved[i] = extent.most.reserved;
        if (out->peak < out->most[i])
            out->peak = out->most[i];
        if (out->most_reserved < out->reserved[i])
            out->most_reserved = out->reserved[i];
    }
}

/* Sums of requested bytes and of segments' bytes. */
typedef struct {
    uint64_t allocated, reserved; /* computed modulo 2^64, so that damaged sizes do no harm */
} sums;

/* Whether a free is counted when it is requested. If the file has only completions, it is counted
 * when it is completed. */
static bool has_requests(const mv_events *e)
{
    for (uint32_t i = 0; i < e->count; i++)
        if (e->action[i] == MV_ACTION_FREE_REQUESTED)
            return true;
    return false;
}

static void add_event(const mv_events *e, uint32_t event, uint8_t free_action, sums *to)
{
    uint64_t size = e->size[event];
    uint8_t action = e->action[event];

    if (action == MV_ACTION_ALLOC)
        to->allocated += size;
    else if (action == free_action)
        to->allocated -= size;
    else if (action == MV_ACTION_SEGMENT_ALLOC || action == MV_ACTION_SEGMENT_MAP)
        to->reserved += size;
    else if (action == MV_ACTION_SEGMENT_FREE || action == MV_ACTION_SEGMENT_UNMAP)
        to->reserved -= size;
}

/* Returns the sum, or zero if it is negative. */
static uint64_t at_least_0(uint64_t sum)
{
    return sum <= INT64_MAX ? sum : 0;
}

/* Returns the memory in use before the first event, which is the final heap minus the sum of the
 * events. */
static sums sums_before(uint32_t device, const mv_trace *trace, const mv_events *e,
                        uint8_t free_action)
{
    const mv_segments *s = &trace->segments;
    sums before = {0}, added = {0};

    for (uint32_t i = 0; i < s->count; i++) {
        if (s->device[i] != (int32_t)device)
            continue;
        before.reserved += s->total_size[i];
        for (uint32_t b = s->first_block[i]; b < s->first_block[i] + s->blocks[i]; b++)
            if (trace->blocks.state[b] == MV_BLOCK_ALLOCATED)
                before.allocated += mv_block_requested(trace, b);
    }
    for (uint32_t i = 0; i < e->count; i++)
        add_event(e, i, free_action, &added);
    before.allocated = at_least_0(before.allocated - added.allocated);
    before.reserved = at_least_0(before.reserved - added.reserved);
    return before;
}

static void sketch_column(const mv_events *e, uint32_t first, uint32_t end, uint8_t free_action,
                          sums *now, mv_saved_device *out, uint32_t column)
{
    bool is_first = first == 0; /* the first column also covers the memory before the first event */
    uint64_t least = is_first ? at_least_0(now->allocated) : UINT64_MAX;
    uint64_t most = is_first ? least : 0, most_reserved = is_first ? at_least_0(now->reserved) : 0;

    for (uint32_t i = first; i < end; i++) {
        add_event(e, i, free_action, now);
        uint64_t allocated = at_least_0(now->allocated), reserved = at_least_0(now->reserved);
        least = allocated < least ? allocated : least;
        most = allocated > most ? allocated : most;
        most_reserved = reserved > most_reserved ? reserved : most_reserved;
    }
    out->least[column] = least;
    out->most[column] = most;
    out->reserved[column] = most_reserved;
}

void mv_saved_device_sketch(uint32_t device, const mv_trace *trace, mv_saved_device *out)
{
    const mv_events e = mv_trace_events(trace, device);
    uint8_t free_action = has_requests(&e) ? MV_ACTION_FREE_REQUESTED : MV_ACTION_FREE_COMPLETED;
    sums now = sums_before(device, trace, &e, free_action);
    uint64_t events = e.count;

    *out = (mv_saved_device){.device = device, .events = e.count};
    out->columns = events < MV_SAVED_COLUMNS ? (uint32_t)events : MV_SAVED_COLUMNS;
    for (uint64_t i = 0; i < out->columns; i++) {
        sketch_column(&e, (uint32_t)(i * events / out->columns),
                      (uint32_t)((i + 1) * events / out->columns), free_action, &now, out,
                      (uint32_t)i);
        if (out->peak < out->most[i])
            out->peak = out->most[i];
        if (out->most_reserved < out->reserved[i])
            out->most_reserved = out->reserved[i];
    }
}

/* ---- reading ----------------------------------------------------------------------------- */

static uint64_t checksum_of(const head *h, const mv_saved_device *devices)
{
    return XXH3_64bits_withSeed(devices, h->count * sizeof *devices,
                                XXH3_64bits(h, offsetof(head, checksum)));
}

static head head_of(mv_saved_key key, const mv_saved_index *index)
{
    head h = {.magic = "memviz", .version = VERSION, .count = index->count, .key = key};

    h.checksum = checksum_of(&h, index->devices);
    return h;
}

static bool read_all(int file, void *to, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes;) {
        ssize_t got = read(file, (char *)to + at, bytes - at);
        if (got <= 0)
            return false;
        at += (uint64_t)got;
    }
    return true;
}

static bool read_file(mv_arena *arena, int file, mv_saved_key key, mv_saved_index *out)
{
    mv_saved_index index = {0};
    head is, wanted;
    char beyond;

    if (!read_all(file, &is, sizeof is) || is.version != VERSION || is.count == 0 ||
        is.count > MV_SAVED_DEVICES)
        return false;
    index.count = is.count;
    index.devices = mv_push_array(arena, mv_saved_device, is.count);
    if (!index.devices || !read_all(file, index.devices, is.count * sizeof *index.devices) ||
        read(file, &beyond, 1) != 0)
        return false;
    wanted = head_of(key, &index);
    if (memcmp(&is, &wanted, sizeof is) != 0)
        return false;
    for (uint32_t i = 0; i < index.count; i++)
        if (index.devices[i].columns > MV_SAVED_COLUMNS)
            return false;
    *out = index;
    return true;
}

bool mv_saved_index_read(mv_arena *arena, const char *folder, mv_saved_key key, mv_saved_index *out)
{
    char path[PATH];
    bool is_whole;
    int file;

    path_of(folder, key, path);
    file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    is_whole = read_file(arena, file, key, out);
    if (is_whole)
        futimens(file, NULL); /* marks the file as the most recently used one, so that it is kept
                                 longest */
    close(file);
    return is_whole;
}

/* ---- writing ----------------------------------------------------------------------------- */

static bool is_ours(const char *name)
{
    return strlen(name) == NAME && strspn(name, "0123456789abcdef") == 32 &&
           strcmp(name + 32, ending) == 0;
}

/* Nanoseconds. */
static int64_t changed_at(DIR *folder, const char *name)
{
    struct stat s;

    if (fstatat(dirfd(folder), name, &s, AT_SYMLINK_NOFOLLOW) != 0)
        return INT64_MAX;
    return (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec;
}

/* Removes the oldest index if there are too many. Removing one is enough, because each write adds
 * only one. */
static void remove_oldest(const char *path)
{
    DIR *folder = opendir(path);
    char found[NAME + 1] = "";
    int64_t oldest = INT64_MAX;
    uint32_t count = 0;

    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        int64_t at = is_ours(entry->d_name) ? changed_at(folder, entry->d_name) : INT64_MAX;
        if (at == INT64_MAX)
            continue;
        count++;
        if (at < oldest) {
            oldest = at;
            memcpy(found, entry->d_name, sizeof found);
        }
    }
    if (count > MV_SAVED_FILES)
        unlinkat(dirfd(folder), found, 0);
    closedir(folder);
}

void mv_saved_folder_make(const char *folder)
{
    char parent[MV_SAVED_PATH];
    char *slash;

    snprintf(parent, sizeof parent, "%s", folder);
    slash = strrchr(parent, '/');
    if (slash && slash > parent) {
        *slash = '\0';
        mkdir(parent, 0700);
    }
    mkdir(folder, 0700);
}

bool mv_saved_index_write(const char *folder, mv_saved_key key, const mv_saved_index *index)
{
    char path[PATH];
    mv_sink sink;
    mv_err err;
    head h;
    bool is_written;

    if (index->count == 0 || index->count > MV_SAVED_DEVICES)
        return false;
    mv_saved_folder_make(folder);
    path_of(folder, key, path);
    if (mv_sink_open(&sink, path, &err) != MV_OK)
        return false;
    h = head_of(key, index);
    mv_sink_write(&sink, &h, sizeof h);
    mv_sink_write(&sink, index->devices, index->count * sizeof *index->devices);
    is_written = mv_sink_commit(&sink, &err) == MV_OK;
    mv_sink_abort(&sink);
    if (is_written)
        remove_oldest(folder);
    return is_written;
}
