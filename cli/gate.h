/* Gates: with --fail-on, the exit status tells CI whether a report found a problem.
 *
 *     --fail-on leak            exit with 3 if there is one
 *     --fail-on 'peak>70GiB'    if the peak is above
 *     --fail-on 'delta>10%'     for gates about growth: if memory grew by more than a tenth
 *     --fail-on leak,unknown    several
 *     --fail-on any,known       all gates; unknown answers pass
 *     --fail-on leak,known      a gate whose answer is unknown passes; without `known` the
 *                               exit status is 4
 *
 * A command lists its gates in its row of the command table, and answers each of them:
 *
 *     mv_gate_evaluate(&cli->gates, MV_GATE_LEAK, MV_GATE_FAILS, "device 0: 2 leaks, 64 MiB a step");
 *     return mv_gate_status(&cli->gates, status);
 *
 * Gates that --fail-on did not name are ignored. For each file, or rank of `ranks`, the first
 * reason of each failing gate is printed as one line on standard error; if a gate is unknown for
 * the first device and met on another, both lines are printed. The exit status is 3 if any gate is
 * met, else 4 if any answer is unknown. */
#pragma once

#include "analyze/fragmentation/fragmentation.h"
#include "analyze/oom/oom.h"

/* id, word, whether a bound follows, meaning */
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
    MV_GATE_LIST(MV_GATE_ENUM) MV_GATE_COUNT
} mv_gate;

#define MV_GATES(id) (1u << MV_GATE_##id)

/* A gate's outcome and its reason, for the page of the gates (cli/report/gate_page.h). */
typedef enum {
    MV_GATE_OUTCOME_MET,
    MV_GATE_OUTCOME_UNKNOWN,
    MV_GATE_OUTCOME_WAIVED
} mv_gate_outcome_kind;
typedef struct mv_gate_outcome {
    struct mv_gate_outcome *next;
    mv_gate gate;
    mv_gate_outcome_kind kind; /* WAIVED: the answer is unknown, but `known` lets the gate pass */
    const char *text;          /* the reason: "train.pickle: device 0: 1 leak, 24.0 MiB in all" */
} mv_gate_outcome;

typedef struct {
    const char *file;                 /* file name for messages; NULL: none */
    uint32_t printed[2];              /* gates already printed for this file, as met and as
                                       * unknown */
    uint32_t asked;                   /* gates that --fail-on named (MV_GATES bits) */
    uint64_t bound[MV_GATE_COUNT];    /* for gates that have one: the bound in bytes */
    double percent[MV_GATE_COUNT];    /* for gates that have one: the bound in percent of the memory
                                       * before; 0: not given */
    bool known;                       /* `known` was named: unknown answers pass */
    bool any;                         /* `any` was named: all gates; with `known`, all except
                                       * `unknown` */
    bool is_found, is_unknown;        /* whether a gate was met, or unknown, for any file */
    mv_arena *arena;                  /* allocates the outcomes; NULL: outcomes are only printed */
    mv_gate_outcome *outcomes, *last; /* first and last outcome, in order */
} mv_gates;

typedef enum { MV_GATE_PASSES, MV_GATE_FAILS, MV_GATE_CANNOT_KNOW } mv_gate_answer;

/* Adds the gates named in one --fail-on argument to `out`. All of them must be in `allowed`.
 * Ignores blanks. Returns false with a sentence in `why` if the text is wrong. */
bool mv_gates_read(const char *text, const char *command, uint32_t allowed, mv_gates *out,
                   char *why, uint32_t why_size);

/* Returns the gates in `allowed` that have no bound, which are the gates that `any` stands for. */
uint32_t mv_gates_without_bound(uint32_t allowed);

/* Returns what a gate means, such as "memory grows with every step". The meaning of `reserved`
 * depends on which gates are in `allowed`. */
const char *mv_gate_meaning(mv_gate gate, uint32_t allowed);

/* Returns the names of the allowed gates: "leak unknown any". */
const char *mv_gates_text(uint32_t allowed, char *out, uint32_t size);

/* Returns a requested gate with its bound: "leak", "peak>70.0 GiB", "delta>10%". */
#define MV_GATE_TEXT 64
const char *mv_gate_text(const mv_gates *gates, mv_gate gate, char text[MV_GATE_TEXT]);

/* Starts another file or rank, to which all later answers belong. Messages begin with `file`. With
 * NULL, the messages name the file themselves. */
void mv_gate_next(mv_gates *gates, const char *file);

/* Records one gate's result for one device, with the reason as a sentence. */
void mv_gate_evaluate(mv_gates *gates, mv_gate gate, mv_gate_answer answer, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Records the result of a gate that has a bound. `what` names the figure and `bytes` is its value. `is` tells in
 * which direction the true figure may differ, and `doubt` is why the figure is inexact. */
void mv_gate_evaluate_bytes(mv_gates *gates, mv_gate gate, uint64_t bytes, mv_bound is,
                            const char *doubt, const char *what);

/* Records the results of the gates `oom`, `leak` and `fragmented` for one device, or for the memory that `where`
 * names. Files from other tools never contain segments, and rarely failed requests. */
void mv_gate_evaluate_ooms(mv_gates *gates, const mv_trace *trace, uint32_t device,
                           const mv_ooms *found);
void mv_gate_evaluate_leaks(mv_gates *gates, const char *where, const mv_leaks *found);
void mv_gate_evaluate_fragmentation(mv_gates *gates, const mv_trace *trace, uint32_t device,
                                    const mv_fragmentation *found);

/* Records the results of the gates `peak` and `reserved` for one device. */
void mv_gate_evaluate_totals(mv_gates *gates, const mv_trace *trace, const mv_totals *totals);

/* If no device in [first, end) is in use, sets the answer of every requested gate to unknown,
 * because the file may come from a different process, or may have been written before the work
 * began. */
void mv_gate_evaluate_idle(mv_gates *gates, const mv_trace *trace, uint32_t first, uint32_t end);

/* Whether the file records reserved memory. If not, answers the gate `reserved` as unknown, with a
 * reason that contains the file's name. */
bool mv_gate_knows_reserved(mv_gates *gates, const mv_trace *trace, const char *name);

/* Returns the exit status for a report that ended with `status`. */
int mv_gate_status(const mv_gates *gates, int status);
