#include "record/nvml.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/duration.h"
#include "base/numbers.h"
#include "parse/model/shared_memory.h"

/* The library's own structs and values, as declared in nvml.h (CUDA 11 to 13). */
typedef struct {
    unsigned long long total, free, used;
} memory_1;

typedef struct {
    unsigned version; /* version of this struct: its size, and 2 in the highest byte */
    unsigned long long total, reserved, free, used;
} memory_2;

typedef struct {
    unsigned pid;
    unsigned long long bytes; /* all bits set: unknown */
    unsigned gpu_instance, compute_instance;
} process;

enum { SUCCESS = 0, NOT_SUPPORTED = 3, MIG_ENABLED = 1, NAME_BYTES = 96 };

struct mv_nvml_calls {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *);
    int (*by_index)(unsigned, void **);
    int (*by_uuid)(const char *, void **);
    int (*uuid)(void *, char *, unsigned);
    int (*name)(void *, char *, unsigned);
    int (*mig_mode)(void *, unsigned *now, unsigned *later);
    int (*memory_1)(void *, memory_1 *);
    int (*memory_2)(void *, memory_2 *);
    int (*processes)(void *, unsigned *, process *);
};

/* ---- loading ----------------------------------------------------------------------------- */

static bool load(mv_nvml_calls *calls)
{
    static const struct {
        const char *name;
        size_t slot;
        bool optional;
    } table[] = {
        {"nvmlInit_v2", offsetof(mv_nvml_calls, init), false},
        {"nvmlShutdown", offsetof(mv_nvml_calls, shutdown), false},
        {"nvmlDeviceGetCount_v2", offsetof(mv_nvml_calls, count), false},
        {"nvmlDeviceGetHandleByIndex_v2", offsetof(mv_nvml_calls, by_index), false},
        {"nvmlDeviceGetHandleByUUID", offsetof(mv_nvml_calls, by_uuid), true},
        {"nvmlDeviceGetUUID", offsetof(mv_nvml_calls, uuid), true},
        {"nvmlDeviceGetName", offsetof(mv_nvml_calls, name), true},
        {"nvmlDeviceGetMigMode", offsetof(mv_nvml_calls, mig_mode), true},
        {"nvmlDeviceGetMemoryInfo", offsetof(mv_nvml_calls, memory_1), false},
        {"nvmlDeviceGetMemoryInfo_v2", offsetof(mv_nvml_calls, memory_2), true},
        {"nvmlDeviceGetComputeRunningProcesses_v3", offsetof(mv_nvml_calls, processes), true},
    };

    calls->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!calls->library)
        return false;
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++) {
        void *found = dlsym(calls->library, table[i].name);
        if (!found && !table[i].optional)
            return false;
        memcpy((char *)calls + table[i].slot, &found, sizeof found);
    }
    return true;
}

static void add_device(mv_nvml *nvml, void *handle)
{
    mv_nvml_device *device = &nvml->devices[nvml->device_count];

    if (nvml->device_count == MV_NVML_DEVICES)
        return;
    *device = (mv_nvml_device){.handle = handle};
    if (!nvml->calls->uuid || nvml->calls->uuid(handle, device->uuid, MV_NVML_UUID) != SUCCESS)
        device->uuid[0] = 0;
    nvml->device_count++;
}

static bool has_name(const mv_nvml *nvml, void *handle, char *name)
{
    return nvml->calls->name && nvml->calls->name(handle, name, NAME_BYTES) == SUCCESS;
}

/* Finds out what determines CUDA's numbering of devices. */
static void look_at_models(mv_nvml *nvml)
{
    char first[NAME_BYTES], name[NAME_BYTES];

    for (uint32_t i = 0; i < nvml->device_count; i++) {
        void *handle = nvml->devices[i].handle;
        unsigned now = 0, later = 0;
        if (nvml->calls->mig_mode && nvml->calls->mig_mode(handle, &now, &later) == SUCCESS &&
            now == MIG_ENABLED)
            nvml->has_slices = true;
        if (i > 0 && (!has_name(nvml, nvml->devices[0].handle, first) ||
                      !has_name(nvml, handle, name) || strcmp(first, name) != 0))
            nvml->differ = true;
    }
}

/* Adds the MIG slices of a device. They have no index, and are found only through the UUIDs in
 * CUDA_VISIBLE_DEVICES. */
