/* Samples of how much memory is used on the devices, from a stand-in for NVIDIA's library. */
#include "record/nvml.h"

#include <dlfcn.h>

#include "parse/model/shared_memory.h"
#include "tests/fixture/fixture_test.h"

typedef struct {
    unsigned long long used[2], own[2];
    unsigned pid;
    unsigned long long reserved;
    unsigned differ, divided, shared;
    long long answered_us;
} stand_in;

enum { PID = 4242, BOTH = 3 };

static stand_in *state;
static mv_nvml nvml;
static int asked;

static bool is_ours(void *user, uint32_t pid)
{
    (*(int *)user)++;
    return pid == PID || pid == PID + 1;
}

static void close_nvml(void *what)
{
    mv_nvml_close(what);
}

/* A library that is already loaded is found by its soname. */
static void setup(void)
{
    void *library = dlopen(MV_NVML_STAND_IN, RTLD_NOW);

    cr_assert_not_null(library, "%s", dlerror());
    state = dlsym(library, "nvml_stand_in");
    cr_assert_not_null(state);
    unsetenv("CUDA_VISIBLE_DEVICES");
    asked = 0;
    mv_nvml_open(mvt_memory(), is_ours, &asked, &nvml);
    mvt_at_end(close_nvml, &nvml);
    cr_assert_not_null(nvml.calls);
    cr_assert_null(nvml.why);
    cr_assert_eq(nvml.device_count, 2);
}

TestSuite(nvml, .init = setup);

static void sample(unsigned long long used, unsigned pid, unsigned long long own)
{
    state->used[0] = used;
    state->used[1] = 2 * used;
    state->own[0] = state->own[1] = own;
    state->pid = pid;
    mv_nvml_sample(&nvml);
}

static mv_samples samples_of(uint32_t pid, const char *visible, uint64_t wanted)
{
    mv_nvml_process process = {.pid = pid, .visible = visible};
    mv_samples samples;

    cr_assert(mv_nvml_samples(mvt_memory(), &nvml, &process, wanted, &samples));
    return samples;
}

Test(nvml, a_lasting_level_is_its_first_and_last_sample)
{
    sample(100, 0, 0);
    for (int i = 0; i < 50; i++)
        sample(200, 0, 0);
    sample(300, 0, 0);
    mv_samples s = samples_of(PID, NULL, 1);
    cr_assert_eq(s.count, 4);
    cr_assert_eq(s.used[0], 100);
    cr_assert_eq(s.used[1], 200);
    cr_assert_eq(s.used[2], 200);
    cr_assert_eq(s.used[3], 300);
    cr_assert_leq(s.time_us[1], s.time_us[2]);
    cr_assert_eq(s.total[0], 1000);
    cr_assert_eq(s.process[0], MV_NO_BYTES, "no process is named");
}

/* The driver answers after its current work, with the figures at that time. */
Test(nvml, a_sample_has_the_time_of_the_answer)
{
    for (int i = 0; i < 2; i++) {
        state->reserved = i ? 50 : 0;
        sample(100 + i, PID, 60);
        mv_samples samples = samples_of(PID, "1", 1);
        cr_expect_geq(samples.time_us[samples.count - 1], state->answered_us);
    }
}

/* Memory that programs can use: total minus used equals the free bytes from cudaMemGetInfo. */
Test(nvml, memory_reserved_by_the_driver_is_not_in_the_total)
{
    state->reserved = 50;
    sample(100, 0, 0);
    mv_samples s = samples_of(PID, NULL, 1);
    cr_assert_eq(s.total[0], 950);
    cr_assert_eq(s.used[0], 100);
}

Test(nvml, a_change_of_any_level_is_reported)
{
    state->used[0] = 100;
    state->pid = 0;
    cr_assert(mv_nvml_sample(&nvml));
    cr_assert(!mv_nvml_sample(&nvml));
    state->used[1] = 7;
    cr_assert(mv_nvml_sample(&nvml));
    cr_assert(!mv_nvml_sample(&nvml));
    state->pid = PID;
    state->own[0] = 7;
    cr_assert(mv_nvml_sample(&nvml));
    cr_assert(!mv_nvml_sample(&nvml));
    state->pid = 0;
    cr_assert(mv_nvml_sample(&nvml));
}

Test(nvml, memory_of_the_process_is_distinguished_from_the_device)
{
    sample(100, 0, 0);
    sample(150, PID, 40);
    sample(150, PID, 45);
    sample(100, 0, 0);
    mv_samples s = samples_of(PID, NULL, 1);
    cr_assert_eq(s.process[0], 0, "before its first");
    cr_assert_eq(s.process[s.count - 1], 0, "after its last");
    uint64_t most = 0;
    for (uint32_t i = 0; i < s.count; i++)
        most = s.process[i] > most ? s.process[i] : most;
    cr_assert_eq(most, 45);
    cr_assert_eq(samples_of(PID + 1, NULL, 1).process[0], MV_NO_BYTES);
}

