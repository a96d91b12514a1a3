/* Samples of the memory in use on the GPUs while a program runs, by NVIDIA's management library
 * (NVML), which is loaded at run time. Without the library nothing is sampled, and the reason is
 * kept.
 *
 * Each device has a series of levels, and so has each of our processes that the library lists on a
 * device; other processes take no memory, however many there are. A constant level takes two points
 * however long it lasts: the first and the last time seen. A full series keeps its first quarter,
 * the start of the program, and halves the rest: of two neighbours it keeps the higher. */
#ifndef MV_NVML_H
#define MV_NVML_H

#include "parse/model/trace.h"

enum {
    MV_NVML_DEVICES = 64,
    MV_NVML_SERIES = 256,
    MV_NVML_POINTS = 8192,
    MV_NVML_PROCESSES = 128, /* that the library lists on a device; more are ignored */
    MV_NVML_UUID = 96        /* "GPU-" or "MIG-" and 36 characters; room for more */
};

typedef struct {
    int64_t time_us; /* of CLOCK_MONOTONIC, which is never set: like the shim's events */
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
    uint64_t total; /* usable by programs: without the driver's own reserve */
    bool is_shared; /* it shares the host's memory (GB10, Jetson): the library does not support
                     * queries for its use */
    char uuid[MV_NVML_UUID];
    uint32_t other_count;
    uint32_t others[MV_NVML_PROCESSES]; /* listed in the last sample, and not ours */
} mv_nvml_device;

typedef struct mv_nvml_calls mv_nvml_calls;

/* Whether samples of a process now on a device are wanted. Called once as long as the process
 * stays. */
typedef bool mv_nvml_is_ours(void *user, uint32_t pid);

typedef struct {
    mv_arena *arena;
    mv_nvml_is_ours *is_ours;
    void *user;
    mv_nvml_calls *calls; /* NULL: no library */
    const char *why;      /* the reason for missing samples; NULL if there are samples */
    bool differ;          /* devices are of different models, or this is unknown */
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

/* Adds one point to every series, now. Returns whether any of them has changed since the last
 * time. */
bool mv_nvml_sample(mv_nvml *nvml);

/* The process whose samples are requested. */
typedef struct {
    uint32_t pid;
    const char *visible; /* its CUDA_VISIBLE_DEVICES: ordinals, or UUIDs or their beginnings; NULL:
                          * all devices */
    const char *order;   /* its CUDA_DEVICE_ORDER; NULL: not set */
} mv_nvml_process;

/* The reason why the devices of the process's ordinals are unknown; NULL: they are known. This
 * library numbers devices by their place on the PCI bus. CUDA does so if configured to, and if all
 * devices are of one model; else the fastest comes first. A divided device has slices, which are
 * known only by their UUIDs. Also the reason for missing samples if all devices share the host's
 * memory. */
const char *mv_nvml_why_unknown(const mv_nvml *nvml, const mv_nvml_process *who);

/* The samples as the process sees them, in times of CLOCK_MONOTONIC: only the devices in `visible`,
 * in that order. Only ordinals with a bit in `wanted` are included; none if their devices are
 * unknown. False when memory runs out. */
bool mv_nvml_samples(mv_arena *arena, const mv_nvml *nvml, const mv_nvml_process *who,
                     uint64_t wanted, mv_samples *out);

#endif
