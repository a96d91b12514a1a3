/* The shim's native frames and modules, in this program: the frames must be the calling functions,
 * and their module must be this file. */
#include "capture/record/stack.h"
#include "capture/stacks/eh_frame.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_attribute(noclone)
#define APART __attribute__((noinline, noclone))
#else
#define APART __attribute__((noinline))
#endif

enum { MOST = MV_LIVE_MOST_FRAMES };

static mv_native_past past;
static uint64_t addresses[MOST];
static uint32_t count;
static volatile int after; /* code after a call keeps the call from becoming a jump */

static APART void innermost(void)
{
    count = mv_native_walk(&past, addresses, MOST);
    after++;
}

static APART void middle(int depth)
{
    if (depth > 0)
        middle(depth - 1);
    else
        innermost();
    after++;
}

static APART void outermost(int depth)
{
    middle(depth);
    after++;
}

static bool is_in(uint64_t address, void (*function)(void), size_t bytes)
{
    uint64_t first = (uint64_t)(uintptr_t)function;
    return address > first && address <= first + bytes;
}

/* The frames of the walk itself may come before the caller's. */
static uint32_t index_of_innermost(void)
{
    for (uint32_t i = 0; i < count; i++)
        if (is_in(addresses[i], innermost, 256))
            return i;
    cr_assert_fail("%u frames, and none of them in innermost()", count);
    return 0;
}

Test(native_frames, native_frames_are_the_calling_functions)
{
    cr_assert(mv_native_start());
    cr_assert_not_null(mv_native_unwinder());
    outermost(3);
    uint32_t at = index_of_innermost();
    cr_assert_gt(count, at + 6);
    for (uint32_t i = 1; i <= 4; i++)
        cr_expect(is_in(addresses[at + i], (void (*)(void))middle, 256), "frame %u", i);
    cr_expect(is_in(addresses[at + 5], (void (*)(void))outermost, 256));
}

Test(native_frames, deep_stacks_lose_their_outermost_frames)
{
    cr_assert(mv_native_start());
    outermost(2000);
    cr_assert_eq(count, MOST);
    cr_expect(is_in(addresses[MOST - 1], (void (*)(void))middle, 256));
}

static int walk_once(const void *a, const void *b)
{
    (void)a;
    (void)b;
    if (count == 0)
        outermost(1);
    return 0;
}

/* Through a function of the C library. */
Test(native_frames, native_frames_are_walked_through_other_libraries)
{
    int numbers[2] = {2, 1};
    bool has_library = false;

    cr_assert(mv_native_start());
    count = 0;
    qsort(numbers, 2, sizeof *numbers, walk_once);
    const mv_module *library = mv_module_at((uint64_t)(uintptr_t)dlsym(RTLD_NEXT, "qsort"));
    cr_assert_not_null(library);
    for (uint32_t i = 0; i < count; i++)
        has_library = has_library || mv_module_at(addresses[i]) == library;
    cr_expect(has_library || strstr(library->path, "asan"), "%s", library->path);
}

static void *walk_in_thread(void *context)
{
    static _Thread_local mv_native_past own;
    uint64_t mine[MOST];
    atomic_uint *walks = context;

    for (int i = 0; i < 2000; i++) {
        uint32_t frames = mv_native_walk(&own, mine, MOST);
        if (frames > 1 && mv_module_at(mine[0]))
            atomic_fetch_add(walks, 1);
    }
    return NULL;
}

Test(native_frames, native_frames_are_walked_in_many_threads)
{
    pthread_t threads[8];
    atomic_uint walks = 0;

    cr_assert(mv_native_start());
    for (int i = 0; i < 8; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, walk_in_thread, &walks), 0);
    for (int i = 0; i < 20; i++) { /* the list of files changes during the walk */
        void *library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library)
            dlclose(library);
    }
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(walks, 8 * 2000);
}

/* Each frame must equal that from the C library's own unwinder. */
static APART void compare_with_the_c_library(void)
{
    void *theirs[MOST];
    uint32_t want, at = 0, from = 0;

    count = mv_native_walk(&past, addresses, MOST);
    want = (uint32_t)backtrace(theirs, MOST);
    do { /* the first one or two are in this function, and in frames that a sanitizer adds */
        from++;
        for (at = 0; at < count && addresses[at] != (uint64_t)(uintptr_t)theirs[from];)
            at++;
    } while (at == count && from < 3);
    cr_assert_gt(want, from + 1);
    cr_assert_eq(count - at, want - from, "%u frames from the %u-th on, not %u", count, at, want);
    for (uint32_t i = from; i < want; i++)
        cr_assert_eq(addresses[at + i - from], (uint64_t)(uintptr_t)theirs[i], "frame %u", i);
    after++;
}

/* Makes a tree of calls with various frame sizes, base registers and depths. */
static APART void branch(unsigned path, int depth);

