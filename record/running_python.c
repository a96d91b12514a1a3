#include "record/running_python.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/stopped_thread.h"

enum { MOST_MAPS = 65536, PATH_BYTES = 4096 };

/* ---- finding the interpreter ------------------------------------------------------------- */

typedef struct {
    uint64_t start, end, offset;
    char rights[8];
    char path[PATH_BYTES];
} mapping;

static bool read_mapping(FILE *maps, mapping *out)
{
    char line[PATH_BYTES + 128];
    unsigned long start, end, offset;
    int at = 0;

    if (!fgets(line, sizeof line, maps))
        return false;
    line[strcspn(line, "\n")] = '\0';
    *out->path = *out->rights = '\0';
    if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %n", &start, &end, out->rights, &offset, &at) < 4)
        return false;
    out->start = start, out->end = end, out->offset = offset;
    if (at > 0)
        snprintf(out->path, sizeof out->path, "%s", line + at);
    return true;
}

static FILE *open_of(pid_t pid, const char *name)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

/* Addresses of the functions in the file's dynamic symbol table, after loading. */
typedef struct {
    uint64_t bias;
    mv_running_python *python;
    int found; /* how many of the two required functions were found */
    bool has_version;
    uint64_t version_at;
} symbols;

static void take_symbol(symbols *s, const char *name, const GElf_Sym *symbol)
{
    uint64_t address = s->bias + symbol->st_value;

    if (strcmp(name, "Py_AddPendingCall") == 0) {
        s->python->add_pending_call = address;
        s->found++;
    } else if (strcmp(name, "PyRun_SimpleString") == 0) {
        s->python->run_string = address;
        s->found++;
    } else if (strcmp(name, "_PyEval_EvalFrameDefault") == 0) {
        s->python->evaluate = (mv_address_range){address, address + symbol->st_size};
    } else if (strcmp(name, "Py_Version") == 0) {
        s->has_version = true;
        s->version_at = address;
    }
}

/* Finds the difference between addresses in memory and addresses in the file, with the help of the
 * segment that was mapped. */
static bool find_bias(Elf *elf, const mapping *map, uint64_t *bias)
{
    size_t headers;
    GElf_Phdr header;

    if (elf_getphdrnum(elf, &headers) != 0)
        return false;
    for (size_t i = 0; i < headers; i++)
        if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD &&
            (header.p_flags & PF_X) && (header.p_offset & ~UINT64_C(4095)) == map->offset) {
            *bias = map->start - (header.p_vaddr & ~UINT64_C(4095));
            return true;
        }
    return false;
}

static void read_symbols(Elf *elf, symbols *s)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        Elf_Data *data;
        GElf_Sym symbol;

        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM || !header.sh_entsize)
            continue;
        data = elf_getdata(section, NULL);
        for (uint64_t i = 0; data && i < header.sh_size / header.sh_entsize; i++) {
            const char *name = gelf_getsym(data, (int)i, &symbol)
                                   ? elf_strptr(elf, header.sh_link, symbol.st_name)
                                   : NULL;
            if (name && symbol.st_shndx != SHN_UNDEF)
                take_symbol(s, name, &symbol);
        }
    }
}

/* Returns true if the mapping contains an interpreter's code. */
static bool look_in(mv_running_python *python, const mapping *map)
{
    char path[PATH_BYTES + 64];
    symbols s = {.python = python};
    Elf *elf;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/root%s", (int)python->pid, map->path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf && elf_kind(elf) == ELF_K_ELF && find_bias(elf, map, &s.bias))
        read_symbols(elf, &s);
    if (elf)
        elf_end(elf);
    close(fd);
    if (s.found != 2)
        return false;
    python->interpreter = (mv_address_range){map->start, map->end};
    if (s.has_version) {
        uint64_t version = 0;
        if (mv_thread_memory(python->pid, s.version_at, &version, sizeof version))
            python->version = (unsigned)(version >> 16) & 0xffff;
    }
    return true;
}

static mv_code check_process(pid_t pid, mv_err *err)
{
    char path[64];
    struct stat info;

    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (pid <= 0 || stat(path, &info) != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "no process has the ID %d", (int)pid);
    if (pid == getpid())
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "process %d is memviz itself", (int)pid);
    if (geteuid() != 0 && info.st_uid != geteuid())
        return mv_fail(err, MV_IO, MV_NO_OFFSET,
                       "process %d belongs to another user: attach as that user, or as root",
                       (int)pid);
    return MV_OK;
}

