/* Symbols of a library with known functions and lines (tests/programs/symbol_sample.c): unchanged,
 * with less and less information, damaged, and missing. */
#include "parse/symbols/symbols.h"

#include "parse/model/trace.h"
#include "parse/symbols/demangle.h"
#include "tests/fixture/fixture.h"

#include <dlfcn.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

typedef struct {
    const void *address;
    int line;
} sample_place;

typedef struct {
    mv_arena *arena;
    mv_symbols out;
    uint8_t build_id[32];
    uint64_t build_id_bytes;
    uint64_t plain, inlined, cplusplus; /* return addresses minus the bias */
    int plain_line, inlined_line, middle_line, outer_line, cplusplus_line;
} sample;

static sample s;

static uint64_t read_build_id(const char *path, uint8_t *out)
{
    char command[512], line[128] = "";
    uint64_t bytes = 0;

    snprintf(command, sizeof command, "readelf -n '%s' | sed -n 's/.*Build ID: //p'", path);
    FILE *in = popen(command, "r");
    cr_assert_not_null(in);
    if (fgets(line, sizeof line, in))
        for (unsigned byte; bytes < 32 && sscanf(line + 2 * bytes, "%2x", &byte) == 1;)
            out[bytes++] = (uint8_t)byte;
    pclose(in);
    return bytes;
}

/* Loads the sample and asks it for the addresses of its functions. */
static void start(void)
{
    void *library = dlopen(MV_SYMBOL_SAMPLE, RTLD_NOW | RTLD_LOCAL);
    sample_place (*plain)(void), (*inlined)(int *), (*cplusplus)(void), place;
    int lines[2];
    Dl_info info;

    s = (sample){.arena = mvt_arena_of(64 << 20)};
    cr_assert_not_null(library, "%s", dlerror());
    *(void **)&plain = dlsym(library, "sample_plain");
    *(void **)&inlined = dlsym(library, "sample_with_inlined");
    *(void **)&cplusplus = dlsym(library, "_ZN6memviz6sample5placeIiEEvT_");
    cr_assert(plain && inlined && cplusplus && dladdr((void *)plain, &info));
    uint64_t bias = (uint64_t)(uintptr_t)info.dli_fbase;
    place = plain();
    s.plain = (uint64_t)(uintptr_t)place.address - bias;
    s.plain_line = place.line;
    place = inlined(lines);
    s.inlined = (uint64_t)(uintptr_t)place.address - bias;
    s.inlined_line = place.line;
    s.middle_line = lines[0];
    s.outer_line = lines[1];
    place = cplusplus();
    s.cplusplus = (uint64_t)(uintptr_t)place.address - bias;
    s.cplusplus_line = place.line;
    s.build_id_bytes = read_build_id(MV_SYMBOL_SAMPLE, s.build_id);
    cr_assert_eq(s.build_id_bytes, 20);
}

/* Looks up the three addresses in an order that differs from the file's. */
static void resolve(const char *path)
{
    mv_symbol_module module = {.path = path, .build_id = {s.build_id, s.build_id_bytes}};
    mv_symbol_query queries[] = {{0, s.cplusplus}, {0, s.inlined}, {0, s.plain}};

    mvt_ok(mv_symbols_resolve(s.arena, &module, 1, queries, 3, &s.out, mvt_err()));
    cr_assert_eq(s.out.first[0], 0);
}

#define expect_frame(row, name, path, number)                                        \
    do {                                                                             \
        cr_expect_str_eq(s.out.function[row], (name));                               \
        cr_expect_str_eq(s.out.file[row], (path));                                   \
        cr_expect_eq(s.out.line[row], (number), "row %u: line %ld", (unsigned)(row), \
                     (long)s.out.line[row]);                                         \
    } while (0)

#define SAMPLE_SOURCE MV_SOURCE_DIR "/tests/programs/symbol_sample.c"

static void expect_all_lines(void)
{
    cr_assert_eq(s.out.first[1], 1);
    cr_assert_eq(s.out.first[2], 4);
    cr_assert_eq(s.out.first[3], 5);
    cr_expect_eq(s.out.missing, 0);
    expect_frame(0, "void memviz::sample::place<int>(int)", SAMPLE_SOURCE, s.cplusplus_line);
    expect_frame(1, "innermost_inlined", SAMPLE_SOURCE, s.inlined_line);
    expect_frame(2, "middle_inlined", SAMPLE_SOURCE, s.middle_line);
    expect_frame(3, "sample_with_inlined", SAMPLE_SOURCE, s.outer_line);
    expect_frame(4, "sample_plain", SAMPLE_SOURCE, s.plain_line);
}

Test(symbols, functions_lines_and_inlined_calls_are_found)
{
    start();
    resolve(MV_SYMBOL_SAMPLE);
    expect_all_lines();
}