static APART void wide(unsigned path, int depth)
{
    volatile char room[600];

    room[depth] = (char)path;
    branch(path, depth);
    after += room[depth];
}

static APART void by_rbp(unsigned path, int depth)
{
    volatile char *room = __builtin_alloca(16 + path % 200);

    room[0] = (char)path;
    branch(path, depth);
    after += room[0];
}

static APART void branch(unsigned path, int depth)
{
    void (*const next[])(unsigned, int) = {wide, by_rbp, branch};

    if (path % 3 == 0)
        compare_with_the_c_library();
    if (depth == 0)
        return;
    next[path % 3]((path * 1103515245U + 12345U) >> 3, depth - 1);
    next[path / 3 % 3]((path * 69069U + 1U) >> 2, depth - 1);
    after++;
}

static APART void below(int depth)
{
    if (depth > 0)
        below(depth - 1);
    for (unsigned path = 0; depth == 0 && path < 8; path++)
        branch(path, 7);
    after++;
}

/* Each walk must reuse exactly those frames of the last walk that still exist. */
Test(native_frames, native_frames_are_right_after_other_walks)
{
    cr_assert(mv_native_start());
    below(0);
    below(MV_NATIVE_PAST); /* deeper than the saved walk */
}

static void on_signal(int number)
{
    (void)number;
    compare_with_the_c_library();
}

static void *compare_in_thread(void *context)
{
    compare_with_the_c_library();
    raise(SIGUSR1);
    return context;
}

Test(native_frames, native_frames_equal_those_of_the_c_library)
{
    pthread_t thread;

    cr_assert(mv_native_start());
    compare_with_the_c_library();
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    cr_assert_eq(pthread_create(&thread, NULL, compare_in_thread, NULL), 0);
    pthread_join(thread, NULL);
}

/* A handler on a separate stack whose end is unknown. The program's unwinder walks it. */
Test(native_frames, native_frames_are_walked_on_another_stack)
{
    static uint8_t room[1 << 16];
    stack_t other = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    void *first;

    backtrace(&first, 1); /* loads the unwinder, if the program was linked without it */
    cr_assert(mv_native_start());
    cr_assert_eq(sigaltstack(&other, NULL), 0);
    cr_assert_eq(sigaction(SIGUSR1, &action, NULL), 0);
    raise(SIGUSR1);
}

/* ---- rules ---- */

/* Writes "rsp+16", "rbp+16" or "exp". */
static void check_cfa(mv_frame_rule rule, const char *text, unsigned long at)
{
    int offset = 0;

    if (sscanf(text, "rsp+%d", &offset) == 1)
        cr_assert(rule.cfa == MV_CFA_RSP && rule.cfa_offset == offset, "%lx: %s", at, text);
    else if (sscanf(text, "rbp+%d", &offset) == 1)
        cr_assert(rule.cfa == MV_CFA_RBP && rule.cfa_offset == offset, "%lx: %s", at, text);
    else
        cr_assert(rule.cfa != MV_CFA_RSP && rule.cfa != MV_CFA_RBP, "%lx: %s", at, text);
}

/* "c-16", "u", "exp". */
static void check_rbp(mv_frame_rule rule, const char *text, unsigned long at)
{
    int offset = 0;

    if (sscanf(text, "c%d", &offset) == 1)
        cr_assert(rule.rbp == MV_SAVED_AT_CFA && rule.rbp_offset == offset, "%lx: %s", at, text);
    else
        cr_assert_neq(rule.rbp, MV_SAVED_AT_CFA, "%lx: %s", at, text);
}

/* Every row of every function's table must equal readelf's output. */
static unsigned check_rules_of(const char *path, uint64_t bias)
{
    char command[PATH_MAX + 64], line[1024], rbp_text[64];
    int rbp = -1;
    unsigned checked = 0, left_out = 0;

    snprintf(command, sizeof command, "readelf -wF '%s' 2>/dev/null", path);
    FILE *in = popen(command, "r");
    cr_assert_not_null(in);
    while (fgets(line, sizeof line, in)) {
        char *words[24], *rest = NULL;
        int n = 0;
        for (char *w = strtok_r(line, " \n", &rest); w && n < 24; w = strtok_r(NULL, " \n", &rest))
            words[n++] = w;
        if (n > 1 && strcmp(words[0], "LOC") == 0) {
            for (rbp = n - 1; rbp > 0 && strcmp(words[rbp], "rbp") != 0;)
                rbp--;
        } else if (n > 2 && strlen(words[0]) == 16 && strspn(words[0], "0123456789abcdef") == 16 &&
                   !strchr(words[1], '=') && strlen(words[1]) != 16) {
            unsigned long at = strtoul(words[0], NULL, 16);
            mv_frame_rule rule = mv_eh_frame_rule(bias + at);
            if (rule.cfa == MV_CFA_END || rule.cfa == MV_CFA_UNKNOWN) {
                left_out++;
                continue;
            }
            snprintf(rbp_text, sizeof rbp_text, "%s", rbp > 0 && rbp < n ? words[rbp] : "u");
            check_cfa(rule, words[1], at);
            check_rbp(rule, rbp_text, at);
            checked++;
        }
    }
    pclose(in);
    cr_expect_lt(left_out, checked / 100, "%u of %u are not known", left_out, checked);
    return checked;
}

