/* The program for testing the hooks: `hooked MODE [ARGUMENT...]` does one thing and prints the
 * result. It must print the same with and without the hooks. */
#include "capture/hooks/hooks.h"
#include "capture/memviz.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int any_call(void *, void *, void *, void *, void *, void *, void *, void *);
typedef int get_proc_fn(const char *, void **, int, uint64_t, void *);

static void *must(void *found)
{
    if (!found) {
        printf("%s\n", dlerror());
        exit(1);
    }
    return found;
}

/* If there is no result, prints the error text without the path of the searched file, which is the
 * only part that may differ. */
static void show_lookup(const char *what, void *found)
{
    const char *error = dlerror();
    const char *text = error ? strstr(error, ": ") : NULL;

    printf("%s: %s%s\n", what, found ? "found" : "null", text ? text : "");
}

typedef struct {
    const char *name, *base;
    unsigned since, flags;
    bool looks_up;
    mv_any_fn *linked;
} row;

#ifdef LINKED
#ifdef ORPHAN
#define DECLARE(name, params) int name MV_PARAMS params __attribute__((weak));
#else
#define DECLARE(name, params) int name MV_PARAMS params;
#endif
#define MV_HOOK(name, base, since, flags, ACTION, params, ...) DECLARE(name, params)
#define MV_LAUNCH(name, base, since, flags, params, ...)       DECLARE(name, params)
#define MV_WAIT(name, base, since, flags, params, ...)         DECLARE(name, params)
#define MV_RANGE(name, base, since, flags, params, ...)        DECLARE(name, params)
#define MV_LOOKUP(name, base, since, flags, params, ...)       DECLARE(name, params)
#include "capture/hooks/hooks.def"
#define LINK(name) (mv_any_fn *)name
#else
#define LINK(name) NULL
#endif

static const row rows[] = {
#define MV_HOOK(name, base, since, flags, ...)   {#name, #base, since, flags, false, LINK(name)},
#define MV_LAUNCH(name, base, since, flags, ...) {#name, #base, since, flags, false, LINK(name)},
#define MV_WAIT(name, base, since, flags, ...)   {#name, #base, since, flags, false, LINK(name)},
#define MV_RANGE(name, base, since, flags, ...)  {#name, #base, since, flags, false, LINK(name)},
#define MV_LOOKUP(name, base, since, flags, ...) {#name, #base, since, flags, true, LINK(name)},
#include "capture/hooks/hooks.def"
};

/* All parameters point at something. That is enough for the stand-ins, which write only through
 * output parameters. The descriptor's bytes mean a node that allocates, or memory on device 3. */
static int call_with_anything(mv_any_fn *function)
{
    static int32_t descriptor[1024];
    static uint64_t out[512];
    any_call *call = (any_call *)function;

    memset(descriptor, 0, sizeof descriptor);
    descriptor[0] = MV_CUDA_NODE_MEM_ALLOC;
    descriptor[2] = MV_CUDA_LOCATION_DEVICE;
    descriptor[3] = 3;
    return call(out, descriptor, descriptor, descriptor, descriptor, descriptor, descriptor,
                descriptor);
}

