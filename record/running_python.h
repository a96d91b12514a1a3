/* Makes a running Python process execute Python code.
 *
 * The code runs once, in the main thread of the main interpreter, between two bytecodes, like a
 * signal handler of Python. There are two methods. Python 3.14 and later have sys.remote_exec,
 * which is called in an interpreter of the same executable. In earlier versions, and in containers
 * and programs that embed Python, ptrace is used (x86-64 only). It stops the main thread for less
 * than a millisecond and makes it call Py_AddPendingCall with PyRun_SimpleString. Then registers
 * and signal mask are restored, the thread continues, and a system call that was interrupted is
 * restarted. The thread is stopped only where it cannot hold any of the interpreter's locks, which
 * is in the evaluation loop, in code that does not belong to the interpreter, or in a system call
 * that waits. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

typedef struct {
    uint64_t start, end;
} mv_address_range;

typedef struct {
    pid_t pid;
    unsigned version; /* version of Python, 0x030b for 3.11; 0: unknown */
    bool is_python;   /* the executable is an interpreter, rather than a program that embeds one */
    mv_address_range interpreter, evaluate; /* address ranges of the interpreter's code and of
                                             * its evaluation loop */
    uint64_t add_pending_call, run_string;  /* addresses of these functions */
    uint64_t syscall_at, trap_at;           /* addresses of a syscall and a trap instruction; 0:
                                             * not found yet */
    uint64_t page;                          /* address of a page that contains the code until it
                                             * has run; 0: none */
} mv_running_python;

/* Finds the interpreter in a process. Fails with one sentence if there is no such process, or if it
 * belongs to another user, is of another architecture, or contains no Python that exports its
 * functions. */
mv_code mv_running_python_find(pid_t pid, mv_running_python *out, mv_err *err);

/* Asks the process to run the script at `path`. The path is as the process finds it, has at most
 * 1,000 bytes, and contains no quotes or backslashes. Returns as soon as the request is made.
 * Whether and when the script runs depends on the program. The script has its own variables, and
 * its exceptions are ignored. */
mv_code mv_running_python_query(mv_running_python *python, const char *path, mv_err *err);

/* Frees the memory that the request needed. Must be called after the script has run. */
void mv_running_python_tidy(mv_running_python *python);