/* Returns true if the process is an x86-64 process with 64-bit addresses. */
static bool is_of_this_architecture(pid_t pid)
{
    unsigned char head[20] = {0};
    FILE *exe = open_of(pid, "exe");
    size_t length = exe ? fread(head, 1, sizeof head, exe) : 0;
    unsigned machine = head[18] | (unsigned)head[19] << 8;

    if (exe)
        fclose(exe);
    return length == sizeof head && memcmp(head, ELFMAG, SELFMAG) == 0 &&
           head[EI_CLASS] == ELFCLASS64 && machine == mv_thread_machine;
}

static bool is_named_python(pid_t pid)
{
    char link[64], target[PATH_BYTES];
    const char *name;
    ssize_t length;

    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    length = readlink(link, target, sizeof target - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    name = strrchr(target, '/');
    return name && strncmp(name + 1, "python", 6) == 0;
}

mv_code mv_running_python_find(pid_t pid, mv_running_python *out, mv_err *err)
{
    static mapping map; /* large */
    bool found = false;
    FILE *maps;

    *out = (mv_running_python){.pid = pid};
    if (check_process(pid, err) != MV_OK)
        return err->code;
    maps = open_of(pid, "maps");
    if (!maps)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "the memory of process %d cannot be examined: %s",
                       (int)pid, strerror(errno));
    elf_version(EV_CURRENT);
    for (uint32_t i = 0; i < MOST_MAPS && !found && read_mapping(maps, &map); i++)
        found = map.rights[2] == 'x' && *map.path == '/' && look_in(out, &map);
    fclose(maps);
    if (!is_of_this_architecture(pid))
        return mv_fail(err, MV_IO, MV_NO_OFFSET,
                       "process %d has a different architecture from this memviz, or is not 64-bit "
                       "x86: attach cannot be used there",
                       (int)pid);
    if (!found)
        return mv_fail(err, MV_IO, MV_NO_OFFSET,
                       "process %d contains no Python interpreter that exports its functions "
                       "(another language, a static build, or a file that was replaced)",
                       (int)pid);
    out->is_python = is_named_python(pid);
    return MV_OK;
}

/* ---- sys.remote_exec --------------------------------------------------------------------- */

/* Reads the last line that the child writes, without its line end, and waits for the child. Returns
 * whether the child succeeded. */
static bool has_succeeded(pid_t child, int from_child, char *line, size_t size)
{
    FILE *said = fdopen(from_child, "r");
    char next[256];
    int status = 0;

    while (said && fgets(next, sizeof next, said))
        snprintf(line, size, "%.*s", (int)strcspn(next, "\n"), next);
    if (said)
        fclose(said);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Makes the request with sys.remote_exec, which is called in the process's own executable, so that
 * the versions match. Returns false on failure. `why` is then Python's reason, or empty if the
 * interpreter does not start, which happens outside its container. */
static bool ask_by_remote_exec(const mv_running_python *python, const char *path, char *why,
                               size_t size)
{
    char exe[64], pid[16];
    char *argv[] = {exe,
                    "-I",
                    "-S",
                    "-c",
                    "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])",
                    pid,
                    (char *)(uintptr_t)path,
                    NULL};
    char *environment[] = {NULL};
    bool ok = false;
    int ends[2];
    pid_t child;

    *why = '\0';
    snprintf(exe, sizeof exe, "/proc/%d/exe", (int)python->pid);
    snprintf(pid, sizeof pid, "%d", (int)python->pid);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(null, 0), dup2(null, 1), dup2(ends[1], 2);
        execve(exe, argv, environment);
        _exit(127);
    }
    close(ends[1]);
    if (child > 0)
        ok = has_succeeded(child, ends[0], why, size);
    else
        close(ends[0]);
    if (strncmp(why, "RuntimeError: ", 14) != 0 && strncmp(why, "PermissionError: ", 17) != 0)
        *why = '\0';
    return ok;
}

/* ---- ptrace ------------------------------------------------------------------------------ */

/* Returns the address of a byte sequence (`syscall` or `int3`) in the process's code. */
static uint64_t find_bytes(pid_t pid, const char *bytes, size_t count)
{
    static unsigned char part[1 << 16];
    static mapping map;
    uint64_t found = 0;
    FILE *maps = open_of(pid, "maps");

    while (maps && !found && read_mapping(maps, &map)) {
        if (map.rights[2] != 'x' || strcmp(map.path, "[vsyscall]") == 0)
            continue;
        for (uint64_t at = map.start; at < map.end && !found; at += sizeof part) {
            size_t length = map.end - at < sizeof part ? map.end - at : sizeof part;
            const unsigned char *place;
            if (!mv_thread_memory(pid, at, part, length))
                break;
            place = memmem(part, length, bytes, count);
            if (place)
                found = at + (uint64_t)(place - part);
        }
    }
    if (maps)
        fclose(maps);
    return found;
}

