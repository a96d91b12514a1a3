/* Handles cuGetProcAddress and similar functions. The driver decides which function it returns, and
 * the shim replaces this function with its wrapper. */
#include "capture/hooks/hooks.h"

#include "capture/hooks/resolve.h"

#include <errno.h>
#include <string.h>

/* Returns the hook for `function`, if the library that contains the function exports it. */
static mv_hook_id hook_by_address(const char *symbol, const void *function)
{
    for (mv_hook_id hook = 0; hook < MV_HOOK_COUNT; hook++)
        if (strcmp(mv_hooks[hook].base, symbol) == 0 &&
            mv_resolve_beside(function, mv_hooks[hook].name) == function)
            return hook;
    return MV_HOOK_COUNT;
}

/* Returns the hook for a function that is not exported. The variant is chosen by the driver's
 * rules. */
static mv_hook_id hook_by_version(const char *symbol, unsigned version, bool ptsz)
{
    mv_hook_id best = MV_HOOK_COUNT;
    bool best_fits = false;

    for (mv_hook_id hook = 0; hook < MV_HOOK_COUNT; hook++) {
        const mv_hook *h = &mv_hooks[hook];
        bool fits = !(h->flags & MV_PTSZ) == !ptsz;
        if (strcmp(h->base, symbol) != 0 || h->since > version || (h->flags & MV_PTSZ && !ptsz))
            continue;
        if (best == MV_HOOK_COUNT || (fits && !best_fits) ||
            (fits == best_fits && h->since > mv_hooks[best].since)) {
            best = hook;
            best_fits = fits;
        }
    }
    return best;
}

static bool is_base(const char *symbol)
{
    for (mv_hook_id hook = 0; hook < MV_HOOK_COUNT; hook++)
        if (strcmp(mv_hooks[hook].base, symbol) == 0)
            return true;
    return false;
}

void mv_entry_point_bind(const char *symbol, void **out, unsigned version, bool ptsz)
{
    int kept = errno;
    mv_hook_id hook;

    if (!symbol || !out || !*out || !is_base(symbol))
        return;
    hook = hook_by_address(symbol, *out);
    if (hook == MV_HOOK_COUNT)
        hook = hook_by_version(symbol, version, ptsz);
    if (hook != MV_HOOK_COUNT)
        *out = mv_hook_bind(hook, *out);
    errno = kept;
}
