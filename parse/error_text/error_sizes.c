/* Reads the sizes in an error, which are identified by the words around them. */
#include "parse/error_text/error_window.h"

#include <stdio.h>

#include "base/numbers.h"

static const mv_printed_size not_printed = {MV_NO_BYTES, 0, MV_NO_BYTES};

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* ---- a number and its unit --------------------------------------------------------------- */

typedef struct {
    uint64_t whole, part, scale; /* whole + part / scale */
    uint32_t shift;              /* log2 of the unit: 20 for MiB */
    const char *from, *to;       /* beginning and end in the text */
} figure;

/* Reads a size such as "7.93GiB" or "0bytes"; in a summary also "512B" and "4261MB". */
static bool take_figure(const char *at, bool of_summary, figure *out)
{
    static const struct {
        const char *unit;
        uint32_t shift;
    } units[] = {{"bytes", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"KB", 10},
                 {"MB", 20},   {"GB", 30},  {"TB", 40},  {"PiB", 50}, {"PB", 50},  {"B", 0}};
    size_t count = of_summary ? sizeof units / sizeof *units : 5;

    *out = (figure){.scale = 1, .from = at};
    if (!mv_number_take(&at, 10, &out->whole))
        return false;
    if (*at == '.' && mv_error_digit(at[1]))
        for (at++; mv_error_digit(*at); at++)
            if (out->scale < 1000000) {
                out->part = out->part * 10 + (uint64_t)(*at - '0');
                out->scale *= 10;
            }
    for (size_t i = 0; i < count; i++)
        if (mv_error_has(at, units[i].unit)) {
            out->shift = units[i].shift;
            out->to = at + strlen(units[i].unit);
            return out->shift < 50 || out->scale == 1;
        }
    return false;
}

/* Computes (whole + part / scale) << shift, rounded up or down; MV_NO_BYTES if the result is too
 * large. */
static uint64_t bytes_of(uint64_t whole, uint64_t part, uint64_t scale, uint32_t shift, bool up)
{
    if (whole >= MV_NO_BYTES >> (shift + 1))
        return MV_NO_BYTES;
    return (whole << shift) + ((part << shift) + (up ? scale - 1 : 0)) / scale; /* 2^21 << 40 */
}

/* Returns the range of sizes that are printed in this way after rounding to the last printed digit.
 * Numbers of bytes are exact. */
static mv_printed_size rounded(const figure *f)
{
    uint64_t twice = 2 * f->part, whole = f->whole, scale = 2 * f->scale;
    mv_printed_size size;

    if (whole >= MV_NO_BYTES >> (f->shift + 1))
        return not_printed;
    size.bytes = bytes_of(whole, f->part, f->scale, f->shift, false);
    size.least = size.most = size.bytes;
    if (f->shift == 0)
        return size;
    size.most = bytes_of(whole, twice + 1, scale, f->shift, false);
    if (twice == 0 && whole == 0)
        size.least = 0;
    else
        size.least = bytes_of(twice ? whole : whole - 1, twice ? twice - 1 : scale - 1, scale,
                              f->shift, true);
    return size;
}

/* Returns the range of sizes that are printed in this way after truncating to whole units. */
static mv_printed_size cut_off(const figure *f)
{
    uint64_t bytes = bytes_of(f->whole, 0, 1, f->shift, false);

    if (f->scale > 1) /* the text was written by hand */
        return rounded(f);
    if (bytes == MV_NO_BYTES)
        return not_printed;
    return (mv_printed_size){bytes, bytes, bytes + (UINT64_C(1) << f->shift) - 1};
}

/* ---- messages ---------------------------------------------------------------------------- */

/* The words before or after a size that identify it. */
static const struct {
    const char *before, *after; /* words before or after the size; one of the two is NULL */
    mv_error_size size;
} labels[] = {
    {"Triedtoallocate", NULL, MV_ERROR_REQUESTED},
    {"triedtoallocate", NULL, MV_ERROR_REQUESTED},
    {"Requested:", NULL, MV_ERROR_REQUESTED},
    {"totalcapacityof", NULL, MV_ERROR_CAPACITY},
    {"totalcapactyof", NULL, MV_ERROR_CAPACITY}, /* a typing error in PyTorch 2.1 */
    {NULL, "totalcapacity", MV_ERROR_CAPACITY},
    {"Devicelimit:", NULL, MV_ERROR_CAPACITY},
    {NULL, "isfree", MV_ERROR_FREE},
    {NULL, "free;", MV_ERROR_FREE},
    {NULL, "free)", MV_ERROR_FREE},
    {"Free(accordingtoCUDA):", NULL, MV_ERROR_FREE},
    {NULL, "allowed;", MV_ERROR_LIMIT},
    {"memoryfraction):", NULL, MV_ERROR_LIMIT},
    {NULL, "isallocatedbyPyTorch", MV_ERROR_ALLOCATED},
    {NULL, "alreadyallocated", MV_ERROR_ALLOCATED},
    {"Currentlyallocated:", NULL, MV_ERROR_ALLOCATED},
    {NULL, "allocatedinprivatepools", MV_ERROR_PRIVATE},
    {NULL, "isreservedbyPyTorchbutunallocated", MV_ERROR_UNALLOCATED},
    {NULL, "reservedintotalbyPyTorch", MV_ERROR_RESERVED},
    {NULL, "cached;", MV_ERROR_UNALLOCATED}, /* PyTorch 1.3 and earlier; does not include the
                                              * allocated size */
    {NULL, "cached)", MV_ERROR_UNALLOCATED},
};

