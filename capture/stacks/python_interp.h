/* The Python interpreter of this process: its functions, types and layout.
 *
 * Once found it is kept. If its structure is unexpected, Python stacks are switched off for good,
 * with a reason. */
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

/* NULL: there is none (yet), or Python stacks are off. Costs a load and a branch once found. Until
 * then it searches the loaded files, at the first call and then ever more rarely, because an
 * interpreter may be loaded later. */
const mv_python_interp *mv_python_interp_get(void);

/* From now on mv_python_interp_get returns NULL; the first reason is kept. `why` must be static
 * storage. */
void mv_python_interp_stop(const char *why);

/* The interpreter that was found, also after stacks were switched off. NULL: none found. */
const mv_python_interp *mv_python_interp_seen(void);

/* The reason for missing Python stacks, or NULL. */
const char *mv_python_interp_why(void);

#endif
