/* Has a running Python process run a piece of Python code.
 *
 * The code runs once, in the main thread of the main interpreter, between two bytecodes, as a
 * signal handler of Python does. Two ways lead there:
 *  - Python 3.14 and later: sys.remote_exec, called in an interpreter of the same executable.
 *  - Before that, and in containers and programs that embed Python: ptrace stops the main thread
 * for less than a millisecond and has it call Py_AddPendingCall with PyRun_SimpleString (x86-64).
 * Then registers and signal mask are restored, and the thread continues; a system call that was
 * interrupted is restarted. The thread is stopped only where it cannot hold a lock of the
 * interpreter: in the evaluation loop, in code that is not the interpreter's, or in a system call
 * that waits. */
#ifndef MV_RUNNING_PYTHON_H
#define MV_RUNNING_PYTHON_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

typedef struct {
    uint64_t start, end;
} mv_address_range;

typedef struct {
    pid_t pid;
    unsigned version; /* 0x030b for 3.11; 0: not known */
    bool is_python;   /* the executable is an interpreter, not a program that contains one */
    mv_address_range interpreter, evaluate; /* its code, and its evaluation loop */
    uint64_t add_pending_call, run_string;  /* addresses of functions */
    uint64_t syscall_at, trap_at;           /* of such an instruction; 0: not found yet */
    uint64_t page;                          /* holds the code until it has run; 0: none */
} mv_running_python;

/* Finds the interpreter in a process. Fails with one sentence if there is no such process, it
 * belongs to another user, is of another architecture, or contains no Python that exports its
 * functions. */
mv_code mv_running_python_find(pid_t pid, mv_running_python *out, mv_err *err);

/* Asks the process to run the script at `path`, as that process sees it, of at most 1,000 bytes
 * without quotes and backslashes. Returns when the request is made; when the script runs, or
 * whether, depends on the program. Its variables are its own; an exception is swallowed. */
mv_code mv_running_python_query(mv_running_python *python, const char *path, mv_err *err);

/* Gives back the memory that the request needed. Call it when the script has run. */
void mv_running_python_tidy(mv_running_python *python);

#endif
