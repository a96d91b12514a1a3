/* The Python interpreter of this process: its functions, types and layout.
 *
 * Once found, it is kept. If its structure is unexpected, Python stacks are switched off for good,
 * and the reason is kept. */
#ifndef MV_PYTHON_INTERP_H
#define MV_PYTHON_INTERP_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/stacks/python_layout.h"

typedef struct {
    mv_python_layout layout;
    void *(*this_thread)(void);  /* PyGILState_GetThisThreadState */
    int (*is_initialized)(void); /* Py_IsInitialized */
    uint64_t code, bytes, text;  /* PyCode_Type, PyBytes_Type, PyUnicode_Type */
    char version[16];            /* "3.12.3" */
} mv_python_interp;

/* The interpreter; NULL if there is none (yet), or Python stacks are off. Costs a load and a branch
 * once it is found. Until then this searches the loaded files, at the first call and then more and
 * more rarely, because an interpreter may be loaded later. */
const mv_python_interp *mv_python_interp_get(void);

/* Makes mv_python_interp_get return NULL from now on; the first reason is kept. `why` must be in
 * static storage. */
void mv_python_interp_stop(const char *why);

/* The interpreter that was found, even if stacks were switched off. NULL: none was found. */
const mv_python_interp *mv_python_interp_seen(void);

/* The reason why Python stacks are missing, or NULL. */
const char *mv_python_interp_why(void);

#endif
