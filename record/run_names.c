#include "record/run_names.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/numbers.h"
#include "base/sort.h"
#include "capture/wire_folded.h"
#include "parse/live/varint.h"

/* ---- the name given with -o -------------------------------------------------------------- */

static int64_t number_of(const char *text)
{
    uint64_t value;

    if (!text || !mv_number_read(text, &value) || value > INT64_MAX)
        return MV_NO_RANK_KNOWN;
    return (int64_t)value;
}

/* Returns the launcher's own rank, from the variables in which job launchers pass a process its
 * rank. The shim reads the same variables. */
static int64_t own_rank(void)
{
    static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (number_of(getenv(names[i])) >= 0)
            return number_of(getenv(names[i]));
    return MV_NO_RANK_KNOWN;
}

/* Returns a number that is unique among all launchers, including those on other machines. */
static uint32_t run_number(void)
{
    uint64_t mixed = 0xcbf29ce484222325;
    struct timespec now;
    char host[256] = "";

    clock_gettime(CLOCK_REALTIME, &now);
    gethostname(host, sizeof host - 1);
    for (const char *c = host; *c; c++)
        mixed = (mixed ^ (unsigned char)*c) * 0x100000001b3;
    mixed = (mixed ^ (uint64_t)getpid()) * 0x100000001b3;
    mixed = (mixed ^ (uint64_t)now.tv_nsec) * 0x100000001b3;
    mixed = (mixed ^ (uint64_t)now.tv_sec) * 0x100000001b3;
    return (uint32_t)(mixed >> 32);
}

/* Returns the name without its placeholders, and without the dots before them. */
static void plain_name(const char *name, char *out, size_t size)
{
    size_t at = 0;

    for (; *name && at + 1 < size; name++) {
        if (name[0] == '%' && name[1]) {
            name++;
            if (*name != '%') {
                if (at > 0 && strchr(".-_", out[at - 1]))
                    at--;
                continue;
            }
        }
        out[at++] = *name;
    }
    out[at] = 0;
}

/* Checks the output, because a result may replace only a file. An output without placeholders can
 * be checked before the run. */
static mv_code check_output(const mv_run_names *names, const char *name, mv_err *err)
{
    struct stat st;

    if (strcmp(names->output, "-") == 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "-o -: a recording needs a file");
    if (strchr(name, '%') || fstatat(names->folder, name, &st, 0) != 0 || S_ISREG(st.st_mode))
        return MV_OK;
    return mv_fail(err, MV_IO, MV_NO_OFFSET, "-o %s: is %s; a recording needs a file",
                   names->output, S_ISDIR(st.st_mode) ? "a folder" : "a device or a pipe");
}

/* Creates a file without a name. On file systems that do not support this, creates a file with a
 * name that is removed immediately. */
static int make_file(const mv_run_names *names)
{
    const char *name = strrchr(names->live, '/') + 1;
    int fd = openat(names->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return fd;
    fd = openat(names->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        unlinkat(names->folder, name, 0);
    return fd;
}

/* Opens the folder and creates a file in it, which shows whether the folder is writable and who
 * owns our files. */
static mv_code open_folder(mv_run_names *names, const char *folder, const char *full, mv_err *err)
{
    char cut[MV_ERR_PATH];
    struct stat st;
    int fd;

    names->folder = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fd = names->folder < 0 ? -1 : make_file(names);
    if (fd < 0 || fstat(fd, &st) != 0) {
        mv_fail(err, MV_IO, MV_NO_OFFSET, "cannot write into %s: %s", mv_err_path(folder, cut),
                strerror(errno));
        if (fd >= 0)
            close(fd);
        return err->code;
    }
    close(fd);
    names->owner = st.st_uid;
    return MV_OK;
}

static mv_code make_in(mv_run_names *out, const char *folder, const char *file, mv_err *err)
{
    char full[PATH_MAX], name[NAME_MAX + 1], cut[MV_ERR_PATH];

    if (!realpath(folder, full))
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "cannot write into %s: %s",
                       mv_err_path(folder, cut), strerror(errno));
    plain_name(file, name, sizeof name);
    out->launch_rank = own_rank();
    if (snprintf(out->live, sizeof out->live, "%s/%s.%08x", strcmp(full, "/") ? full : "", name,
                 run_number()) >= PATH_MAX - 64)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "the name of -o is too long");
    if (open_folder(out, folder, full, err) != MV_OK)
        return err->code;
    return check_output(out, file, err);
}

