/* The arithmetic of an error's sentence (parse/error_text): what people work out by hand.
 *
 *     capacity = free + reserved + not_pytorch + others
 *     reserved = allocated + reserved_unallocated          process = reserved + not_pytorch
 *
 * A printed size may be any number of bytes that is printed so; sums and differences carry that
 * along as bounds, and a conclusion is drawn only where it holds for all of them. `requested` is
 * what was asked of the device: a segment. The tensor is smaller: up to 1 MiB where 2 MiB were
 * asked for, more than 1 MiB where 20 MiB were, else within the 2 MiB that a segment is rounded up
 * to (get_allocation_size of CUDACachingAllocator.cpp). cudaMallocAsync says the tensor's own size.
 *
 * What can be proven:
 *
 *     limit            reserved + requested > limit: PyTorch asks the limit before the device
 *     capacity         allocated + not_pytorch + tensor > capacity: without others and without any
 *                      hole it would not have fitted; not_pytorch is 0 where it is not known
 *     outside_pytorch  it would have fitted without the others, but not in this process's own
 *                      unallocated memory, all holes joined
 *
 * Everything else is unknown. Fragmentation cannot be proven by a sentence: memory that is reserved
 * and not allocated may be in pieces, of another pool or stream, or have become free too late. It
 * can be excluded: the tensor is larger than all of it and what the device has left. So can a limit
 * where none is printed, and the others. docs/guides/only-the-error.md has examples. */
#ifndef MV_OOM_TEXT_H
#define MV_OOM_TEXT_H

#include "parse/error_text/error_text.h"

/* As in analyze/oom/oom.h, and `limit`. */
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
    /* Figures that the text does not have itself. */
    mv_printed_size tensor;      /* least and most of what the program asked for */
    mv_printed_size process;     /* of this process: printed, or of the listed process that it is */
    uint64_t own_pid;            /* which that is; MV_NO_BYTES: `process` is printed, or unknown */
    mv_printed_size not_pytorch; /* of this process */
    mv_printed_size others;      /* of all others: processes, and what the driver keeps */
    mv_printed_size outside;     /* both together */
    mv_printed_size pending;     /* summary: freed, but a stream may still use it */
    mv_printed_size releasable;  /* summary: empty_cache() would give it to the device */
    /* What holds. */
    mv_answer had_room;   /* the device had as much left as was asked of it */
    mv_answer over_limit; /* it would have come to more than the limit */
    mv_answer holes_do;   /* unallocated memory and what was left are as much as the tensor; only
                           * NO is a proof */
    mv_answer others_do;  /* the others' memory and what was left are */
    mv_answer too_large;  /* neither others nor holes matter: it cannot fit */
    mv_text_verdict verdict;
    uint32_t possible_count, excluded_count;
    const char *possible[MV_TEXT_CAUSES], *excluded[MV_TEXT_CAUSES]; /* verdicts of oom, "limit" */
    uint32_t line_count;
    const char *lines[MV_TEXT_LINES]; /* the arithmetic, a sentence each, without a full stop */
    const char *why, *advice;
} mv_oom_text;

const char *mv_text_verdict_name(mv_text_verdict verdict);
const char *mv_text_refuser(const mv_oom_text *t); /* "device", "limit" or "unknown", as oom's */

/* Figures and conclusions, then the words. Texts are in `arena`. */
mv_code mv_oom_text_find(mv_arena *arena, const mv_error_text *text, mv_oom_text *out, mv_err *err);

/* ---- for this folder ----------------------------------------------------------------------- */

void mv_oom_text_judge(mv_oom_text *t);
bool mv_oom_text_say(mv_arena *arena, mv_oom_text *t); /* false: memory is out */

#endif