static bool ends_with(const char *begin, const char *end, const char *words)
{
    size_t length = strlen(words);

    return (size_t)(end - begin) >= length && memcmp(end - length, words, length) == 0;
}

static mv_error_size label_of(const char *begin, const figure *f)
{
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (labels[i].after ? mv_error_has(f->to, labels[i].after)
                            : ends_with(begin, f->from, labels[i].before))
            return labels[i].size;
    return MV_ERROR_SIZE_COUNT;
}

/* Returns true if the text before a size is "Process12345has", in which case *pid is set, or
 * "thisprocesshas", in which case *pid is set to MV_NO_BYTES. */
static bool names_process(const char *begin, const char *end, uint64_t *pid)
{
    const char *at;

    *pid = MV_NO_BYTES;
    if (ends_with(begin, end, "thisprocesshas"))
        return true;
    if (!ends_with(begin, end, "has"))
        return false;
    at = end - 3;
    while (at > begin && mv_error_digit(at[-1]))
        at--;
    return ends_with(begin, at, "Process") && mv_number_take(&at, 10, pid);
}

static void add_process(mv_error_text *out, uint64_t pid, mv_printed_size size)
{
    mv_printed_size *sum = &out->listed;

    out->hides_processes = out->hides_processes || !mv_size_is_printed(size);
    if (pid == MV_NO_BYTES) {
        out->size[MV_ERROR_PROCESS] = size;
        return;
    }
    if (out->process_count < MV_ERROR_PROCESSES)
        out->processes[out->process_count] = (mv_error_process){pid, size};
    if (out->process_count++ == 0)
        *sum = (mv_printed_size){0};
    if (!mv_size_is_printed(*sum) || !mv_size_is_printed(size) ||
        sum->most > MV_NO_BYTES / 2 - size.most)
        *sum = not_printed;
    else
        *sum = (mv_printed_size){sum->bytes + size.bytes, sum->least + size.least,
                                 sum->most + size.most};
}

/* Reads one size of the message. Returns false if the size belongs to something else. */
static bool take_size(const mv_error_window *w, const figure *f, mv_error_text *out)
{
    const char *begin = w->text + w->begins;
    mv_printed_size size = rounded(f);
    mv_error_size what;
    uint64_t pid;

    if (mv_error_has(f->to, "memoryinuse") && names_process(begin, f->from, &pid)) {
        add_process(out, pid, size);
        return true;
    }
    what = label_of(begin, f);
    if (what == MV_ERROR_SIZE_COUNT)
        return true;
    if (mv_size_is_printed(out->size[what]))
        return false;
    out->size[what] = size;
    out->is_before_2 |= mv_error_has(f->to, "totalcapacity");
    out->mentions_limit |= what == MV_ERROR_LIMIT || what == MV_ERROR_RESERVED ||
                           what == MV_ERROR_UNALLOCATED ||
                           (what == MV_ERROR_ALLOCATED && mv_error_has(f->to, "isallocatedby"));
    return true;
}

/* Returns the device in "(GPU0;", ".GPU0hasatotalcapacity" or "(NPU3;" after the first size. */
static int64_t device_after(const char *at)
{
    uint64_t number;

    at += strspn(at, ".(");
    while (is_letter(*at))
        at++;
    if (!mv_number_take(&at, 10, &number) || number > 4095)
        return -1;
    return *at == ';' || mv_error_has(at, "has") ? (int64_t)number : -1;
}

/* Returns the device in "device0would" before `end`. */
static int64_t device_before(const char *begin, const char *end)
{
    const char *at = end - begin > 5 ? end - 5 : begin;
    uint64_t number;

    while (at > begin && mv_error_digit(at[-1]))
        at--;
    return mv_number_take(&at, 10, &number) && number < 4096 ? (int64_t)number : -1;
}

static mv_printed_size sum_of(mv_printed_size a, mv_printed_size b)
{
    if (!mv_size_is_printed(a) || !mv_size_is_printed(b))
        return not_printed;
    return (mv_printed_size){a.bytes + b.bytes, a.least + b.least, a.most + b.most};
}

