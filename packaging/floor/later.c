/* Functions that the C library has only since 2.28, built from older functions (make.py). Each is
 * linked into its callers, and hidden there. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- 2.32: before, the texts were a table -----------------------------------------------------
 */

extern const char *const _sys_errlist[];
extern const int _sys_nerr;

const char *strerrordesc_np(int error)
{
    return error >= 0 && error < _sys_nerr ? _sys_errlist[error] : NULL;
}

/* ---- 2.33: earlier, these were in an archive that no longer exists --------------------------- */

#ifdef __x86_64__
#define STAT_VERSION 1
#else
#define STAT_VERSION 0
#endif
int __xstat(int, const char *, struct stat *);
int __lxstat(int, const char *, struct stat *);
int __fxstat(int, int, struct stat *);
int __fxstatat(int, int, const char *, struct stat *, int);

int stat(const char *path, struct stat *out)
{
    return __xstat(STAT_VERSION, path, out);
}

int lstat(const char *path, struct stat *out)
{
    return __lxstat(STAT_VERSION, path, out);
}

int fstat(int file, struct stat *out)
{
    return __fxstat(STAT_VERSION, file, out);
}

int fstatat(int folder, const char *path, struct stat *out, int flags)
{
    return __fxstatat(STAT_VERSION, folder, path, out, flags);
}

/* Defines both names of each, since off_t has 64 bits in either case. */
__asm__(".globl stat64, lstat64, fstat64, fstatat64\n"
        ".hidden stat64, lstat64, fstat64, fstatat64\n"
        ".set stat64, stat\n.set lstat64, lstat\n.set fstat64, fstat\n.set fstatat64, fstatat");

/* ---- 2.30 ------------------------------------------------------------------------------------ */

pid_t gettid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/* ---- 2.28 ------------------------------------------------------------------------------------ */

/* The variable argument is one word, or missing. */
int fcntl64(int file, int command, ...)
{
    va_list arguments;
    void *argument;

    va_start(arguments, command);
    argument = va_arg(arguments, void *);
    va_end(arguments);
    return fcntl(file, command, argument);
}
