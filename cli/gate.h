/* Gates: with --fail-on the exit status says whether a report found something, for builds.
 *
 *     --fail-on leak            exit with 3 when there is one
 *     --fail-on 'peak>70GiB'    when the peak is above
 *     --fail-on leak,unknown    several
 *     --fail-on any,known       what is found, but not what is unknown
 *     --fail-on leak,known      a gate whose answer is unknown passes; without `known` the
 *                               exit status is 4
 *
 * A command names its gates in its row of the table of commands, and tells each what was found:
 *
 *     mv_gate_judge(cli, MV_GATE_LEAK, MV_GATE_FAILS, "device 0: 2 leaks, 64 MiB a step");
 *     return mv_gate_status(cli, status);
 *
 * Gates that --fail-on did not name are ignored. Of each file, or rank of `ranks`, the first reason
 * of each gate that fails is printed as one line on standard error; where the first device's answer
 * is unknown and another one's fails, both are. The exit status is 3 when anything was found, else
 * 4 when anything is unknown. */
#ifndef MV_GATE_H
#define MV_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/fragmentation/fragmentation.h"
#include "analyze/leaks/leaks.h"
#include "analyze/oom/oom.h"
#include "analyze/totals/totals.h"

/* id, word, whether a bound follows, what it finds */
#define MV_GATE_LIST(X)                                                        \
    X(LEAK, "leak", false, "memory grows with every step")                     \
    X(FRAGMENTED, "fragmented", false, "far more is reserved than was needed") \
    X(OOM, "oom", false, "a request for memory failed")                        \
    X(UNKNOWN, "unknown", false, "the verdict is unknown")                     \
    X(PEAK, "peak", true, "allocated memory peaks above BYTES")                \
    X(RESERVED, "reserved", true, "reserved memory peaks above BYTES")         \
    X(DELTA, "delta", true, "allocated memory grew by more than BYTES")

typedef enum {
#define MV_GATE_ENUM(id, word, has_bound, text) MV_GATE_##id,
    MV_GATE_LIST(MV_GATE_ENUM)
#undef MV_GATE_ENUM
        MV_GATE_COUNT
} mv_gate;

#define MV_GATES(id) (1u << MV_GATE_##id)

typedef struct {
    const char *file;              /* its name in messages; NULL: none */
    uint32_t told[2];              /* MV_GATES bits: of this file, what is found and unknown */
    uint32_t asked;                /* MV_GATES bits */
    uint64_t bound[MV_GATE_COUNT]; /* bytes, of those that have one */
    bool known;                    /* what cannot be known passes */
    bool any;                      /* `any` was named: with `known` it is all gates but `unknown` */
    bool is_found, is_unknown;     /* of any file */
} mv_gates;

typedef enum { MV_GATE_PASSES, MV_GATE_FAILS, MV_GATE_CANNOT_KNOW } mv_gate_answer;

/* Adds the gates of one --fail-on to `out`; all must be in `allowed`. False with a sentence in
 * `why`. */
bool mv_gates_read(const char *text, const char *command, uint32_t allowed, mv_gates *out,
                   char *why, uint32_t why_size);

/* The gates in `allowed` that need no bound: those that `any` means. */
uint32_t mv_gates_without_bound(uint32_t allowed);

/* "memory grows with every step". The meaning of `reserved` depends on the gates in `allowed`. */
const char *mv_gate_meaning(mv_gate gate, uint32_t allowed);

/* "leak unknown any" */
const char *mv_gates_text(uint32_t allowed, char *out, uint32_t size);

/* The answers from here on are those of another file or rank. Messages begin with `file`; NULL:
 * they name it themselves. */
void mv_gate_next(mv_gates *gates, const char *file);

/* Gives one gate its answer for one device, and the reason as a sentence. */
void mv_gate_judge(mv_gates *gates, mv_gate gate, mv_gate_answer answer, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for a gate with a bound: `what` was `bytes`, or so `is` said; then `doubt` says why. */
void mv_gate_judge_bytes(mv_gates *gates, mv_gate gate, uint64_t bytes, mv_bound is,
                         const char *doubt, const char *what);

/* The gates `oom`, `leak` and `fragmented` of one device, or of memory that `where` names. Files of
 * other tools know nothing of segments, and most of them nothing of requests that failed. */
void mv_gate_judge_ooms(mv_gates *gates, const mv_trace *trace, uint32_t device,
                        const mv_ooms *found);
void mv_gate_judge_leaks(mv_gates *gates, const char *where, const mv_leaks *found);
void mv_gate_judge_fragmentation(mv_gates *gates, const mv_trace *trace, uint32_t device,
                                 const mv_fragmentation *found);

/* The gates `peak` and `reserved` of one device. */
void mv_gate_judge_totals(mv_gates *gates, const mv_trace *trace, const mv_totals *totals);

/* Where none of the devices [first, end) is in use, no gate that is asked can know: the file may be
 * of another process, or of a moment before the work. */
void mv_gate_judge_idle(mv_gates *gates, const mv_trace *trace, uint32_t first, uint32_t end);

/* Whether the file says what was reserved; else it tells the gate `reserved` why not, with the
 * file's name. */
bool mv_gate_knows_reserved(mv_gates *gates, const mv_trace *trace, const char *name);

/* The exit status of a report that ended with `status`. */
int mv_gate_status(const mv_gates *gates, int status);

#endif
