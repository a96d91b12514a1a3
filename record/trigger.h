/* Keeps what was recorded so far when a condition is met (docs/recorder.md). Conditions are checked
 * while the program runs, and a file is written when a condition is met.
 *
 *     NAME.REASON.K.bin        run.oom.1.bin, run.high.2.bin
 *
 * A file is written from the live file by a separate process, so that the program does not wait at
 * all, and the launcher waits only for the fork. */
#pragma once

#include <sys/types.h>

#include "record/nvml.h"
#include "record/ring.h"

/* name of the condition, with an argument */
#define MV_TRIGGER_LIST(X)                                                                    \
    X(OOM, "oom")         /* PyTorch's allocator gives up */                                  \
    X(USED, "used")       /* used>90%, used>70G: of a GPU, by all programs together */        \
    X(HIGH, "high")       /* a new peak of allocated bytes, 5 % above the last one kept */    \
    X(GROWTH, "growth")   /* growth>1G/10m: the floor of allocated bytes rose by 1G in 10m */ \
    X(SIGUSR2, "SIGUSR2") /* the launcher receives the signal and does not forward it */      \
    X(EXIT, "exit")       /* the program has ended */

typedef enum {
#define MV_TRIGGER_ENUM(name, text) MV_TRIGGER_##name,
    MV_TRIGGER_LIST(MV_TRIGGER_ENUM) MV_TRIGGER_KINDS
#undef MV_TRIGGER_ENUM
} mv_trigger_kind;

enum {
    MV_TRIGGER_WHY = 160,
    MV_TRIGGER_COOLDOWN_S = 60,
    MV_TRIGGER_KEEP = 3,
    MV_TRIGGER_WRITERS = 64 /* maximum number of files that are written at the same time; others
                             * wait */
};

typedef struct {
    bool on[MV_TRIGGER_KINDS];
    uint32_t used_percent; /* percentage for USED; 0: used_bytes is compared instead */
    uint64_t used_bytes;
    uint64_t growth_bytes, growth_us;
    uint64_t after_us;    /* delay between the time at which the condition is met and the time at
                           * which the file is written */
    uint64_t cooldown_us; /* minimum time between files with the same reason, except for SIGUSR2 */
    uint32_t keep;        /* number of newest files to keep for each reason and process */
} mv_trigger_opts;

/* Parses "oom,used>90%,high,growth>1G/10m,SIGUSR2,exit". Returns NULL, or the first condition that
 * is wrong. The other members of `opts` are set to their defaults. */
const char *mv_trigger_parse(const char *text, mv_trigger_opts *opts);

/* Returns the word for a condition that is used in file names. */
const char *mv_trigger_text(mv_trigger_kind kind);

/* A file that should be written. */
typedef struct {
    const char *name; /* name of the live file */
    mv_trigger_kind kind;
    uint32_t number; /* number K in the file name */
    char why[MV_TRIGGER_WHY];
} mv_trigger_shot;

/* The exit status of the process that writes a file. */
typedef enum {
    MV_TRIGGER_NOT_WRITTEN,
    MV_TRIGGER_ADDED,   /* one more file exists */
    MV_TRIGGER_REPLACED /* the oldest file of the condition was removed */
} mv_trigger_result;

typedef struct mv_trigger_file mv_trigger_file;

typedef struct {
    mv_arena arena;
    mv_trigger_opts opts;
    const mv_rings *rings;
    const mv_nvml *nvml;
    mv_trigger_file **files; /* [count] one for each of rings->rings */
    uint32_t count, capacity;
    bool is_signalled;
    mv_trigger_result (*write)(void *user, const mv_trigger_shot *shot); /* runs in a separate
                                                                          * process */
    void *user;
    uint32_t kept;                    /* number of files that were written and not removed */
    pid_t writer[MV_TRIGGER_WRITERS]; /* [writers] processes that were started and not yet waited
                                       * for */
    uint32_t writers;
} mv_triggers;

/* Begins to check the conditions. The caller sets all members up to `user`, except `files`, before
 * this call. */
void mv_triggers_open(mv_triggers *t, mv_budget *budget);
bool mv_triggers_any(const mv_triggers *t);
void mv_triggers_update(mv_triggers *t);
void mv_triggers_signal(mv_triggers *t); /* SIGUSR2 */
void mv_triggers_end(mv_triggers *t);    /* called when the program has ended; waits for the last
                                          * files */
