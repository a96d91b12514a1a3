/* Watches the loader's list of files. When preloaded, it counts how often a process reads the list,
 * and prints the number at the end. With WATCHED_RAISES=1, the first thread receives SIGUSR1
 * whenever it reads the list, while it holds the loader's lock. */
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __x86_64__
#define OLDEST "GLIBC_2.2.5"
#else
#define OLDEST "GLIBC_2.17"
#endif

typedef int each_fn(struct dl_phdr_info *info, size_t size, void *data);
typedef int iterate_fn(each_fn *each, void *data);

typedef struct {
    each_fn *each;
    void *data;
} reading;

static iterate_fn *real;
static atomic_uint reads;
static int raises;
static pid_t first;

__attribute__((visibility("default"))) int dl_iterate_phdr(each_fn *each, void *data);

static int with_signal(struct dl_phdr_info *info, size_t size, void *data)
{
    const reading *r = data;

    if (raises && gettid() == first)
        raise(SIGUSR1);
    return r->each(info, size, r->data);
}

int dl_iterate_phdr(each_fn *each, void *data)
{
    if (!real)
        real = (iterate_fn *)dlvsym(RTLD_NEXT, "dl_iterate_phdr", OLDEST);
    atomic_fetch_add(&reads, 1);
    return real(with_signal, &(reading){each, data});
}

/* Counts from now on, in the process or in a child. */
__attribute__((visibility("default"))) void watched_begin(void);

void watched_begin(void)
{
    const char *wanted = getenv("WATCHED_RAISES");

    atomic_store(&reads, 0);
    first = getpid();
    raises = wanted && *wanted == '1';
}

__attribute__((visibility("default"))) void watched_end(void);

void watched_end(void)
{
    raises = 0;
    printf("the list was read %u times\n", atomic_load(&reads));
    fflush(stdout);
}