/* A machine that others use as well, for weeks. */
Test(nvml, other_processes_take_no_memory_and_are_looked_up_once)
{
    for (unsigned pid = PID + 2; pid < PID + 1002; pid++)
        for (int i = 0; i < 3; i++)
            sample(100, pid, pid);
    cr_assert_eq(nvml.series_count, 2, "the devices");
    cr_assert_eq(asked, 2 * 1000, "%d", asked);
    sample(100, PID, 40);
    sample(150, PID, 45);
    cr_assert_eq(nvml.series_count, 4);
    cr_assert_eq(asked, 2 * 1001, "%d", asked);
}

static void expect_devices(const char *visible, uint64_t wanted, const char *want)
{
    mv_samples s = samples_of(PID, visible, wanted);
    char found[64] = "";

    for (uint32_t i = 0; i < s.count; i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%d:%llu ", s.device[i],
                 (unsigned long long)s.used[i]);
    cr_assert_str_eq(found, want, "%s: %s", visible ? visible : "(unset)", found);
}

Test(nvml, samples_are_of_the_devices_that_the_program_sees)
{
    sample(100, 0, 0);
    expect_devices(NULL, BOTH, "0:100 1:200 ");
    expect_devices(NULL, 2, "1:200 ");
    expect_devices("1,0", BOTH, "0:200 1:100 ");
    expect_devices("1", BOTH, "0:200 ");
    expect_devices("GPU-2,0", BOTH, "0:200 1:100 ");
    expect_devices("GPU-20000000-0000", BOTH, "0:200 ");
    expect_devices("0,7,1", BOTH, "0:100 ");
    expect_devices("", BOTH, "");
    expect_devices("-1", BOTH, "");
}

/* Returns the number of ordinals with samples, and whether the others have a reason. */
static void expect_known(const char *visible, const char *order, uint32_t want)
{
    mv_nvml_process process = {.visible = visible, .order = order};
    mv_samples s;

    cr_assert(mv_nvml_samples(mvt_memory(), &nvml, &process, BOTH, &s));
    cr_assert_eq(s.count, want, "%s, %s: %u", visible ? visible : "(unset)",
                 order ? order : "(unset)", s.count);
    cr_assert_eq(mv_nvml_why_unknown(&nvml, &process) != NULL, want == 0);
}

static void open_again(unsigned differ, unsigned divided)
{
    state->differ = differ;
    state->divided = divided;
    mv_nvml_close(&nvml);
    mv_nvml_open(mvt_memory(), is_ours, &asked, &nvml);
    sample(100, 0, 0);
}

/* Devices without memory of their own have no figure. The other devices are not affected. */
Test(nvml, memory_of_the_host_has_no_samples)
{
    mv_nvml_process process = {.pid = PID};

    state->shared = 2;
    sample(100, PID, 50);
    expect_devices(NULL, BOTH, "");
    cr_assert_str_eq(mv_nvml_why_unknown(&nvml, &process), MV_SHARED_MEMORY_NOTE);
    state->shared = 1;
    sample(100, PID, 50);
    expect_devices(NULL, BOTH, "1:200 ");
    cr_assert_null(mv_nvml_why_unknown(&nvml, &process));
}

/* CUDA lists the fastest device first, this library the first device on the bus. */
Test(nvml, different_devices_are_identified_by_bus_order)
{
    open_again(1, 0);
    expect_known(NULL, NULL, 0);
    expect_known("1,0", "FASTEST_FIRST", 0);
    expect_known("GPU-2,0", NULL, 0);
    expect_known(NULL, "PCI_BUS_ID", 2);
    expect_known("1", "PCI_BUS_ID", 1);
    expect_known("GPU-2", NULL, 1);
    expect_known("GPU-2, GPU-1", NULL, 2);
    open_again(0, 0);
    expect_known(NULL, NULL, 2);
}

Test(nvml, slices_are_identified_by_name)
{
    open_again(0, 1);
    expect_known(NULL, "PCI_BUS_ID", 0);
    expect_known("0", "PCI_BUS_ID", 0);
    expect_known("GPU-1", NULL, 1);
}

Test(nvml, a_full_series_keeps_its_start_and_its_highest)
{
    uint64_t most = 0;

    for (unsigned long long i = 0; i < 3 * MV_NVML_POINTS; i++)
        sample(i == 12345 ? 999 : 10 + i % 7, 0, 0);
    mv_samples s = samples_of(PID, NULL, 1);
    cr_assert_leq(s.count, MV_NVML_POINTS);
    cr_assert_gt(s.count, MV_NVML_POINTS / 4);
    for (uint32_t i = 0; i < MV_NVML_POINTS / 4; i++)
        cr_assert_eq(s.used[i], 10 + i % 7);
    for (uint32_t i = 0; i < s.count; i++) {
        most = s.used[i] > most ? s.used[i] : most;
        cr_assert(i == 0 || s.time_us[i] >= s.time_us[i - 1]);
    }
    cr_assert_eq(most, 999);
}
