/* The common parts of the two msgpack readers. Each reader is an instance of msgpack-c's push
 * parser (msgpack/unpack_template.h), which calls a function for every value, builds no tree of
 * objects, and allows a fixed depth. */
#pragma once

#include <msgpack/unpack.h>
#include <msgpack/unpack_define.h>

#include "parse/readers.h"

/* Limit for nested containers in the template. A snapshot needs 7 levels; values of unknown keys
 * may need more. */
#undef MSGPACK_EMBED_STACK_SIZE
#define MSGPACK_EMBED_STACK_SIZE 64

/* Why a parser stopped; set by its callbacks. */
typedef struct {
    mv_code code; /* MV_OK: nothing failed */
    char detail[120];
} mv_msgpack_fault;

/* Sets the fault and returns what a failing callback returns. */
int mv_msgpack_refuse(mv_msgpack_fault *fault, mv_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The result of one step of a parser. */
typedef struct {
    int status;      /* result of the template's _execute: 1: done; 0: needs more bytes; negative:
                      * failed */
    size_t used;     /* number of bytes of the window that were consumed */
    unsigned state;  /* msgpack_unpack_state */
    unsigned wanted; /* number of contiguous bytes that the current token requires */
} mv_msgpack_step;

typedef mv_msgpack_step mv_msgpack_step_fn(void *parser, mv_span window);

/* Runs a parser over `source` to the end of its root value. */
mv_code mv_msgpack_feed(mv_source *source, const mv_read_opts *opts, mv_msgpack_step_fn *step,
                        void *parser, const mv_msgpack_fault *fault, mv_err *err);

mv_code mv_msgpack_plain_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts,
                              mv_trace *out, mv_err *err);
mv_code mv_msgpack_compact_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts,
                                mv_trace *out, mv_err *err);