static bool is_within(uint64_t address, mv_address_range range)
{
    return address >= range.start && address < range.end;
}

/* Returns true if the thread is at an address where it cannot hold a lock of the interpreter or of
 * the C library. */
static bool is_safe(const mv_running_python *python, const mv_stopped_thread *thread)
{
    uint64_t at = mv_thread_address(thread);
    static const char *const careful[] = {"/libc.so", "/libc-", "/ld-linux", "/libpthread"};
    static mapping map;
    FILE *maps;
    bool is_careful = false;

    if (mv_thread_waits(thread) || is_within(at, python->evaluate))
        return true;
    if (is_within(at, python->interpreter))
        return false;
    maps = open_of(python->pid, "maps");
    while (maps && read_mapping(maps, &map))
        if (at >= map.start && at < map.end)
            for (unsigned i = 0; i < sizeof careful / sizeof *careful; i++)
                is_careful |= strstr(map.path, careful[i]) != NULL;
    if (maps)
        fclose(maps);
    return !is_careful;
}

enum { TRIES = 500, PAUSE_US = 1000 };

/* Stops the thread at a point where it can safely be made to call functions. */
static mv_code stop_safely(mv_running_python *python, mv_stopped_thread *thread, mv_err *err)
{
    for (int i = 0; i < TRIES; i++) {
        if (mv_thread_stop(thread, python->pid, err) != MV_OK)
            return err->code;
        if (is_safe(python, thread))
            return MV_OK;
        mv_thread_go_on(thread);
        usleep(PAUSE_US);
    }
    return mv_fail(err, MV_IO, MV_NO_OFFSET,
                   "process %d was never at a place where it can be interrupted safely: try again",
                   (int)python->pid);
}

static mv_code ask_by_ptrace(mv_running_python *python, const char *path, mv_err *err)
{
    char code[2048];
    mv_stopped_thread thread;
    uint64_t result = 0;
    int length = snprintf(code, sizeof code,
                          "exec(\"try:\\n with open('%s') as f: s = f.read()\\n exec(s, {})\\n"
                          "except Exception: pass\\n\", {})\n",
                          path);

    if (!python->syscall_at)
        python->syscall_at = find_bytes(python->pid, "\x0f\x05", 2);
    if (!python->trap_at)
        python->trap_at = find_bytes(python->pid, "\xcc", 1);
    if (!python->syscall_at || !python->trap_at)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "the memory of process %d cannot be read",
                       (int)python->pid);
    if (stop_safely(python, &thread, err) != MV_OK)
        return err->code;
    if (!python->page &&
        mv_thread_map(&thread, python->syscall_at, sizeof code, &python->page, err) == MV_OK &&
        !mv_thread_write(&thread, python->page, code, (size_t)length + 1))
        mv_fail(err, MV_IO, MV_NO_OFFSET, "the memory of process %d cannot be written",
                (int)python->pid);
    if (err->code == MV_OK &&
        mv_thread_call(&thread, python->trap_at, python->add_pending_call, python->run_string,
                       python->page, &result, err) == MV_OK &&
        (int)result != 0)
        mv_fail(err, MV_IO, MV_NO_OFFSET,
                "the interpreter of process %d has too many other requests waiting",
                (int)python->pid);
    mv_thread_go_on(&thread);
    return err->code;
}

/* ---- both -------------------------------------------------------------------------------- */

mv_code mv_running_python_query(mv_running_python *python, const char *path, mv_err *err)
{
    if (strlen(path) > 1000 || strpbrk(path, "'\"\\\n"))
        return mv_fail(
            err, MV_IO, MV_NO_OFFSET,
            "the path of the temporary folder is too long, or contains quotes or backslashes");
    if (python->version >= 0x030e && python->is_python) {
        char why[128];
        if (ask_by_remote_exec(python, path, why, sizeof why))
            return MV_OK;
        if (*why)
            return mv_fail(err, MV_IO, MV_NO_OFFSET, "process %d cannot be recorded: %s",
                           (int)python->pid, why);
    }
    return ask_by_ptrace(python, path, err);
}

void mv_running_python_tidy(mv_running_python *python)
{
    mv_stopped_thread thread;
    mv_err ignored = {.offset = MV_NO_OFFSET};

    if (python->page && stop_safely(python, &thread, &ignored) == MV_OK) {
        mv_thread_unmap(&thread, python->syscall_at, python->page);
        mv_thread_go_on(&thread);
    }
    python->page = 0;
}
