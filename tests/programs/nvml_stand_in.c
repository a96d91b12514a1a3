/* A libnvidia-ml.so.1 for tests: two devices whose figures the test sets, or $NVML_DEVICES devices
 * that use the two devices' figures alternately, and are different models with $NVML_DIFFER. The
 * process whose number is in the file $NVML_PID uses 77 bytes; the file $NVML_USED has the number
 * of bytes, of 1000, that the first device uses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    unsigned long long used[2], own[2];
    unsigned pid; /* id of the process that uses `own`; 0: no process is named */
    /* bytes reserved by the driver; 0: an old library without this figure */
    unsigned long long reserved;
    unsigned differ, divided; /* devices are different models; the second one has slices */
    unsigned shared;          /* this many devices have only the host's memory */
    long long answered_us;    /* time of the last memory report, which is later than the query */
} stand_in;

stand_in nvml_stand_in;

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle);
int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned size);
int nvmlDeviceGetName(void *handle, char *name, unsigned size);
int nvmlDeviceGetMigMode(void *handle, unsigned *now, unsigned *later);
int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long *info);
int nvmlDeviceGetMemoryInfo_v2(void *handle, unsigned long long *info);
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, void *rows);

typedef struct {
    unsigned pid;
    unsigned long long bytes;
    unsigned instances[2];
} row;

static char places[8];

static int index_of(void *handle)
{
    return (int)((char *)handle - places) % 2;
}

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    const char *devices = getenv("NVML_DEVICES");

    *count = devices ? (unsigned)strtoul(devices, NULL, 10) : 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle)
{
    *handle = &places[index];
    return index < 8 ? 0 : 2;
}

int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned size)
{
    snprintf(uuid, size, "GPU-%d0000000-0000", index_of(handle) + 1);
    return 0;
}

int nvmlDeviceGetName(void *handle, char *name, unsigned size)
{
    int is_other = nvml_stand_in.differ || getenv("NVML_DIFFER");

    snprintf(name, size, "Stand-in %d", is_other ? index_of(handle) : 0);
    return 0;
}

int nvmlDeviceGetMigMode(void *handle, unsigned *now, unsigned *later)
{
    *now = *later = nvml_stand_in.divided && index_of(handle) == 1;
    return 0;
}

static long long now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Sets answered_us to a later microsecond than now. */
static void answer(void)
{
    long long asked = now_us();

    do
        nvml_stand_in.answered_us = now_us();
    while (nvml_stand_in.answered_us == asked);
}

/* Reads the number in the file that this variable names. Returns false if there is none. */
static int read_number(const char *variable, unsigned long long *out)
{
    const char *name = getenv(variable);
    FILE *file = name ? fopen(name, "r") : NULL;
    int is_read = file && fscanf(file, "%llu", out) == 1;

    if (file)
        fclose(file);
    return is_read;
}

/* total, free, used */
int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long *info)
{
    if ((unsigned)index_of(handle) < nvml_stand_in.shared || getenv("NVML_SHARED"))
        return 3;
    info[0] = 1000;
    info[2] = nvml_stand_in.used[index_of(handle)];
    if (index_of(handle) == 0)
        read_number("NVML_USED", &info[2]);
    info[1] = info[0] - info[2];
    answer();
    return 0;
}

/* total, reserved, free, used, after a version in its own word */
int nvmlDeviceGetMemoryInfo_v2(void *handle, unsigned long long *info)
{
    if (!nvml_stand_in.reserved)
        return 3;
    info[1] = 1000;
    info[2] = nvml_stand_in.reserved;
    info[4] = nvml_stand_in.used[index_of(handle)];
    info[3] = info[1] - info[2] - info[4];
    answer();
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, void *rows)
{
    row mine = {nvml_stand_in.pid, nvml_stand_in.own[index_of(handle)], {0}};
    unsigned long long pid;

    if (read_number("NVML_PID", &pid))
        mine = (row){(unsigned)pid, 77, {0}};
    *count = mine.pid != 0;
    if (mine.pid)
        memcpy(rows, &mine, sizeof mine);
    return 0;
}
