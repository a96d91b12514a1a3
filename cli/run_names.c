#include "cli/run_names.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture/wire_live.h"
#include "parse/base/cursor.h"

/* ---- what -o says ------------------------------------------------------------------------ */

static int64_t number_of(const char *text)
{
    char *end;
    long long value;

    if (!text || !isdigit((unsigned char)*text))
        return MV_NO_RANK_KNOWN;
    errno = 0;
    value = strtoll(text, &end, 10);
    return errno == 0 && *end == 0 ? value : MV_NO_RANK_KNOWN;
}

/* The variables by which launchers tell a process its rank; the shim looks at the same. */
static int64_t own_rank(void)
{
    static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (number_of(getenv(names[i])) >= 0)
            return number_of(getenv(names[i]));
    return MV_NO_RANK_KNOWN;
}

/* A number that another launcher does not have, on whichever machine. */
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

/* The name without its placeholders, and without the dot ahead of each. */
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

mv_code mv_run_names_make(const char *output, mv_run_names *out, mv_err *err)
{
    char folder[PATH_MAX], full[PATH_MAX], name[NAME_MAX + 1];
    const char *slash;
    int length;

    if (!output)
        output = MV_RUN_DEFAULT;
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
                       "-o %s: placeholders can stand in the file's name, not in its folder's",
                       output);
    if (!realpath(folder, full) || access(full, W_OK | X_OK) != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "cannot write into %s: %s", folder,
                       strerror(errno));
    plain_name(output + length, name, sizeof name);
    out->launch_rank = own_rank();
    if (snprintf(out->live, sizeof out->live, "%s/%s.%08x", strcmp(full, "/") ? full : "", name,
                 run_number()) >= PATH_MAX - 64)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "the name of -o is too long");
    return MV_OK;
}

/* ---- the live files ---------------------------------------------------------------------- */

static uint64_t take_varint(mv_cursor *c)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = mv_take_u8(c);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

/* The last value of a key; NULL when there is none or memory is out. */
static const char *find_fact(mv_arena *arena, mv_span facts, const char *key)
{
    mv_cursor c = mv_cursor_over(facts);
    const char *found = NULL;

    while (c.at < facts.length) {
        uint64_t key_bytes = take_varint(&c);
        const uint8_t *name = mv_take_bytes(&c, key_bytes);
        uint64_t bytes = take_varint(&c);
        const uint8_t *value = mv_take_bytes(&c, bytes);
        if (c.overrun)
            break;
        if (key_bytes == strlen(key) && memcmp(name, key, key_bytes) == 0)
            found = mv_arena_text(arena, (const char *)value, bytes);
    }
    return found;
}