static void add_slices(mv_nvml *nvml, const char *visible)
{
    while (visible && nvml->calls->by_uuid) {
        char uuid[MV_NVML_UUID];
        size_t length = strcspn(visible, ",");
        void *handle;
        if (length < sizeof uuid && strncmp(visible, "MIG-", 4) == 0) {
            memcpy(uuid, visible, length);
            uuid[length] = 0;
            if (nvml->calls->by_uuid(uuid, &handle) == SUCCESS)
                add_device(nvml, handle);
        }
        visible = visible[length] ? visible + length + 1 : NULL;
    }
}

void mv_nvml_open(mv_arena *arena, mv_nvml_is_ours *is_ours, void *user, mv_nvml *nvml)
{
    mv_nvml_calls *calls = mv_push_struct(arena, mv_nvml_calls);
    unsigned count = 0;
    void *handle;

    *nvml = (mv_nvml){.arena = arena,
                      .is_ours = is_ours,
                      .user = user,
                      .why = "libnvidia-ml.so.1 is not on this machine"};
    if (!calls || !load(calls))
        return;
    nvml->why = "NVML found no device";
    if (calls->init() != SUCCESS)
        return;
    nvml->calls = calls;
    if (calls->count(&count) != SUCCESS)
        count = 0;
    for (unsigned i = 0; i < count; i++)
        if (calls->by_index(i, &handle) == SUCCESS)
            add_device(nvml, handle);
    look_at_models(nvml);
    add_slices(nvml, getenv("CUDA_VISIBLE_DEVICES"));
    if (nvml->device_count > 0)
        nvml->why = NULL;
}

/* Does not unload the library, because unloading it is not safe. */
void mv_nvml_close(mv_nvml *nvml)
{
    if (nvml->calls)
        nvml->calls->shutdown();
    nvml->calls = NULL;
}

/* ---- sampling ---------------------------------------------------------------------------- */

static mv_nvml_series *known_series(mv_nvml *nvml, uint32_t device, uint32_t pid)
{
    for (uint32_t i = 0; i < nvml->series_count; i++)
        if (nvml->series[i].device == device && nvml->series[i].pid == pid)
            return &nvml->series[i];
    return NULL;
}

static bool is_other(const mv_nvml_device *device, uint32_t pid)
{
    for (uint32_t i = 0; i < device->other_count; i++)
        if (device->others[i] == pid)
            return true;
    return false;
}

/* Returns the series of a process on a device. NULL if the process is not ours, or if there is no
 * space for another series. */
static mv_nvml_series *series_of(mv_nvml *nvml, uint32_t device, uint32_t pid)
{
    mv_nvml_series *series = known_series(nvml, device, pid);

    if (series)
        return series;
    if (nvml->series_count == MV_NVML_SERIES || is_other(&nvml->devices[device], pid) ||
        (pid && !nvml->is_ours(nvml->user, pid)))
        return NULL;
    series = &nvml->series[nvml->series_count];
    *series = (mv_nvml_series){.device = device, .pid = pid, .from_start = nvml->rounds == 0};
    series->points = mv_push_array(nvml->arena, mv_nvml_point, MV_NVML_POINTS);
    if (!series->points)
        return NULL;
    nvml->series_count++;
    return series;
}

/* Adds a point. Returns whether the level has changed. */
static bool add_point(mv_nvml_series *series, int64_t time_us, uint64_t bytes)
{
    mv_nvml_point *last = series->points + series->count;
    bool is_changed = series->count == 0 || last[-1].bytes != bytes;

    if (series->count >= 2 && last[-1].bytes == bytes && last[-2].bytes == bytes) {
        last[-1].time_us = time_us;
        return false;
    }
    if (series->count == MV_NVML_POINTS) {
        uint32_t kept = MV_NVML_POINTS / 4;
        for (uint32_t i = kept; i + 1 < series->count; i += 2) {
            const mv_nvml_point *a = &series->points[i], *b = a + 1;
            series->points[kept++] = a->bytes > b->bytes ? *a : *b;
        }
        series->count = kept;
        last = series->points + series->count;
    }
    *last = (mv_nvml_point){time_us, bytes};
    series->count++;
    return is_changed;
}

/* Samples one device. *now is set to the time of the answer. If the driver is busy, for example
 * releasing 100 GiB, a query waits, and the answer is the memory in use afterwards. */