/* Makes a copy of the sample, changed by a binutils command. */
static const char *copy_by(const char *command)
{
    const char *path = mvt_temp_file((mv_span){0});

    const char *line = mvt_format("%s %s %s", command, MV_SYMBOL_SAMPLE, path);
    cr_assert_eq(system(line), 0, "%s", line);
    return path;
}

/* A file that is stripped of everything else has only its exports. */
Test(symbols, without_debugging_information_the_functions_stay)
{
    for (int all = 0; all < 2; all++) {
        const char *path = copy_by(all ? "objcopy --strip-all" : "objcopy --strip-debug");

        start();
        resolve(path);
        cr_assert_eq(s.out.first[3], 3);
        expect_frame(0, "void memviz::sample::place<int>(int)", path, MV_NO_LINE);
        if (!all)
            expect_frame(1, "sample_with_inlined", path, MV_NO_LINE);
        expect_frame(2, "sample_plain", path, MV_NO_LINE);
        cr_expect_eq(s.out.missing, 0);
    }
}

/* A file other than the loaded one must give no symbols. */
static void expect_addresses(const char *path)
{
    resolve(path);
    cr_assert_eq(s.out.first[3], 3, "%s", path);
    cr_expect_eq(s.out.missing, 1);
    const char *name = mvt_format("%s+0x%lx", strrchr(path, '/') ? strrchr(path, '/') + 1 : path,
                                  (unsigned long)s.plain);
    expect_frame(2, name, path, MV_NO_LINE);
}

Test(symbols, symbols_of_another_file_are_not_used)
{
    start();
    s.build_id[3] ^= 1;
    expect_addresses(MV_SYMBOL_SAMPLE);
    s.build_id_bytes = 0;
    expect_addresses(MV_SYMBOL_SAMPLE);
}

Test(symbols, without_a_build_id_a_file_is_identified_by_path)
{
    const char *path = copy_by("objcopy --remove-section=.note.gnu.build-id");

    start();
    s.build_id_bytes = 0;
    resolve(path);
    expect_all_lines();
}

Test(symbols, names_that_are_not_files_print_nothing)
{
    start();
    const char *pipe_path = mvt_format("%s/pipe.so", mvt_temp_folder());
    cr_assert_eq(mkfifo(pipe_path, 0600), 0);
    expect_addresses("/no/such/libfoo.so");
    expect_addresses("/");
    expect_addresses("/dev/zero");
    expect_addresses("relative.so");
    expect_addresses("");
    expect_addresses(MV_SOURCE_DIR "/README.md");
    expect_addresses("/proc/self/mem");
    expect_addresses("/proc/self/exe/../maps");
    expect_addresses(pipe_path);
}

/* Opening a device or a pipe has effects, even if it is not read. */
static void expect_not_opened(const char *path)
{
    int watch = inotify_init1(IN_NONBLOCK);
    char event[sizeof(struct inotify_event) + 256];

    cr_assert_geq(inotify_add_watch(watch, path, IN_OPEN), 0, "%s", path);
    start();
    expect_addresses(path);
    cr_expect_lt(read(watch, event, sizeof event), 0, "%s was opened", path);
    close(watch);
}

Test(symbols, names_that_are_not_files_are_not_opened)
{
    const char *path = mvt_format("%s/pipe.so", mvt_temp_folder());

    cr_assert_eq(mkfifo(path, 0600), 0);
    expect_not_opened(path);
    cr_assert_eq(unlink(path), 0);
    if (mknod(path, S_IFCHR | 0600, makedev(1, 5)) == 0) { /* as root: /dev/zero */
        expect_not_opened(path);
        cr_assert_eq(unlink(path), 0);
    }
}

Test(symbols, a_file_at_another_path_is_not_read)
{
    mv_symbol_module module = {.path = MV_SYMBOL_SAMPLE, .is_elsewhere = true};

    start();
    mv_symbol_query query = {0, s.plain};
    module.build_id = (mv_span){s.build_id, s.build_id_bytes};
    mvt_ok(mv_symbols_resolve(s.arena, &module, 1, &query, 1, &s.out, mvt_err()));
    cr_expect_eq(s.out.missing, 1);
    cr_expect_eq(strncmp(s.out.function[0], "libsymbol_sample.so+0x", 22), 0, "%s",
                 s.out.function[0]);
}

Test(symbols, addresses_in_no_module_have_no_name)
{
    mv_symbol_query queries[] = {{MV_NO_ROW, 0x7f0012345678}, {3, 0}};

    start();
    mvt_ok(mv_symbols_resolve(s.arena, NULL, 0, queries, 2, &s.out, mvt_err()));
    cr_expect_str_eq(s.out.function[0], "0x7f0012345678");
    cr_expect_null(s.out.file[0]);
    cr_expect_eq(s.out.line[0], MV_NO_LINE);
    cr_expect_str_eq(s.out.function[1], "0x0");
}

