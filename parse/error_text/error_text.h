/* Finds errors about GPU memory in text (a log, a program's output, a pasted message), for people
 * without a snapshot.
 *
 *     message   "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; ...": PyTorch 1.0 and
 *               later, for CUDA, HIP, XPU and backends that copied the sentence; cudaMallocAsync's
 *               "Allocation on device 0 would exceed allowed memory"; errors without figures, such
 *               as "CUDA error: out of memory" and CUBLAS_STATUS_ALLOC_FAILED
 *     summary   the table of torch.cuda.memory_summary(), long or abbreviated
 *
 * Errors are found even if blanks, line ends, quotes or colours are inserted anywhere in them. The
 * common prefix of log lines ("[rank3]: ", "(EngineCore pid=12) ERROR 11-28 09:00:01 ", "# ") is
 * removed from all lines after the first. Sources: c10/cuda/CUDACachingAllocator.cpp,
 * CUDAMallocAsyncAllocator.cpp, c10/xpu/XPUCachingAllocator.cpp and torch/cuda/memory.py of
 * PyTorch. */
#pragma once

#include "parse/model/trace.h"
#include "parse/source/source.h"

/* A printed size, and the range of byte counts that are printed in the same way. PyTorch's
 * format_size rounds to two decimals of KiB, MiB or GiB; memory_summary truncates to whole units.
 * `bytes` is MV_NO_BYTES if the text does not contain the size. */
typedef struct {
    uint64_t bytes, least, most;
} mv_printed_size;

static inline bool mv_size_is_printed(mv_printed_size size)
{
    return size.bytes != MV_NO_BYTES;
}

/* The sizes in an error: X(id, JSON field). */
#define MV_ERROR_SIZE_LIST(X)                                                                   \
    X(REQUESTED, "requested")              /* of a segment, not a tensor */                     \
    X(CAPACITY, "capacity")                /* the device's total memory */                      \
    X(FREE, "free")                        /* free memory after the failure */                  \
    X(LIMIT, "limit")                      /* largest total that PyTorch may reserve */         \
    X(PROCESS, "process")                  /* used by this process on the device */             \
    X(ALLOCATED, "allocated")              /* allocated, including private pools */             \
    X(RESERVED, "reserved")                /* reserved by PyTorch */                            \
    X(UNALLOCATED, "reserved_unallocated") /* reserved but not allocated */                     \
    X(PRIVATE, "private_pools")            /* allocated in pools of CUDA graphs and MemPools */ \
    X(ACTIVE, "active")                    /* summary: allocated or still used by a stream */   \
    X(SPLIT, "non_releasable")             /* summary: free parts of segments in use */         \
    X(PEAK_ALLOCATED, "peak_allocated")    /* summary */                                        \
    X(PEAK_RESERVED, "peak_reserved")      /* summary */

typedef enum {
#define MV_ERROR_SIZE_ENUM(id, field) MV_ERROR_##id,
    MV_ERROR_SIZE_LIST(MV_ERROR_SIZE_ENUM) MV_ERROR_SIZE_COUNT
} mv_error_size;

enum { MV_ERROR_PROCESSES = 8, MV_ERROR_PHRASE = 48 };

typedef struct {
    uint64_t pid;
    mv_printed_size size; /* missing if NVML did not report it (Windows, WSL) */
} mv_error_process;

typedef struct {
    bool is_summary;
    char phrase[MV_ERROR_PHRASE]; /* the error's name: "CUDA out of memory",
                                   * "CUBLAS_STATUS_ALLOC_FAILED" */
    mv_printed_size size[MV_ERROR_SIZE_COUNT];
    uint32_t process_count;                         /* number of other processes listed in the
                                                     * message */
    mv_error_process processes[MV_ERROR_PROCESSES]; /* the first of these processes */
    mv_printed_size listed;                         /* total size of these processes, if every one
                                                     * has a size */
    int64_t device, rank;                           /* device and rank, if the message or its line
                                                     * contains them; -1: not given */
    int64_t time_ms;            /* time on the log's clock, used only for ordering; MV_NO_TIME:
                                 * none */
    uint64_t line;              /* number of the error's line in the text, counted from 1 */
    uint64_t times;             /* number of times that the error occurs in the text */
    uint64_t failures, retries; /* counts in a summary; MV_NO_BYTES: not given */
    bool mentions_limit;  /* the message would contain a limit (set_per_process_memory_fraction) if
                           * there were one */
    bool hides_processes; /* the size of a process is missing, because NVML did not report it */
    bool is_async;        /* the error comes from the cudaMallocAsync backend */
    bool is_of_host;      /* host memory ran out, not GPU memory */
    bool is_before_2; /* the message has the form of PyTorch 1.x and 2.0, "(GPU 0; ...", which have
                       * no expandable segments */
    bool names_alloc_conf; /* the message mentions PYTORCH_ALLOC_CONF, as it does since PyTorch
                            * 2.9 */
} mv_error_text;

enum { MV_MOST_ERROR_TEXTS = 256 };

typedef struct {
    mv_error_text *rows; /* [count] errors, sorted by time if every error has a time, else by
                          * line */
    uint32_t count, capacity;
    uint64_t more;  /* number of further errors, which were dropped */
    uint64_t bytes; /* length of the text in bytes */
    bool by_time;
} mv_error_texts;

/* Reads the source to its end. Errors that differ only in their time are counted as one. Runs in
 * linear time, and MV_MOST_ERROR_TEXTS limits the memory that it uses. Finding no errors is not a
 * failure. */
mv_code mv_error_texts_read(mv_arena *arena, mv_source *source, mv_error_texts *out, mv_err *err);

/* Reads text from memory. */
mv_code mv_error_texts_in(mv_arena *arena, mv_span text, mv_error_texts *out, mv_err *err);