static bool sample_device(mv_nvml *nvml, uint32_t device, int64_t *now)
{
    mv_nvml_device *d = &nvml->devices[device];
    mv_nvml_series *series = series_of(nvml, device, 0);
    memory_2 two = {.version = sizeof two | 2u << 24};
    memory_1 one;
    int answer;

    if (!series)
        return false;
    /* In the newer call, `used` does not include the driver's own reserve, but `total` does. */
    if (nvml->calls->memory_2 && nvml->calls->memory_2(d->handle, &two) == SUCCESS) {
        *now = mv_now_us();
        d->total = two.total - (two.reserved < two.total ? two.reserved : 0);
        return add_point(series, *now, two.used);
    }
    answer = nvml->calls->memory_1(d->handle, &one);
    d->is_shared = answer == NOT_SUPPORTED;
    if (answer != SUCCESS)
        return false;
    *now = mv_now_us();
    d->total = one.total;
    return add_point(series, *now, one.used);
}

static bool is_among(const process *found, unsigned count, uint32_t pid)
{
    for (unsigned i = 0; i < count; i++)
        if (found[i].pid == pid)
            return true;
    return false;
}

static bool sample_processes(mv_nvml *nvml, uint32_t device, int64_t now)
{
    process found[MV_NVML_PROCESSES];
    uint32_t others[MV_NVML_PROCESSES], other_count = 0;
    unsigned count = MV_NVML_PROCESSES;
    bool is_changed = false;

    if (!nvml->calls->processes ||
        nvml->calls->processes(nvml->devices[device].handle, &count, found) != SUCCESS)
        return false;
    if (count > MV_NVML_PROCESSES)
        count = MV_NVML_PROCESSES;
    for (unsigned i = 0; i < count; i++) {
        mv_nvml_series *series;
        if (!found[i].pid || found[i].bytes == MV_NO_BYTES)
            continue;
        series = series_of(nvml, device, found[i].pid);
        if (!series)
            others[other_count++] = found[i].pid;
        else if (add_point(series, now, found[i].bytes))
            is_changed = true;
    }
    nvml->devices[device].other_count = other_count;
    memcpy(nvml->devices[device].others, others, other_count * sizeof *others);
    for (uint32_t i = 0; i < nvml->series_count; i++) {
        mv_nvml_series *series = &nvml->series[i];
        if (series->device == device && series->pid && !is_among(found, count, series->pid) &&
            add_point(series, now, 0))
            is_changed = true;
    }
    return is_changed;
}

bool mv_nvml_sample(mv_nvml *nvml)
{
    bool is_changed = false;

    if (!nvml->calls)
        return false;
    for (uint32_t i = 0; i < nvml->device_count; i++) {
        int64_t now = mv_now_us();
        is_changed |= sample_device(nvml, i, &now);
        is_changed |= sample_processes(nvml, i, now);
    }
    nvml->rounds++;
    return is_changed;
}

/* ---- the samples of a process ------------------------------------------------------------ */

/* Returns the device that the first `length` bytes of `word` name, or MV_NO_ROW. */
static uint32_t device_named(const mv_nvml *nvml, const char *word, size_t length)
{
    if (length > 0 && isdigit((unsigned char)*word)) {
        uint64_t index;
        return mv_number_take(&word, 10, &index) && index < nvml->device_count ? (uint32_t)index
                                                                               : MV_NO_ROW;
    }
    for (uint32_t i = 0; length > 0 && i < nvml->device_count; i++)
        if (strncmp(nvml->devices[i].uuid, word, length) == 0)
            return i;
    return MV_NO_ROW;
}

/* Lists the devices in the order of CUDA_VISIBLE_DEVICES. Like CUDA, stops at the first word that
 * is not a device. */
static uint32_t order_devices(const mv_nvml *nvml, const char *visible, uint32_t *order)
{
    uint32_t count = 0;

    if (!visible) {
        for (; count < nvml->device_count; count++)
            order[count] = count;
        return count;
    }
    while (count < MV_NVML_DEVICES) {
        size_t length;
        visible += strspn(visible, " ");
        length = strcspn(visible, ", ");
        order[count] = device_named(nvml, visible, length);
        if (order[count] == MV_NO_ROW)
            break;
        count++;
        visible += strcspn(visible, ",");
        if (!*visible++)
            break;
    }
    return count;
}

/* Returns true if every device is named by a UUID rather than by a number. */
static bool has_names_alone(const char *visible)
{
    while (visible) {
        visible += strspn(visible, " ");
        if (isdigit((unsigned char)*visible))
            return false;
        visible = strchr(visible, ',');
        visible = visible ? visible + 1 : NULL;
    }
    return true;
}