/* Returns a - b, but at least 0. */
static mv_printed_size rest_of(mv_printed_size a, mv_printed_size b)
{
    if (!mv_size_is_printed(a) || !mv_size_is_printed(b) || a.most < b.least)
        return not_printed;
    return (mv_printed_size){a.bytes > b.bytes ? a.bytes - b.bytes : 0,
                             a.least > b.most ? a.least - b.most : 0, a.most - b.least};
}

/* Computes the missing size: the reserved size is the sum of the allocated and the unallocated
 * size, and each message contains two of these three. */
static void add_up(mv_error_text *out)
{
    mv_printed_size *s = out->size;

    if (!mv_size_is_printed(s[MV_ERROR_RESERVED]))
        s[MV_ERROR_RESERVED] = sum_of(s[MV_ERROR_ALLOCATED], s[MV_ERROR_UNALLOCATED]);
    else if (!mv_size_is_printed(s[MV_ERROR_UNALLOCATED]))
        s[MV_ERROR_UNALLOCATED] = rest_of(s[MV_ERROR_RESERVED], s[MV_ERROR_ALLOCATED]);
}

/* Returns true if another error or a traceback begins at `at`. */
static bool is_other(const char *at, const char *begin)
{
    return at > begin && (mv_error_has(at, "utofmemory.") || mv_error_has(at, "Traceback(") ||
                          mv_error_has(at, "exceedallowedmemory"));
}

/* Returns true if a digit continues a number. A digit after a full stop may instead begin a
 * sentence. */
static bool is_within(const char *at)
{
    return mv_error_digit(at[-1]) || (at[-1] == '.' && mv_error_digit(at[-2]));
}

static uint32_t read_sizes(const mv_error_window *w, mv_error_text *out)
{
    const char *begin = w->text + w->begins, *at = begin, *last = begin;

    for (; *at && at - last <= MV_ERROR_GAP && !is_other(at, begin); at++) {
        figure f;
        if (!mv_error_digit(*at) || (at > begin && is_within(at)) || !take_figure(at, false, &f))
            continue;
        if (!take_size(w, &f, out))
            break;
        if (ends_with(begin, f.from, "riedtoallocate"))
            out->device = device_after(f.to);
        last = f.to;
        at = f.to - 1;
    }
    for (const char *rest = last; *rest && rest - last < MV_ERROR_GAP && !is_other(rest, begin);
         rest++)
        out->names_alloc_conf |= mv_error_has(rest, "PYTORCH_ALLOC_CONF");
    add_up(out);
    return (uint32_t)(last - w->text);
}

/* ---- summaries --------------------------------------------------------------------------- */

/* Reads the current and the peak size in a row of the summary. */
static void take_row(const char *table, const char *name, mv_printed_size *now,
                     mv_printed_size *peak)
{
    const char *at = strstr(table, name);
    figure f;

    if (!at || !take_figure(at + strlen(name), true, &f))
        return;
    *now = cut_off(&f);
    if (peak && *f.to == '|' && take_figure(f.to + 1, true, &f))
        *peak = cut_off(&f);
}

static uint64_t count_after(const char *table, const char *words)
{
    const char *at = strstr(table, words);
    uint64_t count;

    if (!at)
        return MV_NO_BYTES;
    at += strlen(words);
    return mv_number_take(&at, 10, &count) ? count : MV_NO_BYTES;
}

static bool read_summary(const mv_error_window *w, mv_error_text *out, uint32_t *end)
{
    static const char title[] = "memorysummary,deviceID";
    char table[MV_ERROR_BYTES + 1];
    const char *begin = w->text + w->begins, *next = strstr(begin + 1, title);
    size_t length = next ? (size_t)(next - begin) : strlen(begin);
    mv_printed_size *s = out->size;

    memcpy(table, begin, length);
    table[length] = 0;
    out->is_summary = true;
    snprintf(out->phrase, sizeof out->phrase, "memory summary");
    out->device = (int64_t)count_after(table, title);
    out->failures = count_after(table, "OOMs:");
    out->retries = count_after(table, "cudaMallocretries:");
    take_row(table, "llocatedmemory|", &s[MV_ERROR_ALLOCATED], &s[MV_ERROR_PEAK_ALLOCATED]);
    take_row(table, "ctivememory|", &s[MV_ERROR_ACTIVE], NULL);
    take_row(table, "eservedmemory|", &s[MV_ERROR_RESERVED], &s[MV_ERROR_PEAK_RESERVED]);
    take_row(table, "releasablememory|", &s[MV_ERROR_SPLIT], NULL);
    add_up(out);
    *end = w->begins + (uint32_t)length;
    return mv_size_is_printed(s[MV_ERROR_ALLOCATED]) && mv_size_is_printed(s[MV_ERROR_RESERVED]);
}

