/* Traces of torch.profiler, written by its library Kineto: JSON in Chrome's trace event format.
 * docs/kineto.md describes the result.
 *
 *     json.c         the tokenizer
 *     events.c       reads one event about memory, an operator, a Python function or a step; skips
 *                    all others
 *     shapes.c       describes an operator's shapes and types in a few words
 *     around.c       makes stacks from the ranges that were open on a thread when memory changed
 *     read_kineto.c  reads the whole file; converts memory events, sorted by time, to a trace */
#pragma once

#include "base/texts.h"
#include "parse/kineto/json.h"
#include "parse/readers.h"
#include "parse/tools/block_log.h"

/* c10::DeviceType (c10/core/DeviceType.h): 0 is the CPU, 1 CUDA, 6 HIP, 12 XPU. */
enum { MV_KINETO_CPU = 0 };

enum {
    MV_KINETO_DEVICES = 64, /* largest number of devices, of all kinds */
    MV_KINETO_FRAMES = 512, /* largest number of frames in a stack; further outer frames are left
                             * out */
    MV_KINETO_TEXT = 4096   /* significant bytes of a name, or of an operator's shapes */
};

typedef enum { MV_AROUND_FUNCTION, MV_AROUND_OPERATOR } mv_around_kind;

/* A call of a Python function or of an operator. */
typedef struct {
    int64_t start_ns, end_ns;
    uint32_t thread;
    uint32_t name;   /* number of the name in `functions` or `operators` */
    uint32_t inputs; /* number of the operator's inputs in `inputs`; MV_NO_TEXT: none */
    uint8_t kind;    /* mv_around_kind */
} mv_kineto_range;

/* A memory event of an allocator. */
typedef struct {
    int64_t time_ns;
    uint64_t order; /* order among events with equal times: "Ev Idx", or the position in the file */
    uint64_t addr, bytes;
    uint64_t allocated, reserved; /* the allocator's totals after the event; MV_NO_BYTES: unknown */
    uint32_t thread;
    uint32_t device; /* row of the device in `devices` */
    uint32_t list;   /* list of the device in `log` */
    mv_stack_id stack;
    mv_tag_id tag; /* tag with the operator and its shapes */
    uint8_t kind;  /* mv_block_step_kind */
} mv_kineto_memory;

typedef struct {
    int64_t time_ns;
    mv_string_id name;
    uint8_t stage;
} mv_kineto_step;

typedef struct {
    int64_t type, id;
    uint64_t pid;
    uint32_t list;
} mv_kineto_device;

typedef struct {
    mv_json json;
    mv_err *err;
    const mv_read_opts *opts;
    mv_arena scratch;
    mv_build build;
    mv_block_log log;

    mv_texts functions, operators; /* names of functions and operators */
    mv_texts inputs;               /* inputs of operators, as JSON: sizes, a line end, types */
    mv_map thread_of;              /* number of each thread, by process id and thread id */
    uint32_t threads;

    mv_kineto_range *ranges;
    uint64_t range_count, range_capacity;
    mv_kineto_memory *memory;
    uint64_t memory_count, memory_capacity;
    mv_kineto_step *steps;
    uint64_t step_count, step_capacity;
    mv_kineto_device devices[MV_KINETO_DEVICES];
    uint32_t device_count;

    uint64_t events;     /* number of events of all kinds */
    int64_t base_ns;     /* offset that makes the file's times relative to the epoch */
    bool has_events;     /* the file has a list of events */
    const char *refusal; /* reason why the file is unusable; NULL: it is usable */
    uint64_t refused_at; /* byte of the event that makes the file unusable */
    bool is_out_of_memory;
    uint64_t unreadable; /* number of memory events without a size, an address or a time */
    uint64_t failures;
} mv_kineto;

/* Reads the next element of the list of events. Returns false if reading cannot continue, in which
 * case either json.failed or is_out_of_memory is set. */
bool mv_kineto_event(mv_kineto *k);

/* Sets the stack and the operator of each memory event, and sorts the events by thread and time, in
 * O(n log n). Returns false when out of memory. */
bool mv_kineto_find_stacks(mv_kineto *k);

/* Describes the inputs of an operator briefly: "[4096,1024]x[1024,4096] bf16" for two tensors of
 * one type, "[512,64] f32 x [8] i64" for different types. `inputs` is a string of mv_kineto.inputs:
 * "Input Dims", a line end, "Input type". Tensors without dimensions or elements, other values, and
 * everything that does not fit are left out. Returns `out`, which is "" if nothing remains. */
#define MV_KINETO_SHAPES 160
const char *mv_kineto_shapes(mv_span inputs, char out[MV_KINETO_SHAPES]);
