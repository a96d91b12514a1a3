/* The Python interpreter of this process: its functions, types and layout.
 *
 * Once found, the interpreter is kept. If its structure is unexpected, Python stacks are switched
 * off permanently, and the reason is kept. */
#pragma once

#include "capture/stacks/python_layout.h"

typedef struct {
    mv_python_layout layout;
    void *(*this_thread)(void);  /* PyGILState_GetThisThreadState */
    int (*is_initialized)(void); /* Py_IsInitialized */
    uint64_t code, bytes, text;  /* addresses of PyCode_Type, PyBytes_Type, PyUnicode_Type */
    char version[16];            /* "3.12.3" */
} mv_python_interp;

/* Returns the interpreter; NULL if there is none (yet), or if Python stacks are off. Once the
 * interpreter is found, a call costs a load and a branch. Until then, the loaded files are searched
 * at the first call and then less and less often, because an interpreter may be loaded later. */
const mv_python_interp *mv_python_interp_get(void);

/* Makes mv_python_interp_get always return NULL. If this function is called several times, the
 * first reason is kept. `why` must be in static storage. */
void mv_python_interp_stop(const char *why);

/* Returns the interpreter that was found, even if Python stacks were switched off; NULL: none was
 * found. */
const mv_python_interp *mv_python_interp_seen(void);

/* Returns the reason why Python stacks are missing, or NULL. */
const char *mv_python_interp_why(void);