static bool all_are_shared(const mv_nvml *nvml)
{
    uint32_t count = 0;

    while (count < nvml->device_count && nvml->devices[count].is_shared)
        count++;
    return count > 0 && count == nvml->device_count;
}

const char *mv_nvml_why_unknown(const mv_nvml *nvml, const mv_nvml_process *who)
{
    bool is_by_place = who->order && strcmp(who->order, "PCI_BUS_ID") == 0;

    if (all_are_shared(nvml))
        return MV_SHARED_MEMORY_NOTE;
    if (who->visible && has_names_alone(who->visible))
        return NULL;
    if (nvml->has_slices)
        return "no samples: a GPU is divided (MIG), and CUDA_VISIBLE_DEVICES names no slice";
    if (nvml->differ && !is_by_place)
        return "no samples: GPUs differ, and without CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA sorts them";
    return NULL;
}

/* Returns true if the library's process ids are those of this container. In a container, the
 * library lists the host's process ids, which belong to other processes here. */
static bool pids_are_ours(void)
{
    const unsigned long initial = 0xEFFFFFFC; /* PROC_PID_INIT_INO, linux/proc_ns.h */
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 && (unsigned long)st.st_ino == initial;
}

static const mv_nvml_series *series_find(const mv_nvml *nvml, uint32_t device, uint32_t pid)
{
    for (uint32_t i = 0; i < nvml->series_count; i++) {
        const mv_nvml_series *series = &nvml->series[i];
        if (series->device == device && series->pid == pid)
            return pid && series->from_start && !pids_are_ours() ? NULL : series;
    }
    return NULL;
}

/* Merges the levels of the device and of the process by time. Points that were sampled in one round
 * have the same time. Before its first point, a process used no memory. */
static void add_rows(mv_samples *out, const mv_nvml *nvml, const mv_nvml_series *whole,
                     const mv_nvml_series *own, uint32_t ordinal)
{
    uint32_t i = 0, k = 0, own_count = own ? own->count : 0;
    uint64_t used = MV_NO_BYTES, mine = own ? 0 : MV_NO_BYTES;

    while (i < whole->count || k < own_count) {
        bool is_whole = i < whole->count &&
                        (k == own_count || whole->points[i].time_us <= own->points[k].time_us);
        int64_t time_us = is_whole ? whole->points[i].time_us : own->points[k].time_us;
        if (is_whole)
            used = whole->points[i++].bytes;
        if (k < own_count && own->points[k].time_us == time_us)
            mine = own->points[k++].bytes;
        if (used != MV_NO_BYTES) {
            uint64_t total = nvml->devices[whole->device].total;
            uint32_t row = out->count++;
            out->time_us[row] = time_us;
            out->used[row] = used;
            out->total[row] = total;
            out->process[row] = mine;
            out->device[row] = (int32_t)ordinal;
        }
    }
}

static bool push_columns(mv_arena *arena, const mv_nvml *nvml, mv_samples *out)
{
    uint64_t rows = 0;

    for (uint32_t i = 0; i < nvml->series_count; i++)
        rows += nvml->series[i].count;
    *out = (mv_samples){.time_us = mv_push_array(arena, int64_t, rows),
                        .used = mv_push_array(arena, uint64_t, rows),
                        .total = mv_push_array(arena, uint64_t, rows),
                        .process = mv_push_array(arena, uint64_t, rows),
                        .device = mv_push_array(arena, int32_t, rows)};
    return out->time_us && out->used && out->total && out->process && out->device;
}

bool mv_nvml_samples(mv_arena *arena, const mv_nvml *nvml, const mv_nvml_process *who,
                     uint64_t wanted, mv_samples *out)
{
    bool is_known = mv_nvml_why_unknown(nvml, who) == NULL;
    uint32_t order[MV_NVML_DEVICES];
    uint32_t count = is_known ? order_devices(nvml, who->visible, order) : 0;
    uint64_t taken = 0; /* set of devices so far, because duplicate words name the same device */

    if (!push_columns(arena, nvml, out))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const mv_nvml_series *whole = series_find(nvml, order[i], 0);
        if (!whole || !(wanted >> i & 1) || taken >> order[i] & 1)
            continue;
        taken |= 1ull << order[i];
        add_rows(out, nvml, whole, series_find(nvml, order[i], who->pid), i);
    }
    return true;
}
