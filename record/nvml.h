/* Samples of the memory in use on the GPUs while a program runs, by NVIDIA's management library
 * (NVML), which is loaded at run time. Without the library nothing is sampled, and the reason is
 * kept.
 *
 * Each device has a series of levels, and so has each process of ours that the library lists on a
 * device: what others do there takes no memory, however many they are. A
 * level that does not change takes two points however long it lasts: when it was first seen and
 * when last. A full series keeps its first quarter, which shows how the program started, and halves
 * the rest: of two neighbours it keeps the higher. */
#ifndef MV_NVML_H
#define MV_NVML_H

#include "parse/model/trace.h"

enum {
    MV_NVML_DEVICES = 64,
    MV_NVML_SERIES = 256,
    MV_NVML_POINTS = 8192,
    MV_NVML_PROCESSES = 128, /* that the library lists on a device; more are left out */
    MV_NVML_UUID = 96        /* "GPU-" or "MIG-" and 36 characters; room for more */
};

typedef struct {
    int64_t time_us; /* of CLOCK_MONOTONIC, which no one sets: as the shim's events have */
    uint64_t bytes;
} mv_nvml_point;

typedef struct {
    uint32_t device; /* position in mv_nvml.devices */
    uint32_t pid;    /* 0: the whole device */
    bool from_start; /* present in the first sample */
    uint32_t count;
    mv_nvml_point *points; /* [MV_NVML_POINTS] */
} mv_nvml_series;

typedef struct {
    void *handle;
    uint64_t total; /* that programs can use: without what the driver reserves */
    bool is_shared; /* it has no memory of its own but the host's (GB10, Jetson): asked for its use,
                     * the library says that this is not supported */
    char uuid[MV_NVML_UUID];
    uint32_t other_count;
    uint32_t others[MV_NVML_PROCESSES]; /* listed in the last sample, and none of ours */
} mv_nvml_device;

typedef struct mv_nvml_calls mv_nvml_calls;

/* Whether a process that is on a device now is one of those whose samples are wanted. It is asked
 * once as long as the process stays. */
typedef bool mv_nvml_is_ours(void *user, uint32_t pid);

typedef struct {
    mv_arena *arena;
    mv_nvml_is_ours *is_ours;
    void *user;
    mv_nvml_calls *calls; /* NULL: no library */
    const char *why;      /* why there are no samples; NULL when there are some */
    bool differ;          /* devices are of different models, or that is not known */
    bool has_slices;      /* a device is divided (MIG): CUDA numbers its slices */
    uint32_t device_count;
    mv_nvml_device devices[MV_NVML_DEVICES];
    uint32_t series_count;
    mv_nvml_series series[MV_NVML_SERIES];
    uint32_t rounds;
} mv_nvml;

/* Loads the library. Never fails: without it, mv_nvml_sample does nothing. */
void mv_nvml_open(mv_arena *arena, mv_nvml_is_ours *is_ours, void *user, mv_nvml *nvml);
void mv_nvml_close(mv_nvml *nvml);

/* Adds one point to every series, now. Whether any of them has changed since the last time. */
bool mv_nvml_sample(mv_nvml *nvml);

/* The process that samples are for. */
typedef struct {
    uint32_t pid;
    const char *visible; /* its CUDA_VISIBLE_DEVICES: ordinals, or UUIDs or their beginnings; NULL:
                          * all devices */
    const char *order;   /* its CUDA_DEVICE_ORDER; NULL: not set */
} mv_nvml_process;

/* Why it is not known which devices the process's ordinals are; NULL: it is known. This library
 * numbers devices by their place on the PCI bus. CUDA does so where it is told to, and where all
 * devices are of one model; else the fastest comes first. Of a divided device it numbers slices,
 * which are known by their UUIDs alone. Also why none of them has samples, where all share the
 * host's memory. */
const char *mv_nvml_why_unknown(const mv_nvml *nvml, const mv_nvml_process *who);

/* The samples as the process sees them, in times of CLOCK_MONOTONIC: only the devices in `visible`,
 * in that order. Only ordinals with a bit in `wanted` are included; none where it is not known
 * which devices they are. False when memory runs out. */
bool mv_nvml_samples(mv_arena *arena, const mv_nvml *nvml, const mv_nvml_process *who,
                     uint64_t wanted, mv_samples *out);

#endif