mv_code mv_run_names_make(const char *output, mv_run_names *out, mv_err *err)
{
    char folder[PATH_MAX];
    const char *slash;
    int length;

    if (!output)
        output = MV_RUN_DEFAULT;
    out->folder = -1;
    slash = strrchr(output, '/');
    length = slash ? (int)(slash - output) + 1 : 0;
    if (snprintf(out->output, sizeof out->output, "%s", output) >= PATH_MAX - 64 ||
        strlen(output + length) > NAME_MAX - 64)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "the name of -o is too long");
    if (!output[length])
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "-o %s: names a folder", output);
    snprintf(folder, sizeof folder, "%.*s", length ? length : 2, length ? output : "./");
    if (strchr(folder, '%'))
        return mv_fail(err, MV_IO, MV_NO_OFFSET,
                       "-o %s: placeholders are allowed in the file's name, not in its folder's",
                       output);
    if (make_in(out, folder, output + length, err) != MV_OK)
        mv_run_names_close(out);
    return err->code;
}

void mv_run_names_close(mv_run_names *names)
{
    if (names->folder >= 0)
        close(names->folder);
    names->folder = -1;
}

/* ---- the live files ---------------------------------------------------------------------- */

/* Returns the last value of a key; NULL if there is none or when out of memory. */
static const char *find_fact(mv_arena *arena, mv_span facts, const char *key)
{
    mv_cursor c = mv_cursor_over(facts);
    const char *found = NULL;

    while (c.at < facts.length) {
        uint64_t key_bytes = mv_take_varint(&c);
        const uint8_t *name = mv_take_bytes(&c, key_bytes);
        uint64_t bytes = mv_take_varint(&c);
        const uint8_t *value = mv_take_bytes(&c, bytes);
        if (c.overrun)
            break;
        if (key_bytes == strlen(key) && memcmp(name, key, key_bytes) == 0)
            found = mv_arena_text(arena, (const char *)value, bytes);
    }
    return found;
}

/* Returns true if nothing was written after the first chunk, where space was only reserved. */
static bool is_zero_from(int fd, off_t at)
{
    static const uint8_t zeros[MV_LIVE_CHUNK_BYTES];
    uint8_t bytes[MV_LIVE_CHUNK_BYTES];
    ssize_t got;

    while ((got = pread(fd, bytes, sizeof bytes, at)) > 0) {
        if (memcmp(bytes, zeros, (size_t)got) != 0)
            return false;
        at += got;
    }
    return got == 0;
}

static void read_facts(mv_arena *arena, mv_run_file *file, int fd)
{
    const uint64_t at = sizeof(mv_wire_header) + sizeof(mv_wire_chunk) + sizeof(mv_live_head);
    uint8_t bytes[MV_LIVE_CHUNK_BYTES];
    ssize_t got = pread(fd, bytes, sizeof bytes, 0);
    mv_live_head head;
    mv_span facts;

    file->rank = MV_NO_RANK_KNOWN;
    file->is_empty = got >= 0 && got < (ssize_t)sizeof bytes;
    if (got < (ssize_t)sizeof bytes)
        return;
    memcpy(&head, bytes + at - sizeof head, sizeof head);
    file->is_empty = head.committed == 0 && is_zero_from(fd, sizeof bytes);
    facts = (mv_span){bytes + at, head.committed};
    if (facts.length > MV_LIVE_CHUNK_BYTES - at)
        facts.length = MV_LIVE_CHUNK_BYTES - at;
    file->rank = number_of(find_fact(arena, facts, "rank"));
    file->start_us = number_of(find_fact(arena, facts, "start_us"));
    file->host = find_fact(arena, facts, "host");
    file->visible = find_fact(arena, facts, "cuda_visible_devices");
    file->device_order = find_fact(arena, facts, "cuda_device_order");
}

/* Returns true if a process of this machine has mapped the file with this inode. Used on file
 * systems without leases. True if the process cannot be inspected. */
static bool has_mapped(uint32_t pid, uint64_t inode)
{
    char maps[64], line[PATH_MAX + 128];
    unsigned long long mapped;
    bool found = false;
    FILE *file;

    snprintf(maps, sizeof maps, "/proc/%u/maps", pid);
    file = fopen(maps, "re");
    if (!file)
        return errno == EACCES || errno == EPERM;
    while (!found && fgets(line, sizeof line, file))
        found = sscanf(line, "%*s %*s %*s %*s %llu", &mapped) == 1 && mapped == inode;
    fclose(file);
    return found;
}

static bool is_on_nfs(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == NFS_SUPER_MAGIC;
}

/* Returns true if a process can still write to the file. The kernel grants a read lease only if no
 * process, in any namespace and under any name, has the file open or mapped for writing. NFS 4
 * grants a lease only if the server has delegated the file, and otherwise returns the same result
 * as if the file were in use. */
