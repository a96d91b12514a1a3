#include "capture/hooks/dlsym.h"

#include "capture/hooks/hooks.h"
#include "capture/hooks/resolve.h"

#include <dlfcn.h>
#include <errno.h>

mv_dlsym_fn *mv_dlsym_real;
mv_dlvsym_fn *mv_dlvsym_real;

/* Used if the C library has no dlsym or dlvsym. */
static void *no_dlsym(void *handle, const char *name)
{
    (void)handle;
    (void)name;
    return NULL;
}

static void *no_dlvsym(void *handle, const char *name, const char *version)
{
    (void)handle;
    (void)name;
    (void)version;
    return NULL;
}

/* Finds the real functions. Several threads may run this function at the same time, and store the
 * same values. The first caller may be a sanitizer that is still starting, so no function that a
 * sanitizer defines may be called here. */
void mv_dlsym_start(void)
{
    int kept = errno;
    mv_dlsym_fn *dlsym_fn = (mv_dlsym_fn *)mv_resolve_at_start("dlsym");
    mv_dlvsym_fn *dlvsym_fn = (mv_dlvsym_fn *)mv_resolve_at_start("dlvsym");

    __atomic_store_n(&mv_dlvsym_real, dlvsym_fn ? dlvsym_fn : no_dlvsym, __ATOMIC_RELAXED);
    __atomic_store_n(&mv_dlsym_real, dlsym_fn ? dlsym_fn : no_dlsym, __ATOMIC_RELAXED);
    errno = kept;
}

static void *look_up(void *handle, const char *name, const char *version)
{
    return version ? mv_dlvsym_real(handle, name, version) : mv_dlsym_real(handle, name);
}

/* Called when a look-up found the shim's exported function, because the shim is in the global
 * scope. Returns the function that the look-up would have found without the shim. On failure the
 * error is available from dlerror. */
static void *without_shim(void *handle, const char *name, const char *version, const void *caller)
{
    void *found = look_up(RTLD_NEXT, name, version);

    if (!found && handle == RTLD_DEFAULT) {
        found = mv_resolve_nearby(name, caller);
        if (found)
            dlerror(); /* clears the failure */
    }
    return found;
}

/* Answers a look-up with RTLD_NEXT, which is forwarded to glibc, unless glibc's answer would be the
 * shim. */
static mv_dlsym_answer next(const char *name, const char *version, const void *caller)
{
    mv_dlsym_answer answer = {0};

    answer.decided = !look_up(RTLD_NEXT, name, version) && !mv_resolve_between(name, caller);
    return answer;
}

mv_dlsym_answer mv_dlsym_choose(void *handle, const char *name, const char *version,
                                const void *caller)
{
    mv_hook_id hook = mv_hook_named(name);
    mv_dlsym_answer forward = {0};
    void *found;
    int kept = errno;

    if (hook == MV_HOOK_COUNT)
        return forward;
    if (!mv_dlsym_real)
        mv_dlsym_start();
    if (handle == RTLD_NEXT)
        return next(name, version, caller);
    found = look_up(handle, name, version);
    if (!found)
        return forward; /* the real look-up fails too, and leaves the message for the caller */
    if (found == (void *)mv_hooks[hook].exported)
        found = without_shim(handle, name, version, caller);
    errno = kept;
    return (mv_dlsym_answer){.function = mv_hook_bind(hook, found), .decided = 1};
}