Test(eh_frame, rules_of_the_c_library_are_read)
{
    const mv_module *libc =
        mv_module_at((uint64_t)(uintptr_t)dlsym(RTLD_NEXT, "gnu_get_libc_version"));

    cr_assert_not_null(libc);
    cr_assert_gt(check_rules_of(libc->path, libc->bias), 10000);
}

Test(eh_frame, code_without_a_table_has_no_rule)
{
    int on_the_stack = 0;

    cr_expect_eq(mv_eh_frame_rule((uint64_t)(uintptr_t)&on_the_stack).cfa, MV_CFA_UNKNOWN);
    cr_expect_eq(mv_eh_frame_rule((uint64_t)(uintptr_t)&after).cfa, MV_CFA_END);
}

/* ---- modules ---- */

Test(modules, the_program_itself_is_a_module)
{
    const mv_module *module = mv_module_at((uint64_t)(uintptr_t)innermost);
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    cr_assert_gt(length, 0);
    path[length] = 0;
    cr_assert_not_null(module);
    cr_expect_str_eq(module->path, path);
    cr_expect_eq(mv_module_at((uint64_t)(uintptr_t)&after), module, "data too");
    cr_expect_eq(mv_module_at(module->first), module);
    cr_expect_eq(mv_module_at(module->end - 1), module);
}

Test(modules, addresses_outside_all_modules_have_none)
{
    int on_the_stack = 0;

    cr_expect_null(mv_module_at(0));
    cr_expect_null(mv_module_at(4096));
    cr_expect_null(mv_module_at(UINT64_MAX));
    cr_expect_null(mv_module_at((uint64_t)(uintptr_t)&on_the_stack));
}

/* The build id of every loaded file must equal that of `file`. */
static int check_build_id(struct dl_phdr_info *info, size_t size, void *context)
{
    unsigned *checked = context;
    char command[PATH_MAX + 64], line[128] = "", want[128] = "";

    (void)size;
    if (info->dlpi_name[0] != '/')
        return 0;
    const mv_module *module = mv_module_at(info->dlpi_addr + info->dlpi_phdr[0].p_vaddr);
    cr_assert_not_null(module, "%s", info->dlpi_name);
    cr_expect_str_eq(module->path, info->dlpi_name);
    cr_expect_eq(module->bias, info->dlpi_addr);
    snprintf(command, sizeof command, "readelf -n '%s' 2>/dev/null | sed -n 's/.*Build ID: //p'",
             info->dlpi_name);
    FILE *in = popen(command, "r");
    if (!in || !fgets(want, sizeof want, in))
        want[0] = 0;
    if (in)
        pclose(in);
    want[strcspn(want, "\n")] = 0;
    for (uint32_t i = 0; i < module->build_id_bytes; i++)
        snprintf(line + 2 * i, 3, "%02x", module->build_id[i]);
    cr_expect_str_eq(line, want, "%s", info->dlpi_name);
    ++*checked;
    return 0;
}

Test(modules, build_ids_equal_those_of_the_files)
{
    unsigned checked = 0;

    dl_iterate_phdr(check_build_id, &checked);
    cr_assert_gt(checked, 3);
}

Test(modules, modules_may_come_and_go)
{
    const mv_module *here = mv_module_at((uint64_t)(uintptr_t)innermost);
    void *library = dlopen(MV_SYMBOL_SAMPLE, RTLD_NOW | RTLD_LOCAL);
    char path[PATH_MAX];

    cr_assert_not_null(library, "%s", dlerror());
    uint64_t address = (uint64_t)(uintptr_t)dlsym(library, "sample_plain");
    const mv_module *there = mv_module_at(address);
    cr_assert_not_null(there);
    cr_assert_not_null(strstr(there->path, "symbol_sample"));
    memcpy(path, there->path, strlen(there->path) + 1);
    dlclose(library);
    cr_expect_null(mv_module_at(address), "it is not loaded any more");
    cr_expect_str_eq(there->path, path, "its texts stay");
    library = dlopen(MV_SYMBOL_SAMPLE, RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(library);
    const mv_module *again = mv_module_at((uint64_t)(uintptr_t)dlsym(library, "sample_plain"));
    cr_assert_not_null(again);
    cr_expect(again == there || again->bias != there->bias, "the same place: the same module");
    cr_expect_eq(mv_module_at((uint64_t)(uintptr_t)innermost), here);
    dlclose(library);
}