/* ---- kinds of errors ----------------------------------------------------------------------- */

/* Errors that are printed without a size, with blanks removed. `part` is searched for, and `before`
 * must come directly before it. */
static const struct {
    const char *before, *part, *phrase;
} bare[] = {
    {"CUDAerror:o", "utofmemory", "CUDA error: out of memory"},
    {"CUDAdrivererror:o", "utofmemory", "CUDA driver error: out of memory"},
    {"HIPerror:o", "utofmemory", "HIP error: out of memory"},
    {"cudaruntimeerror(2):o", "utofmemory", "cuda runtime error (2): out of memory"},
    {"Cudafailure2'o", "utofmemory'", "NCCL: Cuda failure 2 'out of memory'"},
    {"Cudafailure'o", "utofmemory'", "NCCL: Cuda failure 'out of memory'"},
    {"Error:CUDAo", "utofmemory", "CUDA out of memory"},
    {"Error:HIPo", "utofmemory", "HIP out of memory"},
    {"CUDA_ERROR_", "OUT_OF_MEMORY", "CUDA_ERROR_OUT_OF_MEMORY"},
    {"", "hipErrorOutOfMemory", "hipErrorOutOfMemory"},
    {"CUBLAS_STATUS_", "ALLOC_FAILED", "CUBLAS_STATUS_ALLOC_FAILED"},
    {"CUDNN_STATUS_", "ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED"},
    {"CUSPARSE_STATUS_", "ALLOC_FAILED", "CUSPARSE_STATUS_ALLOC_FAILED"},
    {"CUSOLVER_STATUS_", "ALLOC_FAILED", "CUSOLVER_STATUS_ALLOC_FAILED"},
    {"CUFFT_", "ALLOC_FAILED", "CUFFT_ALLOC_FAILED"},
    {"HIPBLAS_STATUS_", "ALLOC_FAILED", "HIPBLAS_STATUS_ALLOC_FAILED"},
};

const char *mv_error_bare(const char *text, uint32_t at)
{
    for (size_t i = 0; i < sizeof bare / sizeof *bare; i++)
        if (mv_error_has(text + at, bare[i].part) && ends_with(text, text + at, bare[i].before))
            return bare[i].phrase;
    return NULL;
}

/* Stores the name of the error. The word before "out" is part of the name: "CUDA out of memory". */
static void name_sentence(const mv_error_window *w, mv_error_text *out)
{
    const char *end = w->text + w->begins, *at = end;
    uint32_t length;

    if (at > w->text && (at[-1] == 'o' || at[-1] == 'O'))
        end = --at;
    while (at > w->text && at[-1] >= 'A' && at[-1] <= 'Z')
        at--;
    length = (uint32_t)(end - at);
    if (length > 16)
        length = 0;
    snprintf(out->phrase, sizeof out->phrase, "%.*s%sut of memory", (int)length, at,
             length ? " o" : "O");
}

bool mv_error_read(const mv_error_window *w, mv_error_text *out, uint32_t *end)
{
    const char *at = w->text + w->begins, *bare_phrase;

    *out = (mv_error_text){.device = -1,
                           .rank = mv_error_rank(w->line),
                           .time_ms = MV_NO_TIME,
                           .failures = MV_NO_BYTES,
                           .retries = MV_NO_BYTES,
                           .listed = not_printed,
                           .times = 1};
    for (uint32_t i = 0; i < MV_ERROR_SIZE_COUNT; i++)
        out->size[i] = not_printed;
    *end = w->begins + 1;
    if (mv_error_has(at, "memorysummary,deviceID"))
        return read_summary(w, out, end);
    if (mv_error_has(at, "exceedallowedmemory")) {
        out->is_async = true;
        snprintf(out->phrase, sizeof out->phrase, "Allocation would exceed allowed memory");
        *end = read_sizes(w, out);
        out->device = device_before(w->text, at);
        return true;
    }
    if (mv_error_has(at, "youtriedtoallocate")) {
        snprintf(out->phrase, sizeof out->phrase, "DefaultCPUAllocator: not enough memory");
        out->is_of_host = true;
        *end = read_sizes(w, out);
        return mv_size_is_printed(out->size[MV_ERROR_REQUESTED]);
    }
    if (mv_error_has(at, "utofmemory.Triedtoallocate")) {
        name_sentence(w, out);
        *end = read_sizes(w, out);
        if (mv_size_is_printed(out->size[MV_ERROR_REQUESTED]))
            return true;
    }
    bare_phrase = mv_error_bare(w->text, w->begins);
    if (bare_phrase)
        snprintf(out->phrase, sizeof out->phrase, "%s", bare_phrase);
    return bare_phrase != NULL;
}
