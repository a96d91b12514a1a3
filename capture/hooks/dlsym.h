/* Interposes dlsym and dlvsym, because a statically linked libcudart finds the driver with them.
 *
 * The exported functions are written in assembly (dlsym_x86_64.S, dlsym_aarch64.S). glibc
 * identifies the caller by the return address, so a look-up that the shim does not answer must be
 * forwarded with a jump. A C compiler might emit a call instead. The functions jump immediately
 * unless the name begins with "cu". */
#pragma once

#include <stdint.h>

/* The result of a look-up, which is returned in two registers: rax and rdx, or x0 and x1. */
typedef struct {
    void *function;
    uintptr_t decided; /* 0: forward to the real dlsym */
} mv_dlsym_answer;

/* Returns the answer to a look-up of a name that begins with "cu". `version` is NULL for dlsym. */
mv_dlsym_answer mv_dlsym_choose(void *handle, const char *name, const char *version,
                                const void *caller);

/* The real functions, set by mv_dlsym_start, which the first look-up calls. */
typedef void *mv_dlsym_fn(void *handle, const char *name);
typedef void *mv_dlvsym_fn(void *handle, const char *name, const char *version);
extern mv_dlsym_fn *mv_dlsym_real;
extern mv_dlvsym_fn *mv_dlvsym_real;
void mv_dlsym_start(void);
