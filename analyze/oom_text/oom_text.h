/* Does the arithmetic of an error message (parse/error_text), which users would otherwise do by
 * hand.
 *
 *     capacity = free + reserved + not_pytorch + others
 *     reserved = allocated + reserved_unallocated          process = reserved + not_pytorch
 *
 * A printed size stands for all numbers of bytes that round to it. Sums and differences keep this
 * range as bounds, and a conclusion is drawn only if it is true for the whole range. `requested` is
 * the size of the segment that was requested from the device. The tensor is smaller. If `requested`
 * is 2 MiB, the tensor has up to 1 MiB, and if it is 20 MiB, the tensor has more than 1 MiB.
 * Otherwise, the tensor is less than 2 MiB smaller than `requested`, because segments are rounded
 * to 2 MiB (get_allocation_size in CUDACachingAllocator.cpp). cudaMallocAsync prints the size of
 * the tensor itself.
 *
 * Provable conclusions:
 *
 *     limit            reserved + requested > limit: PyTorch checks the limit before the device
 *     capacity         allocated + not_pytorch + tensor > capacity: it would not have fitted even
 *                      without others and without holes; not_pytorch is 0 if unknown
 *     outside_pytorch  it would have fitted without the others, but not in this process's own
 *                      unallocated memory, even if all its holes were joined
 *
 * Everything else is unknown. An error message cannot prove fragmentation, because memory that is
 * reserved but not allocated may be in pieces, may be in another pool or stream, or may have become
 * free too late. Fragmentation can be excluded if the tensor is larger than this memory plus the
 * memory left on the device. A limit can be excluded if the message does not print one, and other
 * processes can be excluded if it does not print any. docs/guides/only-the-error.md contains
 * examples. */
#pragma once

#include "parse/error_text/error_text.h"

/* Some of the verdicts of analyze/oom/oom.h, and `limit`. */
#define MV_TEXT_VERDICT_LIST(X)   \
    X(LIMIT, "limit")             \
    X(CAPACITY, "capacity")       \
    X(OUTSIDE, "outside_pytorch") \
    X(UNKNOWN, "unknown")

typedef enum {
#define MV_TEXT_VERDICT_ENUM(id, text) MV_TEXT_##id,
    MV_TEXT_VERDICT_LIST(MV_TEXT_VERDICT_ENUM) MV_TEXT_VERDICT_COUNT
} mv_text_verdict;

typedef enum { MV_ANSWER_OPEN, MV_ANSWER_NO, MV_ANSWER_YES } mv_answer;

enum { MV_TEXT_CAUSES = 6, MV_TEXT_LINES = 8 };

typedef struct {
    const mv_error_text *text;
    /* Figures that the message does not contain. */
    mv_printed_size tensor;      /* size of the program's request */
    mv_printed_size process;     /* memory of this process, either printed or taken from the listed
                                  * process that was identified as this one */
    uint64_t own_pid;            /* number of the process that was identified as this one;
                                  * MV_NO_BYTES: `process` is printed, or unknown */
    mv_printed_size not_pytorch; /* memory of this process that is not PyTorch's */
    mv_printed_size others;      /* memory of everything else: other processes, and the driver's own
                                  * memory */
    mv_printed_size outside;     /* sum of `not_pytorch` and `others` */
    mv_printed_size pending;     /* from a summary: bytes that were freed but that a stream may
                                  * still use */
    mv_printed_size releasable;  /* from a summary: bytes that empty_cache() would return to the
                                  * device */
    /* Conclusions from the figures. */
    mv_answer had_room;   /* the device had room for the request */
    mv_answer over_limit; /* the request would have exceeded the limit */
    mv_answer holes_do;   /* unallocated memory and the memory left on the device are enough for the
                           * tensor; only NO proves anything */
    mv_answer others_do;  /* the memory of the others and the memory left on the device are enough
                           * for the tensor */
    mv_answer too_large;  /* the tensor cannot fit, even if the others used no memory and there were
                           * no holes */
    mv_text_verdict verdict;
    uint32_t possible_count, excluded_count;
    const char *possible[MV_TEXT_CAUSES], *excluded[MV_TEXT_CAUSES]; /* verdicts of the oom report,
                                                                      * or "limit" */
    uint32_t line_count;
    const char *lines[MV_TEXT_LINES]; /* the arithmetic, one sentence per line, without a full
                                       * stop */
    const char *why, *advice;
} mv_oom_text;

const char *mv_text_verdict_name(mv_text_verdict verdict);
const char *mv_text_refuser(const mv_oom_text *t); /* "device", "limit" or "unknown", as in oom */

/* Computes the figures and conclusions, then writes the sentences. The strings are allocated in
 * `arena`. */
mv_code mv_oom_text_find(mv_arena *arena, const mv_error_text *text, mv_oom_text *out, mv_err *err);

/* ---- for this folder ----------------------------------------------------------------------- */

bool mv_oom_text_write(mv_arena *arena, mv_oom_text *t); /* Writes the sentences; returns false when
                                                          * out of memory */