static bool is_written_to(int fd, const mv_run_file *file)
{
    bool is_refused;

    fcntl(fd, F_SETSIG, SIGURG); /* sent when a process opens the file for writing; ignored
                                  * unless there is a handler */
    if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
        fcntl(fd, F_SETLEASE, F_UNLCK);
        return false;
    }
    is_refused = errno == EAGAIN && !is_on_nfs(fd);
    return is_refused || has_mapped(file->pid, file->inode);
}

/* Returns the reason why a file is not accepted; NULL if one of our programs created it. */
static const char *why_not(const mv_run_names *names, const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return "it is not a regular file";
    if (st->st_uid != names->owner)
        return "it belongs to another user";
    return st->st_nlink == 1 ? NULL : "it has a second name (a hard link)";
}

static const char *name_of(const mv_run_file *file)
{
    return strrchr(file->path, '/') + 1;
}

/* Opens a file. Returns -1 if the file cannot be opened, must not be read, or is no longer the file
 * in `st`. */
static int open_same(const mv_run_names *names, const char *name, const struct stat *st)
{
    int fd = openat(names->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat now;

    if (fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino &&
        !why_not(names, &now))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void look_at(mv_arena *arena, const mv_run_names *names, mv_run_file *file)
{
    struct stat st;
    int fd;

    file->rank = MV_NO_RANK_KNOWN;
    file->refused = "it is gone";
    if (fstatat(names->folder, name_of(file), &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    file->device = st.st_dev;
    file->inode = st.st_ino;
    file->refused = why_not(names, &st);
    if (file->refused)
        return;
    fd = open_same(names, name_of(file), &st);
    if (fd < 0) {
        file->refused = "it cannot be opened";
        return;
    }
    file->is_running = is_written_to(fd, file);
    read_facts(arena, file, fd);
    close(fd);
}

int mv_run_names_open(const mv_run_names *names, const mv_run_file *file)
{
    struct stat st = {.st_dev = file->device, .st_ino = file->inode};
    return open_same(names, name_of(file), &st);
}

static void name_folded(const mv_run_file *file, char name[NAME_MAX + 16])
{
    snprintf(name, NAME_MAX + 16, "%.*s%s", NAME_MAX, name_of(file), MV_FOLDED_SUFFIX);
}

int mv_run_names_open_folded(const mv_run_names *names, const mv_run_file *file)
{
    char name[NAME_MAX + 16];

    name_folded(file, name);
    return openat(names->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

bool mv_run_names_remove(const mv_run_names *names, const mv_run_file *file)
{
    char folded[NAME_MAX + 16];
    struct stat st;

    name_folded(file, folded);
    unlinkat(names->folder, folded, 0);
    return fstatat(names->folder, name_of(file), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_dev == file->device && st.st_ino == file->inode &&
           unlinkat(names->folder, name_of(file), 0) == 0;
}

/* Parses PID[.N].live, which follows the beginning of the name that all files of the run share. */
static bool parse_name(const char *rest, uint32_t *pid, uint32_t *image)
{
    uint64_t number, second = 0;
    const char *after;

    if (!mv_number_take(&rest, 10, &number))
        return false;
    after = rest + (*rest == '.');
    if (mv_number_take(&after, 10, &second))
        rest = after;
    *pid = (uint32_t)number;
    *image = (uint32_t)second;
    return strcmp(rest, ".live") == 0;
}

/* Sorts the files by rank. Ranks are compared as unsigned numbers, so that files without a rank
 * (-1) are last. */
static void sort_files(mv_run_file *files, uint32_t count)
{
    mv_sort_rows(NULL, files, count,
                 ((mv_sort_key){.at = offsetof(mv_run_file, rank), .kind = MV_KEY_U64}),
                 MV_RISING(mv_run_file, start_us), MV_RISING(mv_run_file, pid),
                 MV_RISING(mv_run_file, image));
}

bool mv_run_names_is_live(const mv_run_names *names, const char *entry, uint32_t *pid,
                          uint32_t *image)
{
    const char *name = strrchr(names->live, '/') + 1;
    size_t length = strlen(name);

    return strncmp(entry, name, length) == 0 && entry[length] == '.' &&
           parse_name(entry + length + 1, pid, image);
}

static bool add_file(mv_arena *arena, const mv_run_names *names, const char *entry,
                     mv_run_file **files, uint32_t *count)
{
    const char *name = strrchr(names->live, '/') + 1;
    size_t length = strlen(name);
    mv_run_file file = {0}, *grown;
    char path[PATH_MAX + NAME_MAX];

    if (!mv_run_names_is_live(names, entry, &file.pid, &file.image))
        return true;
    snprintf(path, sizeof path, "%s%s", names->live, entry + length);
    file.path = mv_arena_text(arena, path, strlen(path));
    grown = mv_arena_grow(arena, *files, (*count + 1) * sizeof *grown);
    if (!file.path || !grown)
        return false;
    look_at(arena, names, &file);
    *files = grown;
    grown[(*count)++] = file;
    return true;
}

mv_code mv_run_names_list(mv_arena *arena, const mv_run_names *names, mv_run_file **files,
                          uint32_t *count, mv_err *err)
{
    struct dirent *entry;
    bool fits = true;
    int again = openat(names->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);

    *files = NULL;
    *count = 0;
    if (!dir) {
        mv_fail(err, MV_IO, MV_NO_OFFSET, "cannot read the folder of %s: %s", names->live,
                strerror(errno));
        if (again >= 0)
            close(again);
        return err->code;
    }
    while (fits && (entry = readdir(dir)))
        fits = add_file(arena, names, entry->d_name, files, count);
    closedir(dir);
    if (!fits)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    if (*count > 0)
        sort_files(*files, *count);
    return MV_OK;
}

/* ---- the results ------------------------------------------------------------------------- */

/* Writes the host's name as part of a file name. Other characters are replaced with '_', and the
 * part does not begin with a dot. */
static int put_host(const char *host, char *out, size_t size)
{
    size_t at = 0;

    for (; *host && at + 1 < size; host++, at++) {
        bool is_plain = isalnum((unsigned char)*host) || *host == '-' || (*host == '.' && at > 0);
        out[at] = is_plain ? *host : '_';
    }
    out[at] = 0;
    return (int)at;
}

static bool expand(const char *output, const mv_run_file *file, char *out, size_t size)
{
    size_t at = 0;

    for (const char *c = output; *c && at + 1 < size; c++) {
        int length = 1;
        if (c[0] == '%' && c[1]) {
            c++;
            if (*c == 'p')
                length = snprintf(out + at, size - at, "%u", file->pid);
            else if (*c == 'r')
                length = snprintf(out + at, size - at, "%lld",
                                  (long long)(file->rank >= 0 ? file->rank : 0));
            else if (*c == 'h')
                length = put_host(file->host ? file->host : "host", out + at, size - at);
            else
                length = snprintf(out + at, size - at, *c == '%' ? "%%" : "%%%c", *c);
        } else {
            out[at] = *c;
        }
        at += (size_t)length;
    }
    out[at < size ? at : size - 1] = 0;
    return at + 1 < size;
}

void mv_run_names_insert(const char *path, const char *word, char *out, size_t size)
{
    size_t length = strlen(path);

    if (length > 4 && strcmp(path + length - 4, ".bin") == 0)
        snprintf(out, size, "%.*s.%s.bin", (int)length - 4, path, word);
    else
        snprintf(out, size, "%s.%s", path, word);
}

static bool is_taken(const mv_run_file *files, uint32_t count, const char *result)
{
    for (uint32_t i = 0; i < count; i++)
        if (files[i].result && strcmp(files[i].result, result) == 0)
            return true;
    return false;
}

/* Makes the candidate for a result's name. Attempt 0 is the plain name, and each further attempt is
 * more specific. */
static void candidate(const mv_run_file *file, const char *plain, uint32_t attempt, char *out,
                      size_t size)
{
    char word[64];

    if (attempt == 1 && file->rank >= 0)
        snprintf(word, sizeof word, "r%lld", (long long)file->rank);
    else if (attempt <= 2)
        snprintf(word, sizeof word, "%u", file->pid);
    else
        snprintf(word, sizeof word, "%u.%u", file->pid, attempt - 2);
    if (attempt == 0)
        snprintf(out, size, "%s", plain);
    else
        mv_run_names_insert(plain, word, out, size);
}

bool mv_run_names_assign(mv_arena *arena, const mv_run_names *names, mv_run_file *files,
                         uint32_t count)
{
    char plain[PATH_MAX], result[PATH_MAX + 64];

    for (uint32_t i = 0; i < count; i++) {
        /* If there is a launcher for each rank, the plain name belongs to rank 0. */
        bool is_another =
            names->launch_rank > 0 && !strstr(names->output, "%r") && !strstr(names->output, "%p");
        uint32_t attempt = is_another ? 1 : 0;
        if (files[i].refused)
            continue;
        if (!expand(names->output, &files[i], plain, sizeof plain))
            return false;
        do
            candidate(&files[i], plain, attempt++, result, sizeof result);
        while (is_taken(files, i, result));
        files[i].result = mv_arena_text(arena, result, strlen(result));
        if (!files[i].result)
            return false;
    }
    return true;
}