static mv_any_fn *by_get_proc(const row *r)
{
    static get_proc_fn *get;
    uint64_t flags = r->flags & MV_PTSZ ? MV_CUDA_PER_THREAD_STREAM : 0;
    void *found = NULL;

    if (!get) {
        void *driver = must(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
        get = (get_proc_fn *)must(dlsym(driver, "cuGetProcAddress_v2"));
    }
    return get(r->base, &found, (int)r->since, flags, NULL) == 0 ? (mv_any_fn *)found : NULL;
}

static int every(const char *way)
{
    void *runtime = strcmp(way, "dlsym") == 0 ? must(dlopen("libcudart.so.12", RTLD_LAZY)) : NULL;
    void *driver = strcmp(way, "dlsym") == 0 ? must(dlopen("libcuda.so.1", RTLD_LAZY)) : NULL;

    for (const row *r = rows; r < rows + sizeof rows / sizeof *rows; r++) {
        mv_any_fn *function = r->linked;
        if (r->looks_up)
            continue;
        if (strcmp(way, "dlsym") == 0)
            function = (mv_any_fn *)must(dlsym(r->flags & MV_RUNTIME ? runtime : driver, r->name));
        else if (strcmp(way, "getproc") == 0 && r->flags & MV_RUNTIME)
            continue;
        else if (strcmp(way, "getproc") == 0)
            function = by_get_proc(r);
        if (!function || call_with_anything(function) != 0)
            return printf("%s: not called\n", r->name), 1;
        printf("%s\n", r->name);
    }
    return 0;
}

/* ---- a few calls in detail ---- */

static int (*runtime_malloc)(void **, size_t);
static int (*runtime_free)(void *);

static void *open_runtime(const char *file)
{
    void *runtime = must(dlopen(file, RTLD_NOW | RTLD_LOCAL));

    runtime_malloc = (int (*)(void **, size_t))must(dlsym(runtime, "cudaMalloc"));
    runtime_free = (int (*)(void *))must(dlsym(runtime, "cudaFree"));
    return runtime;
}

static int calls(void)
{
    void *ptr = NULL;

    open_runtime("libcudart.so.12");
    int result = runtime_malloc(&ptr, 1000);
    printf("malloc %d %p\n", result, ptr);
    result = runtime_free(ptr);
    printf("free %d\n", result);
    return 0;
}

static void *free_it(void *ptr)
{
    runtime_free(ptr);
    return NULL;
}

/* One thread's free takes a long time ($FAKE_WAIT). Another thread allocates 50 ms after the free
 * began. */
static int overlapping(void)
{
    void *runtime = open_runtime("libcudart.so.12"), *ptr = NULL;
    int (*waiting)(void) = (int (*)(void))must(dlsym(runtime, "cudaFakeWaiting"));
    void (*end)(void) = (void (*)(void))must(dlsym(runtime, "cudaFakeEnd"));
    pthread_t thread;

    runtime_malloc(&ptr, 1000);
    if (pthread_create(&thread, NULL, free_it, ptr) != 0)
        return 1;
    while (!waiting())
        usleep(1000);
    usleep(50000);
    runtime_malloc(&ptr, 2000);
    end();
    return pthread_join(thread, NULL);
}

/* Threads that call from new places, so that each place's library is a new name. At the same time
 * another thread makes marks with new texts, which take a long time to write. */
enum { CROWD = 8, LONG_TEXT = 60 << 10, LONG_TEXTS = 300 };
static pthread_barrier_t crowded;
static atomic_int marked;

static void *call_from_many_places(void *unused)
{
    void *ptr = NULL;

#define CALL       runtime_malloc(&ptr, 1);
#define CALLS(...) __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__
    pthread_barrier_wait(&crowded);
    while (!marked)
        sched_yield();
    CALLS(CALLS(CALLS(CALLS(CALL))))
#undef CALLS
#undef CALL
    return unused;
}

static void *mark_at_length(void *unused)
{
    static char text[LONG_TEXT];

    memset(text, 'x', sizeof text - 1);
    pthread_barrier_wait(&crowded);
    for (int i = 0; i < LONG_TEXTS; i++) {
        snprintf(text, 8, "%07d", i);
        text[7] = ' ';
        memviz_mark(text);
        marked = i > 10;
    }
    return unused;
}

static int crowd(void)
{
    pthread_t threads[CROWD];
    void *ptr = NULL;

    open_runtime("libcudart.so.12");
    runtime_malloc(&ptr, 1);
    pthread_barrier_init(&crowded, NULL, CROWD);
    for (int i = 0; i < CROWD; i++)
        if (pthread_create(&threads[i], NULL, i ? call_from_many_places : mark_at_length, NULL) !=
            0)
            return 1;
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* Calls whose sizes are not parameters. */
static int sizes(void)
{
    void *runtime = must(dlopen("libcudart.so.12", RTLD_NOW)), *out = NULL;
    void *driver = must(dlopen("libcuda.so.1", RTLD_NOW));
    int (*pitch)(void **, size_t *, size_t, size_t) =
        (int (*)(void **, size_t *, size_t, size_t))must(dlsym(runtime, "cudaMallocPitch"));
    int (*solid)(mv_cuda_pitched *, mv_cuda_extent) =
        (int (*)(mv_cuda_pitched *, mv_cuda_extent))must(dlsym(runtime, "cudaMalloc3D"));
    int (*mipmapped)(void **, const mv_cuda_channels *, mv_cuda_extent, unsigned, unsigned) =
        (int (*)(void **, const mv_cuda_channels *, mv_cuda_extent, unsigned, unsigned))must(
            dlsym(runtime, "cudaMallocMipmappedArray"));
    int (*array)(void **, const mv_cuda_array_3d *) =
        (int (*)(void **, const mv_cuda_array_3d *))must(dlsym(driver, "cuArray3DCreate_v2"));
    int (*node)(void **, void *, void *, void *, size_t, mv_cuda_node *) =
        (int (*)(void **, void *, void *, void *, size_t, mv_cuda_node *))must(
            dlsym(driver, "cuGraphAddNode_v2"));
    mv_cuda_channels half4 = {16, 16, 16, 16, 2}, packed = {8, 8, 8, 0, 4};
    mv_cuda_array_3d of_floats = {10, 0, 0, 0x20, 2, 0}, of_blocks = {10, 0, 0, 0x91, 2, 0};
    mv_cuda_node copies = {.kind = 1};
    mv_cuda_node allocates = {.kind = 10, .alloc.size = 777, .alloc.pool = {0, 0, 1, 6}};
    mv_cuda_pitched box;
    size_t pitched;

    pitch(&out, &pitched, 100, 10);
    solid(&box, (mv_cuda_extent){100, 10, 3});
    mipmapped(&out, &half4, (mv_cuda_extent){8, 4, 0}, 3, 0);
    mipmapped(&out, &half4, (mv_cuda_extent){8, 4, 2}, 2, MV_CUDA_ARRAY_LAYERED);
    mipmapped(&out, &packed, (mv_cuda_extent){8, 4, 2}, 2, 0);
    array(&out, &of_floats);
    array(&out, &of_blocks);
    node(&out, NULL, NULL, NULL, 0, &copies);
    node(&out, NULL, NULL, NULL, 0, &allocates);
    return 0;
}

static int keeps_errno(void)
{
    void *ptr = NULL;

    open_runtime("libcudart.so.12");
    for (int i = 0; i < 2; i++) {
        errno = EDOM;
        runtime_malloc(&ptr, 1000);
        printf("errno %d\n", errno);
        errno = EDOM;
        runtime_free(ptr);
        printf("errno %d\n", errno);
    }
    errno = EDOM;
    memviz_mark("x");
    dlsym(RTLD_DEFAULT, "cudaMalloc");
    printf("errno %d\n", errno);
    return 0;
}

/* Opens each library and makes it allocate and free. */
static int plugins(int mode, char **files)
{
    for (; *files; files++) {
        void *library = must(dlopen(*files, mode));
        void *(*allocate)(size_t) = (void *(*)(size_t))must(dlsym(library, "plugin_malloc"));
        int (*give_back)(void *) = (int (*)(void *))must(dlsym(library, "plugin_free"));
        void *ptr = allocate(512);
        printf("%p\n", ptr);
        printf("%d\n", give_back(ptr));
    }
    return 0;
}

/* Loads and unloads libraries, so that their addresses change. */
static int reload(char **files)
{
    for (int i = 0; i < 20; i++) {
        void *library = must(dlopen(files[i % 2], RTLD_NOW | RTLD_LOCAL));
        void *(*allocate)(size_t) = (void *(*)(size_t))must(dlsym(library, "plugin_malloc"));
        printf("%" PRIxPTR "\n", (uintptr_t)allocate(512) >> 40);
        dlclose(library);
        mmap(NULL, 4096 << i % 3, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    return 0;
}

/* Does the same with runtimes, each at a different address, because other memory fills the old
 * one. */
static int reload_runtimes(void)
{
    static const char *const files[] = {"libcudart.so.12", "libcudart.so.13"};

    for (int i = 0; i < 20; i++) {
        void *runtime = open_runtime(files[i % 2]), *ptr = NULL;
        int result = runtime_malloc(&ptr, 512);
        printf("%d %" PRIxPTR "\n", result, (uintptr_t)ptr >> 40);
        dlclose(runtime);
        mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    return 0;
}

/* ---- looking things up ---- */

int defined_here(void);
int defined_here(void)
{
    return 1;
}

static int lookups(void)
{
    void *program = must(dlopen(NULL, RTLD_NOW));
    void *math = must(dlopen("libm.so.6", RTLD_NOW));
    void *own = dlsym(RTLD_DEFAULT, "defined_here");

    printf("own %d\n", own == (void *)defined_here);
    show_lookup("own, next", dlsym(RTLD_NEXT, "defined_here"));
    for (int i = 0; i < 3; i++) {
        show_lookup("cos", dlsym(math, "cos"));
        show_lookup("cosine", dlsym(math, "cosine"));
        show_lookup("cu", dlsym(math, "cu"));
        show_lookup("cudaMalloc, math", dlsym(math, "cudaMalloc"));
        show_lookup("cudaMalloc, default", dlsym(RTLD_DEFAULT, "cudaMalloc"));
        show_lookup("cudaMalloc, next", dlsym(RTLD_NEXT, "cudaMalloc"));
        show_lookup("cudaMalloc, program", dlsym(program, "cudaMalloc"));
        show_lookup("cuMemAlloc_v2, default", dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
        show_lookup("empty", dlsym(math, ""));
        show_lookup("c", dlsym(RTLD_DEFAULT, "c"));
        show_lookup("cos, version", dlvsym(math, "cos", "GLIBC_2.2.5"));
        show_lookup("cos, no version", dlvsym(math, "cos", "GLIBC_0"));
        show_lookup("cudaMalloc, version", dlvsym(math, "cudaMalloc", "GLIBC_2.2.5"));
    }
    printf("malloc, next %d\n", dlsym(RTLD_NEXT, "malloc") == dlsym(RTLD_DEFAULT, "malloc"));
    printf("dlsym, libc %d\n", dlsym(RTLD_NEXT, "strlen") != NULL);
    return 0;
}

/* The error from a failed look-up must stay readable if CUDA is called before it is read, from a
 * place that has not called before. */
static int keeps_dlerror(char **files)
{
    void *library = must(dlopen(files[0], RTLD_NOW | RTLD_LOCAL));
    void *(*allocate)(size_t) = (void *(*)(size_t))must(dlsym(library, "plugin_malloc"));
    int (*give_back)(void *) = (int (*)(void *))must(dlsym(library, "plugin_free"));
    void *ptr = allocate(512);

    dlopen("no-such-library.so", RTLD_NOW);
    give_back(ptr);
    show_lookup("pending", NULL);
    dlsym(library, "no_such_symbol");
    give_back(ptr);
    show_lookup("pending", NULL);
    show_lookup("version", dlvsym(library, "cudaMalloc", "libcudart.so.12"));
    show_lookup("other version", dlvsym(library, "cudaMalloc", "libcudart.so.13"));
    show_lookup("not global", dlsym(RTLD_DEFAULT, "cudaMalloc"));
    return 0;
}

static void *look_up_often(void *failed)
{
    void *math = dlopen("libm.so.6", RTLD_NOW);
    void *cosine = dlsym(math, "cos");

    for (int i = 0; i < 2000; i++) {
        void *ptr = NULL;
        char name[32];
        snprintf(name, sizeof name, "cu_missing_%d", i);
        if (dlsym(math, "cos") != cosine || dlsym(math, name) || !strstr(dlerror(), name))
            return failed;
        if (i % 200 == 0 && (runtime_malloc(&ptr, 256) != 0 || runtime_free(ptr) != 0))
            return failed;
    }
    return NULL;
}

static int threads(void)
{
    enum { THREADS = 8 };
    pthread_t thread[THREADS];
    void *failed;
    int failures = 0;

    open_runtime("libcudart.so.12");
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, look_up_often, thread);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &failed);
        failures += failed != NULL;
    }
    printf("%d failures\n", failures);
    return 0;
}

/* Gets a driver function through the runtime's look-up, and through the old look-up with its
 * versions. */
static int entry_points(const char *runtime_file)
{
    void *runtime = must(dlopen(runtime_file, RTLD_NOW | RTLD_LOCAL));
    void *driver = must(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
    int (*by_version)(const char *, void **, unsigned, unsigned long long, void *) =
        (int (*)(const char *, void **, unsigned, unsigned long long, void *))must(
            dlsym(runtime, "cudaGetDriverEntryPointByVersion"));
    int (*plain)(const char *, void **, unsigned long long, void *) =
        (int (*)(const char *, void **, unsigned long long, void *))must(
            dlsym(runtime, "cudaGetDriverEntryPoint_ptsz"));
    int (*old)(const char *, void **, int, uint64_t) =
        (int (*)(const char *, void **, int, uint64_t))must(dlsym(driver, "cuGetProcAddress"));
    mv_any_fn *function = NULL;

    printf("%d\n", by_version("cuMemCreate", (void **)&function, 12000, 0, NULL));
    printf("%d\n", call_with_anything(function));
    printf("%d\n", plain("cuMemAllocAsync", (void **)&function, 0, NULL));
    printf("%d\n", call_with_anything(function));
    printf("%d\n", old("cuMemAlloc", (void **)&function, 2000, 0));
    printf("%d\n", call_with_anything(function));
    printf("%d\n", old("cuMemAlloc", (void **)&function, 12000, 0));
    printf("%d\n", call_with_anything(function));
    printf("%d %d\n", old("cuNothing", (void **)&function, 12000, 0), function == NULL);
    return 0;
}

#ifdef LINKED
static int linked_calls(void)
{
    void *ptr = NULL;
    mv_cuda_ptr address = 0;
    int result = cudaMalloc(&ptr, 512);

    printf("%d %p\n", result, ptr);
    result = cudaFree(ptr);
    printf("%d\n", result);
    result = cuMemAlloc_v2(&address, 512);
    printf("%d %llx\n", result, address);
    return 0;
}
#endif

/* ---- PyTorch, marks ---- */

typedef struct {
    int8_t type, index;
} c10_device;

typedef struct {
    void *ptr;
    int64_t size;
    uint64_t allocated, reserved;
    c10_device where;
    unsigned calls;
} c10_report;

static int framework(char **files)
{
    void *library = must(dlopen(files[0], RTLD_NOW | RTLD_LOCAL));
    void *c10 = must(dlopen(files[1], RTLD_NOW | RTLD_NOLOAD));
    bool (*allocate_on)(int) = (bool (*)(int))must(dlsym(library, "allocate_on"));
    c10_report (*last)(void) = (c10_report(*)(void))must(dlsym(c10, "fake_c10_last"));

    for (int type = 0; type < 2; type++) {
        bool enabled = allocate_on(type);
        c10_report r = last();
        printf("%d: %d, %u calls, last %p %" PRId64 " %" PRIu64 " %" PRIu64 " %d:%d\n", type,
               enabled, r.calls, r.ptr, r.size, r.allocated, r.reserved, r.where.type,
               r.where.index);
    }
    return 0;
}

static int marks(void)
{
    int evaluated = 0;

    memviz_push("forward");
    memviz_mark((evaluated++, "step 3"));
    memviz_pop();
    printf("%d\n", evaluated);
    return 0;
}

static int heaps(void)
{
    unsigned pool = memviz_heap("pool"), cuda = memviz_heap("cuda");
    char name[100];
    int evaluated = 0;

    memviz_alloc(pool, (void *)0x1000, (evaluated++, 512));
    memviz_free(memviz_heap("pool"), (void *)0x1000);
    memviz_alloc(cuda, (void *)0x2000, (size_t)-1);
    memviz_alloc(pool, NULL, 5);
    memviz_alloc(0, (void *)0x3000, 5);
    memviz_alloc(60, (void *)0x3000, 5);
    memviz_free(12345, (void *)0x3000);
    memviz_alloc(memviz_heap(NULL), (void *)0x4000, 1);
    memset(name, 'x', 99);
    memcpy(name + 62, "\xc3\xa9", 2); /* a letter that truncation would cut in half */
    name[99] = 0;
    memviz_alloc(memviz_heap(name), (void *)0x5000, 1);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "heap %d", i);
        pool = memviz_heap(name);
    }
    memviz_alloc(pool, (void *)0x6000, 1);
    printf("%d\n", evaluated);
    return 0;
}

enum { HEAP_THREADS = 8, HEAP_BLOCKS = 2000, HEAPS = 40 };

static void *use_heaps(void *number)
{
    for (uintptr_t i = 0; i < HEAP_BLOCKS; i++) {
        void *block = (void *)(((uintptr_t)number << 40) + i * 512);
        char name[32];

        snprintf(name, sizeof name, "heap %d", (int)(i % HEAPS));
        unsigned heap = memviz_heap(name);
        memviz_alloc(heap, block, 512);
        if (i / HEAPS % 2)
            memviz_free(heap, block);
    }
    return NULL;
}

static int heap_threads(void)
{
    pthread_t threads[HEAP_THREADS];

    for (uintptr_t i = 0; i < HEAP_THREADS; i++)
        pthread_create(&threads[i], NULL, use_heaps, (void *)(i + 1));
    for (int i = 0; i < HEAP_THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* ---- NVTX: the effects of its header in a program ---- */

typedef void (*nvtx_fn)(void);
static nvtx_fn nvtx_functions[2][16];
static nvtx_fn *nvtx_tables[2][16];

static int nvtx_module(int module, nvtx_fn ***table, unsigned *size)
{
    int at = module == 1 ? 0 : 1;

    if (module != 1 && module != 5)
        return 0;
    for (int i = 1; i < 16; i++)
        nvtx_tables[at][i] = &nvtx_functions[at][i];
    *table = nvtx_tables[at];
    *size = 16;
    return 1;
}

static const void *nvtx_export_table(uint32_t table)
{
    static const struct {
        size_t size;
        int (*get)(int, nvtx_fn ***, unsigned *);
    } callbacks = {sizeof callbacks, nvtx_module};

    return table == 1 ? &callbacks : NULL;
}

typedef struct {
    uint16_t version, size;
    uint32_t category, color_kind, color, payload_kind, reserved;
    uint64_t payload;
    uint32_t message_kind;
    const void *message;
} nvtx_attributes;

static int nvtx(void)
{
    void *tool = must(dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY));
    int (*start)(const void *(*)(uint32_t)) =
        (int (*)(const void *(*)(uint32_t)))must(dlsym(tool, "InitializeInjectionNvtx2"));
    nvtx_fn *core = nvtx_functions[0], *core2 = nvtx_functions[1];
    nvtx_attributes attributes = {.version = 3, .size = 48};

    printf("%d\n", start(nvtx_export_table));
    printf("%d\n", ((int (*)(const char *))core[9])("forward"));
    printf("%d\n", ((int (*)(const wchar_t *))core[10])(L"h\u00fclle \U0001f600"));
    printf("%d\n", ((int (*)(void))core[11])());
    printf("%d\n", ((int (*)(void))core[11])());
    ((void (*)(const char *))core[2])("step 1");
    uint64_t range = ((uint64_t(*)(const char *))core[5])("copy");
    printf("%d\n", range != 0);
    ((void (*)(uint64_t))core[7])(range);
    printf("%d\n", ((const void *(*)(const char *))core2[12])("TSL") != NULL);
    const void *domain = ((const void *(*)(const char *))core2[12])("NCCL");
    const void *text = ((const void *(*)(const void *, const char *))core2[10])(domain, "reduce");
    attributes.message_kind = 3;
    attributes.message = text;
    ((int (*)(const void *, const void *))core2[4])(domain, &attributes);
    attributes.message_kind = 1;
    attributes.message = "inner";
    ((int (*)(const void *, const void *))core2[4])(domain, &attributes);
    ((int (*)(const char *))core[9])("outside");
    ((int (*)(const void *))core2[5])(domain);
    ((int (*)(void))core[11])();
    ((int (*)(const void *))core2[5])(domain);
    ((int (*)(const void *))core2[5])(domain);
    attributes.message_kind = 3;
    attributes.message = &attributes; /* not one of our handles */
    ((void (*)(const void *, const void *))core2[1])(NULL, &attributes);
    return 0;
}

/* The memory extension: the slots through which it is called, and its own descriptions. */
typedef struct {
    size_t id, slots;
    intptr_t *slot;
} nvtx_segment;

typedef struct {
    uint16_t version, size, module, compatible;
    size_t segments;
    nvtx_segment *segment;
    void *no_export;
    const void *info;
} nvtx_extension;

typedef struct {
    size_t bytes;
    uintptr_t address;
} nvtx_range;

typedef struct {
    uint16_t compatible, size;
    uint32_t type;
    uintptr_t heap;
    size_t count, each;
    const nvtx_range *ranges;
    uintptr_t *handles;
} nvtx_regions;

typedef struct {
    uint16_t compatible, size;
    uint32_t type;
    size_t count, each;
    const void *what;
} nvtx_batch;

typedef struct {
    uint16_t compatible, size;
    uint32_t reserved, usage, type;
    size_t range_bytes;
    const nvtx_range *range;
    uint32_t category, message_kind;
    const void *message;
} nvtx_heap;

static intptr_t nvtx_slots[64]; /* the first one belongs to the extension */

static int nvtx_start(int module, int compatible)
{
    void *tool = must(dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY));
    int (*start)(nvtx_extension *) =
        (int (*)(nvtx_extension *))must(dlsym(tool, "InitializeInjectionNvtxExtension"));
    nvtx_segment segment = {1, 63, nvtx_slots + 1};
    nvtx_extension extension = {
        3, sizeof extension, (uint16_t)module, (uint16_t)compatible, 1, &segment, NULL, NULL};

    return start(&extension);
}

static uintptr_t nvtx_heap_named(const void *domain, uint32_t kind, const void *name)
{
    nvtx_range range = {1 << 20, 0x100000};
    nvtx_heap heap = {.compatible = 0x0102,
                      .size = 48,
                      .usage = 1,
                      .type = 1,
                      .range_bytes = sizeof range,
                      .range = &range,
                      .message_kind = kind,
                      .message = name};

    return ((uintptr_t(*)(const void *, const nvtx_heap *))nvtx_slots[1])(domain, &heap);
}

static int nvtx_memory(void)
{
    void *tool = must(dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY));
    int (*start)(const void *(*)(uint32_t)) =
        (int (*)(const void *(*)(uint32_t)))must(dlsym(tool, "InitializeInjectionNvtx2"));
    nvtx_range ranges[] = {{512, 0x1000}, {1000, 0x1200}};
    uintptr_t handles[2] = {0}, heap, same;
    nvtx_regions add = {0x0102, sizeof add, 1, 0, 2, sizeof *ranges, ranges, handles};
    nvtx_batch resize = {0x0102, sizeof resize, 1, 1, sizeof *ranges, ranges + 1};
    nvtx_batch end = {0x0102, sizeof end, 2, 2, sizeof *handles, handles};

    printf("%d %d %d\n", nvtx_start(2, 0x0102), nvtx_start(1, 0x0103), nvtx_start(1, 0x0102));
    printf("%d %d\n", nvtx_slots[0] == 0, nvtx_slots[8] == 0);
    start(nvtx_export_table);
    const void *domain = ((const void *(*)(const char *))nvtx_functions[1][12])("my library");
    heap = nvtx_heap_named(domain, 1, "arena");
    same = nvtx_heap_named(domain, 2, L"arena");
    add.heap = heap;
    ((void (*)(const void *, const nvtx_regions *))nvtx_slots[4])(domain, &add);
    add.heap = same;
    add.count = 1;
    add.handles = NULL;
    ((void (*)(const void *, const nvtx_regions *))nvtx_slots[4])(domain, &add);
    ranges[1].bytes = 2000;
    ((void (*)(const void *, const nvtx_batch *))nvtx_slots[5])(domain, &resize);
    ((void (*)(const void *, const nvtx_batch *))nvtx_slots[6])(domain, &end);
    ((void (*)(const void *, uintptr_t))nvtx_slots[3])(domain, heap);
    ((void (*)(const void *, uintptr_t))nvtx_slots[2])(domain, same);
    printf("%d\n", nvtx_heap_named(domain, 1, "arena") == same);
    nvtx_heap_named(domain, 0, NULL);
    add.heap = (uintptr_t)-1; /* a handle that belongs to no tool */
    ((void (*)(const void *, const nvtx_regions *))nvtx_slots[4])(domain, &add);
    add.heap = 0; /* the process's handle */
    ((void (*)(const void *, const nvtx_regions *))nvtx_slots[4])(domain, &add);
    add.type = 9;
    ((void (*)(const void *, const nvtx_regions *))nvtx_slots[4])(domain, &add);
    ((void (*)(const void *, const nvtx_regions *))nvtx_slots[4])(domain, NULL);
    ((void (*)(const void *, uintptr_t))nvtx_slots[3])(domain, (uintptr_t)-1);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *mode;
        int (*run)(void);
    } modes[] = {
        {"calls", calls},         {"overlapping", overlapping},
        {"crowd", crowd},         {"sizes", sizes},
        {"nvtx", nvtx},           {"nvtx_memory", nvtx_memory},
        {"heaps", heaps},         {"heap_threads", heap_threads},
        {"errno", keeps_errno},   {"lookups", lookups},
        {"threads", threads},     {"marks", marks},
#ifdef LINKED
        {"linked", linked_calls},
#endif
    };
    const char *mode = argc > 1 ? argv[1] : "";

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(mode, modes[i].mode) == 0)
            return modes[i].run();
    if (strcmp(mode, "every") == 0 && argc == 3)
        return every(argv[2]);
    if (strcmp(mode, "local") == 0)
        return plugins(RTLD_NOW | RTLD_LOCAL, argv + 2);
    if (strcmp(mode, "deepbind") == 0)
        return plugins(RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND, argv + 2);
    if (strcmp(mode, "reload") == 0)
        return argc == 4 ? reload(argv + 2) : reload_runtimes();
    if (strcmp(mode, "dlerror") == 0 && argc == 3)
        return keeps_dlerror(argv + 2);
    if (strcmp(mode, "entry") == 0 && argc == 3)
        return entry_points(argv[2]);
    if (strcmp(mode, "c10") == 0 && argc == 4)
        return framework(argv + 2);
    return 2;
}
