/* The system functions required by wasi-libc (wasi/api.h), implemented here instead of in
 * JavaScript. memviz does not need the functions that are missing here, otherwise the linker would
 * report them. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <wasi/api.h>

#include "web/system/files.h"

enum { DESCRIPTORS = 256, ROOT = 3 };

typedef struct {
    mv_file *file; /* NULL: the descriptor is closed, or is ROOT */
    uint64_t at;
} descriptor;

static descriptor opened[DESCRIPTORS];

/* The browser provides the clock and ends the program. */
__attribute__((import_module("page"), import_name("now"))) extern double page_now(void);
__attribute__((import_module("page"), import_name("stop"))) extern void page_stop(int status);

/* ---- descriptors ------------------------------------------------------------------------- */

static descriptor *descriptor_of(__wasi_fd_t fd)
{
    if (fd >= DESCRIPTORS)
        return NULL;
    if (fd == STDOUT_FILENO)
        opened[fd].file = mv_file_named(MV_FILE_OUT);
    else if (fd == STDERR_FILENO)
        opened[fd].file = mv_file_named(MV_FILE_ERRORS);
    return opened[fd].file ? &opened[fd] : NULL;
}

__wasi_errno_t __wasi_fd_close(__wasi_fd_t fd)
{
    descriptor *d = descriptor_of(fd);

    if (!d)
        return __WASI_ERRNO_BADF;
    if (fd > ROOT)
        d->file->opened--;
    *d = (descriptor){0};
    return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t __wasi_fd_read(__wasi_fd_t fd, const __wasi_iovec_t *to, size_t count,
                              __wasi_size_t *out)
{
    descriptor *d = descriptor_of(fd);

    *out = 0;
    if (!d)
        return fd == STDIN_FILENO ? __WASI_ERRNO_SUCCESS : __WASI_ERRNO_BADF;
    for (size_t i = 0; i < count && d->at < d->file->length; i++) {
        uint32_t some;
        if (!mv_file_read(d->file, d->at, to[i].buf, to[i].buf_len, &some))
            return __WASI_ERRNO_IO;
        d->at += some;
        *out += some;
    }
    return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t __wasi_fd_write(__wasi_fd_t fd, const __wasi_ciovec_t *from, size_t count,
                               __wasi_size_t *out)
{
    descriptor *d = descriptor_of(fd);

    *out = 0;
    if (!d)
        return __WASI_ERRNO_BADF;
    if (fd <= STDERR_FILENO)
        d->at = d->file->length;
    for (size_t i = 0; i < count; i++) {
        if (!mv_file_room(d->file, d->at + from[i].buf_len))
            return __WASI_ERRNO_NOSPC;
        memcpy(d->file->bytes + d->at, from[i].buf, from[i].buf_len);
        d->at += from[i].buf_len;
        d->file->length = d->at > d->file->length ? d->at : d->file->length;
        *out += from[i].buf_len;
    }
    return __WASI_ERRNO_SUCCESS;
}

/* The functions are in the order of wasi/api.h. */
enum { FROM_BEGIN, FROM_HERE, FROM_END };

__wasi_errno_t __wasi_fd_seek(__wasi_fd_t fd, __wasi_filedelta_t offset, uint8_t from,
                              __wasi_filesize_t *out)
{
    descriptor *d = descriptor_of(fd);
    int64_t base;

    if (!d)
        return __WASI_ERRNO_BADF;
    base = from == FROM_BEGIN ? 0 : from == FROM_HERE ? (int64_t)d->at : (int64_t)d->file->length;
    if (base + offset < 0)
        return __WASI_ERRNO_INVAL;
    d->at = (uint64_t)(base + offset);
    *out = d->at;
    return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t __wasi_fd_fdstat_get(__wasi_fd_t fd, __wasi_fdstat_t *out)
{
    *out = (__wasi_fdstat_t){.fs_rights_base = UINT64_MAX, .fs_rights_inheriting = UINT64_MAX};
    if (fd != ROOT && !descriptor_of(fd))
        return __WASI_ERRNO_BADF;
    out->fs_filetype = fd == ROOT ? __WASI_FILETYPE_DIRECTORY : __WASI_FILETYPE_REGULAR_FILE;
    return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t __wasi_fd_fdstat_set_flags(__wasi_fd_t fd, __wasi_fdflags_t flags)
{
    (void)flags;
    return descriptor_of(fd) ? __WASI_ERRNO_SUCCESS : __WASI_ERRNO_BADF;
}

static void describe(const mv_file *file, __wasi_filestat_t *out)
{
    *out = (__wasi_filestat_t){.ino = (uintptr_t)file,
                               .filetype = __WASI_FILETYPE_REGULAR_FILE,
                               .nlink = 1,
                               .size = file->length};
}

__wasi_errno_t __wasi_fd_filestat_get(__wasi_fd_t fd, __wasi_filestat_t *out)
{
    const descriptor *d = descriptor_of(fd);

    if (!d)
        return __WASI_ERRNO_BADF;
    describe(d->file, out);
    return __WASI_ERRNO_SUCCESS;
}

/* ---- the one folder ---------------------------------------------------------------------- */

__wasi_errno_t __wasi_fd_prestat_get(__wasi_fd_t fd, __wasi_prestat_t *out)
{
    if (fd != ROOT)
        return __WASI_ERRNO_BADF;
    *out = (__wasi_prestat_t){.tag = __WASI_PREOPENTYPE_DIR, .u.dir.pr_name_len = 1};
    return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t __wasi_fd_prestat_dir_name(__wasi_fd_t fd, uint8_t *path, __wasi_size_t room)
{
    if (fd != ROOT || room < 1)
        return __WASI_ERRNO_BADF;
    *path = '/';
    return __WASI_ERRNO_SUCCESS;
}

static bool is_root(const char *path)
{
    return *path == '\0' || strcmp(path, ".") == 0;
}

__wasi_errno_t __wasi_path_filestat_get(__wasi_fd_t fd, __wasi_lookupflags_t flags,
                                        const char *path, __wasi_filestat_t *out)
{
    const mv_file *file = mv_file_find(path);

    (void)fd, (void)flags;
    if (is_root(path))
        *out = (__wasi_filestat_t){.filetype = __WASI_FILETYPE_DIRECTORY, .nlink = 1};
    else if (file)
        describe(file, out);
    else
        return __WASI_ERRNO_NOENT;
    return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t __wasi_path_open(__wasi_fd_t fd, __wasi_lookupflags_t lookup, const char *path,
                                __wasi_oflags_t how, __wasi_rights_t base,
                                __wasi_rights_t inheriting, __wasi_fdflags_t flags,
                                __wasi_fd_t *out)
{
    mv_file *file = mv_file_find(path);

    (void)fd, (void)lookup, (void)base, (void)inheriting, (void)flags;
    if (is_root(path))
        return __WASI_ERRNO_ISDIR;
    if (how & __WASI_OFLAGS_DIRECTORY)
        return file ? __WASI_ERRNO_NOTDIR : __WASI_ERRNO_NOENT;
    if (!file && (how & __WASI_OFLAGS_CREAT))
        file = mv_file_named(path);
    if (!file)
        return __WASI_ERRNO_NOENT;
    for (__wasi_fd_t i = ROOT + 1; i < DESCRIPTORS; i++) {
        if (opened[i].file)
            continue;
        opened[i] = (descriptor){.file = file};
        file->opened++;
        if (how & __WASI_OFLAGS_TRUNC)
            file->length = 0;
        *out = i;
        return __WASI_ERRNO_SUCCESS;
    }
    return __WASI_ERRNO_MFILE;
}

__wasi_errno_t __wasi_path_unlink_file(__wasi_fd_t fd, const char *path)
{
    (void)fd;
    if (!mv_file_find(path))
        return __WASI_ERRNO_NOENT;
    mv_file_remove(path);
    return __WASI_ERRNO_SUCCESS;
}

/* ---- the rest ---------------------------------------------------------------------------- */

__wasi_errno_t __wasi_clock_time_get(__wasi_clockid_t id, __wasi_timestamp_t precision,
                                     __wasi_timestamp_t *out)
{
    (void)id, (void)precision;
    *out = (__wasi_timestamp_t)(page_now() * 1e6);
    return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t __wasi_environ_sizes_get(__wasi_size_t *count, __wasi_size_t *bytes)
{
    *count = *bytes = 0;
    return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t __wasi_environ_get(uint8_t **names, uint8_t *texts)
{
    (void)names, (void)texts;
    return __WASI_ERRNO_SUCCESS;
}

void __wasi_proc_exit(__wasi_exitcode_t status)
{
    page_stop((int)status);
    __builtin_trap();
}

/* ---- not available in a page: other folders, links, times of files, waiting ----------------- */

__wasi_errno_t __wasi_fd_pread(__wasi_fd_t fd, const __wasi_iovec_t *to, size_t count,
                               __wasi_filesize_t at, __wasi_size_t *out)
{
    descriptor *d = descriptor_of(fd);
    uint64_t before;
    __wasi_errno_t code;

    if (!d)
        return __WASI_ERRNO_BADF;
    before = d->at;
    d->at = at;
    code = __wasi_fd_read(fd, to, count, out);
    d->at = before;
    return code;
}

__wasi_errno_t __wasi_fd_tell(__wasi_fd_t fd, __wasi_filesize_t *out)
{
    return __wasi_fd_seek(fd, 0, FROM_HERE, out);
}

__wasi_errno_t __wasi_fd_readdir(__wasi_fd_t fd, uint8_t *to, __wasi_size_t room,
                                 __wasi_dircookie_t at, __wasi_size_t *out)
{
    (void)fd, (void)to, (void)room, (void)at;
    *out = 0;
    return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t __wasi_fd_renumber(__wasi_fd_t fd, __wasi_fd_t to)
{
    (void)fd, (void)to;
    return __WASI_ERRNO_NOTSUP;
}

__wasi_errno_t __wasi_sched_yield(void)
{
    return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t __wasi_poll_oneoff(const __wasi_subscription_t *in, __wasi_event_t *to,
                                  __wasi_size_t count, __wasi_size_t *out)
{
    (void)in, (void)to, (void)count;
    *out = 0;
    return __WASI_ERRNO_NOTSUP;
}

__wasi_errno_t __wasi_fd_filestat_set_times(__wasi_fd_t fd, __wasi_timestamp_t read,
                                            __wasi_timestamp_t changed, __wasi_fstflags_t flags)
{
    (void)fd, (void)read, (void)changed, (void)flags;
    return __WASI_ERRNO_NOTSUP;
}

__wasi_errno_t __wasi_path_filestat_set_times(__wasi_fd_t fd, __wasi_lookupflags_t lookup,
                                              const char *path, __wasi_timestamp_t read,
                                              __wasi_timestamp_t changed, __wasi_fstflags_t flags)
{
    (void)fd, (void)lookup, (void)path, (void)read, (void)changed, (void)flags;
    return __WASI_ERRNO_NOTSUP;
}

__wasi_errno_t __wasi_path_readlink(__wasi_fd_t fd, const char *path, uint8_t *to,
                                    __wasi_size_t room, __wasi_size_t *out)
{
    (void)fd, (void)path, (void)to, (void)room;
    *out = 0;
    return __WASI_ERRNO_INVAL;
}

__wasi_errno_t __wasi_path_create_directory(__wasi_fd_t fd, const char *path)
{
    (void)fd, (void)path;
    return __WASI_ERRNO_NOTSUP;
}

__wasi_errno_t __wasi_path_remove_directory(__wasi_fd_t fd, const char *path)
{
    (void)fd, (void)path;
    return __WASI_ERRNO_NOTSUP;
}

__wasi_errno_t __wasi_path_symlink(const char *from, __wasi_fd_t fd, const char *to)
{
    (void)from, (void)fd, (void)to;
    return __WASI_ERRNO_NOTSUP;
}

__wasi_errno_t __wasi_path_link(__wasi_fd_t fd, __wasi_lookupflags_t lookup, const char *from,
                                __wasi_fd_t folder, const char *to)
{
    (void)fd, (void)lookup, (void)from, (void)folder, (void)to;
    return __WASI_ERRNO_NOTSUP;
}

__wasi_errno_t __wasi_path_rename(__wasi_fd_t fd, const char *from, __wasi_fd_t folder,
                                  const char *to)
{
    (void)fd, (void)from, (void)folder, (void)to;
    return __WASI_ERRNO_NOTSUP;
}