static void read_facts(mv_arena *arena, mv_run_file *file)
{
    const uint64_t at = sizeof(mv_wire_header) + sizeof(mv_wire_chunk) + sizeof(mv_live_head);
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    uint8_t *bytes;
    mv_live_head head;
    mv_span facts;

    file->rank = MV_NO_RANK_KNOWN;
    if (fd < 0)
        return;
    bytes = mmap(NULL, MV_LIVE_CHUNK_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
    struct stat st;
    if (fstat(fd, &st) == 0 && st.st_size >= MV_LIVE_CHUNK_BYTES && bytes != MAP_FAILED) {
        memcpy(&head, bytes + at - sizeof head, sizeof head);
        facts = (mv_span){bytes + at, head.committed};
        if (facts.length > MV_LIVE_CHUNK_BYTES - at)
            facts.length = MV_LIVE_CHUNK_BYTES - at;
        file->rank = number_of(find_fact(arena, facts, "rank"));
        file->start_us = number_of(find_fact(arena, facts, "start_us"));
        file->host = find_fact(arena, facts, "host");
        file->visible = find_fact(arena, facts, "cuda_visible_devices");
    }
    if (bytes != MAP_FAILED)
        munmap(bytes, MV_LIVE_CHUNK_BYTES);
    close(fd);
}

/* A process that still has the file mapped may still write to it. */
static bool has_mapped(uint32_t pid, const char *path)
{
    char maps[64], line[PATH_MAX + 128];
    bool found = false;
    FILE *file;

    snprintf(maps, sizeof maps, "/proc/%u/maps", pid);
    file = fopen(maps, "re");
    if (!file)
        return errno == EACCES || errno == EPERM;
    while (!found && fgets(line, sizeof line, file))
        found = strstr(line, path) != NULL;
    fclose(file);
    return found;
}

/* PID[.N].live behind the run's own part of the name. */
static bool parse_name(const char *rest, uint32_t *pid, uint32_t *image)
{
    char *end;

    if (!isdigit((unsigned char)*rest))
        return false;
    *pid = (uint32_t)strtoul(rest, &end, 10);
    *image = 0;
    if (*end == '.' && isdigit((unsigned char)end[1]))
        *image = (uint32_t)strtoul(end + 1, &end, 10);
    return strcmp(end, ".live") == 0;
}

static int compare_files(const void *a, const void *b)
{
    const mv_run_file *x = a, *y = b;
    /* Without a rank: behind all that have one. */
    uint64_t x_rank = (uint64_t)x->rank, y_rank = (uint64_t)y->rank;

    if (x_rank != y_rank)
        return x_rank < y_rank ? -1 : 1;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->image > y->image) - (x->image < y->image);
}

static bool add_file(mv_arena *arena, const mv_run_names *names, const char *entry,
                     mv_run_file **files, uint32_t *count)
{
    const char *name = strrchr(names->live, '/') + 1;
    size_t length = strlen(name);
    mv_run_file file = {0}, *grown;
    char path[PATH_MAX + NAME_MAX];

    if (strncmp(entry, name, length) != 0 || entry[length] != '.' ||
        !parse_name(entry + length + 1, &file.pid, &file.image))
        return true;
    snprintf(path, sizeof path, "%s%s", names->live, entry + length);
    file.path = mv_arena_text(arena, path, strlen(path));
    grown = mv_arena_grow(arena, *files, (*count + 1) * sizeof *grown);
    if (!file.path || !grown)
        return false;
    read_facts(arena, &file);
    file.is_running = has_mapped(file.pid, file.path);
    *files = grown;
    grown[(*count)++] = file;
    return true;
}

mv_code mv_run_names_list(mv_arena *arena, const mv_run_names *names, mv_run_file **files,
                          uint32_t *count, mv_err *err)
{
    char folder[PATH_MAX];
    struct dirent *entry;
    bool fits = true;
    DIR *dir;

    *files = NULL;
    *count = 0;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(names->live, '/') - names->live) + 1,
             names->live);
    dir = opendir(folder);
    if (!dir)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "cannot read %s: %s", folder, strerror(errno));
    while (fits && (entry = readdir(dir)))
        fits = add_file(arena, names, entry->d_name, files, count);
    closedir(dir);
    if (!fits)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    if (*count > 0)
        qsort(*files, *count, sizeof **files, compare_files);
    return MV_OK;
}

/* ---- the results ------------------------------------------------------------------------- */

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
                length = snprintf(out + at, size - at, "%s", file->host ? file->host : "host");
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

/* "run.bin" and "r1" make "run.r1.bin". */
static void insert(const char *path, const char *word, char *out, size_t size)
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

/* Attempt 0 is the plain name; those behind it are ever more particular. */
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
        insert(plain, word, out, size);
}

bool mv_run_names_assign(mv_arena *arena, const mv_run_names *names, mv_run_file *files,
                         uint32_t count)
{
    char plain[PATH_MAX], result[PATH_MAX + 64];

    for (uint32_t i = 0; i < count; i++) {
        /* Launched once for each rank: the plain name is rank 0's. */
        bool is_another =
            names->launch_rank > 0 && !strstr(names->output, "%r") && !strstr(names->output, "%p");
        uint32_t attempt = is_another ? 1 : 0;
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