/* The C library has no DWARF here, but thousands of symbols. Each address in a function must be
 * found. */
Test(symbols, symbols_of_the_c_library_are_found)
{
    static const char *const names[] = {"qsort", "getenv", "printf", "strtol"};
    mv_symbol_module module = {0};
    mv_symbol_query queries[4];
    uint8_t build_id[32];
    Dl_info info;

    start();
    for (int i = 0; i < 4; i++) {
        void *libc = dlopen("libc.so.6", RTLD_NOW);
        cr_assert(dladdr(dlsym(libc, names[i]), &info));
        queries[i] = (mv_symbol_query){0, (uint64_t)(uintptr_t)info.dli_saddr -
                                              (uint64_t)(uintptr_t)info.dli_fbase + 5};
    }
    module = (mv_symbol_module){.path = info.dli_fname,
                                .build_id = {build_id, read_build_id(info.dli_fname, build_id)}};
    mvt_ok(mv_symbols_resolve(s.arena, &module, 1, queries, 4, &s.out, mvt_err()));
    for (int i = 0; i < 4; i++)
        cr_expect(strstr(s.out.function[s.out.first[i + 1] - 1], names[i]), "%s is not %s",
                  s.out.function[i], names[i]);
}

/* Damaged files must cause no crash and no hang, and each query must get an answer. */
LongTest(symbols, damaged_files_do_no_harm)
{
    mv_span whole = mvt_file(mvt_memory(), MV_SYMBOL_SAMPLE);
    uint8_t *changed = mv_push_array(mvt_memory(), uint8_t, whole.length);
    uint32_t bytes = (uint32_t)whole.length;
    uint64_t state = 99;

    start();
    for (uint32_t round = 0; round < 600; round++) {
        uint64_t length = round % 3 == 0 ? whole.length * (round + 1) / 600 : whole.length;
        memcpy(changed, whole.data, bytes);
        for (uint32_t i = 0; i < 1 + round % 40; i++) {
            uint32_t at =
                round % 2 ? bytes - 1 - mvt_random(&state, bytes / 3) : mvt_random(&state, bytes);
            changed[at] = (uint8_t)mvt_random(&state, 256);
        }
        const char *path = mvt_temp_file((mv_span){changed, length});
        mv_arena_mark here = mv_arena_here(s.arena);
        resolve(path);
        cr_assert_geq(s.out.first[3], 3);
        mv_arena_rewind(s.arena, here);
        mvt_end_now(path);
    }
}

Test(symbols, a_small_budget_is_an_error)
{
    start();
    for (uint64_t limit = 0; limit < 96 << 10; limit += 4 << 10) {
        mv_symbol_module module = {.path = MV_SYMBOL_SAMPLE,
                                   .build_id = {s.build_id, s.build_id_bytes}};
        mv_symbol_query query = {0, s.inlined};
        mv_arena *arena = mvt_arena_of(limit);
        mv_code code = mv_symbols_resolve(arena, &module, 1, &query, 1, &s.out, mvt_err());
        cr_assert(code == MV_OK || code == MV_NOMEM);
        if (limit == 0)
            cr_assert_eq(code, MV_NOMEM);
        mv_arena_release(arena);
    }
}

static void expect_name(const char *mangled, const char *want)
{
    cr_expect_str_eq(mv_demangle(mvt_memory(), mangled), want);
}

Test(demangle, names_are_demangled)
{
    expect_name("main", "main");
    expect_name("", "");
    expect_name("_Z", "_Z");
    expect_name("_ZN2at5emptyEv", "at::empty()");
    expect_name("_ZN3c104cuda20CUDACachingAllocator3getEv.cold",
                "c10::cuda::CUDACachingAllocator::get() [clone .cold]");
    expect_name("_RNvCs1234_7mycrate3foo", "mycrate::foo");
    expect_name("_ZN\xff\xfe", "_ZN\xff\xfe");
}

/* P<P<P<..., ...>, ...>, ...>: each level contains the one below twice, 2^30 in all. */
Test(demangle, endless_names_are_cut)
{
    enum { LEVELS = 30 };
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *name = "_Z1f1P";

    for (int i = 0; i < LEVELS; i++)
        name = mvt_format("%sIS_", name);
    name = mvt_format("%sIilE", name);
    for (int i = 0; i < LEVELS; i++)
        name = mvt_format("%sS%c_E", name, digits[i]);
    cr_expect_eq(strlen(mv_demangle(mvt_memory(), name)), 4096);
}
