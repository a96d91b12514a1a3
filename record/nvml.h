/* Samples the memory in use on the GPUs while a program runs, with NVIDIA's management library
 * (NVML), which is loaded at run time. Without the library nothing is sampled, and the reason is
 * stored.
 *
 * A series of levels is kept for each device, and for each of our processes that the library lists
 * on a device. Nothing is kept for other processes. A constant level takes only two points, for the
 * first and the last time at which it was sampled, however long it lasts. When a series is full,
 * its first quarter, which covers the start of the program, stays unchanged. The number of points
 * after it is halved by keeping only the higher one of each two neighbours. */
#pragma once

#include "parse/model/trace.h"

enum {
    MV_NVML_DEVICES = 64,
    MV_NVML_SERIES = 256,
    MV_NVML_POINTS = 8192,
    MV_NVML_PROCESSES = 128, /* maximum number of processes per device that the library lists;
                              * further processes are ignored */
    MV_NVML_UUID = 96        /* "GPU-" or "MIG-" and 36 characters, with room for more */
};

typedef struct {
    int64_t time_us; /* time of CLOCK_MONOTONIC, which is never set and which the shim's events
                      * use, too */
    uint64_t bytes;
} mv_nvml_point;

typedef struct {
    uint32_t device; /* index in mv_nvml.devices */
    uint32_t pid;    /* process id; 0: the whole device */
    bool from_start; /* the process was present in the first sample */
    uint32_t count;
    mv_nvml_point *points; /* [MV_NVML_POINTS] */
} mv_nvml_series;

typedef struct {
    void *handle;
    uint64_t total; /* memory that programs can use, without the driver's own reserve */
    bool is_shared; /* the device shares the host's memory (GB10, Jetson), so the library does
                     * not support queries for its memory in use */
    char uuid[MV_NVML_UUID];
    uint32_t other_count;
    uint32_t others[MV_NVML_PROCESSES]; /* processes that were listed in the last sample and are
                                         * not ours */
} mv_nvml_device;

typedef struct mv_nvml_calls mv_nvml_calls;

/* Returns true if samples of a process that is now on a device are wanted. Called only once for
 * each time that a process is on a device. */
typedef bool mv_nvml_is_ours(void *user, uint32_t pid);

typedef struct {
    mv_arena *arena;
    mv_nvml_is_ours *is_ours;
    void *user;
    mv_nvml_calls *calls; /* functions of the library; NULL: there is no library */
    const char *why;      /* why samples are missing; NULL if there are samples */
    bool differ;          /* the devices are of different models, or this is unknown */
    bool has_slices;      /* a device is divided (MIG), and CUDA numbers its slices */
    uint32_t device_count;
    mv_nvml_device devices[MV_NVML_DEVICES];
    uint32_t series_count;
    mv_nvml_series series[MV_NVML_SERIES];
    uint32_t rounds;
} mv_nvml;

/* Loads the library. Never fails. Without the library, mv_nvml_sample does nothing. */
void mv_nvml_open(mv_arena *arena, mv_nvml_is_ours *is_ours, void *user, mv_nvml *nvml);
void mv_nvml_close(mv_nvml *nvml);

/* Adds one point to every series at the present time. Returns whether any series has changed since
 * the last call. */
bool mv_nvml_sample(mv_nvml *nvml);

/* The process for which samples are requested. */
typedef struct {
    uint32_t pid;
    const char *visible; /* value of its CUDA_VISIBLE_DEVICES: ordinals, or UUIDs or prefixes of
                          * UUIDs; NULL: all devices */
    const char *order;   /* value of its CUDA_DEVICE_ORDER; NULL: not set */
} mv_nvml_process;

/* Returns the reason why it is unknown which devices the process's ordinals refer to; NULL if it is
 * known. The library numbers devices by their position on the PCI bus. CUDA does the same if it is
 * configured to, or if all devices are of one model; otherwise CUDA numbers the fastest device
 * first. A divided device has slices, which are identified only by their UUIDs. If all devices
 * share the host's memory, that is returned as the reason, because samples are then missing. */
const char *mv_nvml_why_unknown(const mv_nvml *nvml, const mv_nvml_process *who);

/* Returns the samples, with devices numbered as in the process and with times of CLOCK_MONOTONIC.
 * They contain only devices in `visible`, numbered in that order, and of these only ordinals with a
 * bit in `wanted`. If it is unknown which devices the ordinals name, there are no samples. False
 * when out of memory. */
bool mv_nvml_samples(mv_arena *arena, const mv_nvml *nvml, const mv_nvml_process *who,
                     uint64_t wanted, mv_samples *out);
