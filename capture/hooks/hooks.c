#include "capture/hooks/hooks.h"

#include "capture/hooks/resolve.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

/* The functions that bound wrappers call. The program may keep a wrapper's address, so a slot is
 * reused for another function only after the library of the first function was unloaded, when
 * nothing can call the first function any more. */
static _Atomic(mv_any_fn *) reals[MV_HOOK_COUNT][MV_HOOK_PLACES];

/* Functions of cuBLAS, cuDNN and similar libraries have a lower-case letter after "cu". */
static bool may_be_hooked(const char *name)
{
    return name[0] == 'c' && name[1] == 'u' &&
           (name[2] == 'd' || (name[2] >= 'A' && name[2] <= 'Z'));
}

mv_hook_id mv_hook_named(const char *name)
{
    mv_hook_id hook = 0;

    if (!may_be_hooked(name))
        return MV_HOOK_COUNT;
    while (hook < MV_HOOK_COUNT && strcmp(mv_hooks[hook].name, name) != 0)
        hook++;
    return hook;
}

static bool is_wrapper(const mv_hook *hook, mv_any_fn *function)
{
    for (unsigned place = 0; place < MV_HOOK_PLACES; place++)
        if (function == hook->bound[place])
            return true;
    return function == hook->exported;
}

void *mv_hook_bind(mv_hook_id hook, void *function)
{
    mv_any_fn *real = (mv_any_fn *)function;

    if (!real || is_wrapper(&mv_hooks[hook], real))
        return function;
    for (unsigned place = 0; place < MV_HOOK_PLACES; place++) {
        mv_any_fn *taken = NULL;
        if (atomic_compare_exchange_strong(&reals[hook][place], &taken, real) || taken == real)
            return (void *)mv_hooks[hook].bound[place];
    }
    for (unsigned place = 0; place < MV_HOOK_PLACES; place++) {
        mv_any_fn *taken = atomic_load(&reals[hook][place]);
        if (!mv_resolve_is_loaded((void *)taken) &&
            atomic_compare_exchange_strong(&reals[hook][place], &taken, real))
            return (void *)mv_hooks[hook].bound[place];
    }
    return function;
}

mv_hook_call mv_hook_from_caller(mv_hook_id hook, const void *caller)
{
    mv_hook_call call = {.caller = caller, .kept_errno = errno};

    call.real = (mv_any_fn *)mv_resolve(mv_hooks[hook].name, caller);
    errno = call.kept_errno;
    return call;
}

mv_hook_call mv_hook_from_place(mv_hook_id hook, unsigned place, const void *caller)
{
    return (mv_hook_call){
        .real = atomic_load_explicit(&reals[hook][place], memory_order_relaxed),
        .caller = caller,
    };
}

int mv_hook_no_cuda(mv_hook_id hook)
{
    return mv_hooks[hook].flags & MV_RUNTIME ? MV_CUDA_INSUFFICIENT_DRIVER
                                             : MV_CUDA_NOT_INITIALIZED;
}

/* Calls the only CUDA function that the shim itself uses, which changes nothing. */
static int current_device(void)
{
    int (*get)(int *) = (int (*)(int *))mv_resolve("cuCtxGetDevice", NULL);
    int device = MV_NO_DEVICE;

    return get && get(&device) == MV_CUDA_SUCCESS ? device : MV_NO_DEVICE;
}

/* at least one CUDA call has succeeded */
static atomic_bool is_in_use;

int mv_hook_current_device(void)
{
    return atomic_load_explicit(&is_in_use, memory_order_relaxed) ? current_device() : MV_NO_DEVICE;
}

bool mv_hook_begin(mv_hook_call *call, mv_api_action action)
{
    call->kept_errno = errno;
    call->device = MV_NO_DEVICE;
    if (!mv_rec_enter(&call->visit))
        return false;
    if (action == MV_API_CONTEXT_DESTROY) {
        call->device = current_device();
        mv_rec_context_ends();
    }
    if (mv_api_gives(action))
        call->moment = mv_rec_now();
    errno = call->kept_errno;
    return true;
}

/* Returns the device of a call. The current device is queried only if CUDA is known to work. */
static int device_of(const mv_hook_call *call, const mv_rec_api *what)
{
    if (what->device != 0)
        return what->device - MV_ON_DEVICE(0);
    if (what->action == MV_API_CONTEXT_DESTROY)
        return call->device;
    if (call->result != MV_CUDA_SUCCESS && call->result != MV_CUDA_OUT_OF_MEMORY)
        return MV_NO_DEVICE;
    atomic_store_explicit(&is_in_use, true, memory_order_relaxed);
    return current_device();
}

void mv_hook_end(mv_hook_call *call, mv_rec_api what)
{
    int after = errno;

    if (what.action != MV_API_ACTION_COUNT) {
        what.caller = call->caller;
        what.moment = call->moment;
        what.result = call->result;
        what.device = device_of(call, &what);
        mv_rec_call(&what);
    }
    mv_rec_leave(&call->visit);
    errno = after;
}
