/* Turns a request into an answer, without using a socket. */
#pragma once

#include "cli/report/out.h"
#include "cli/serve/request.h"
#include "cli/serve/served_files.h"

/* The served site. Only one thread at a time may make answers. */
typedef struct {
    char token[MV_SERVE_TOKEN + 1];
    char host[256]; /* the machine's host name */
    mv_span page;
    mv_served_files *served;
    mv_budget *budget; /* budget for the memory of lists */
    mv_out out;        /* output that lists are written with */
} mv_serve_site;

#define MV_SERVE_MOST_HEADERS 5

typedef struct {
    unsigned status;
    const char *type; /* Content-Type */
    /* The body is part of a file if fd is not -1. Otherwise it is `bytes`, which came from malloc
     * if `is_own` is set. */
    int fd;
    uint64_t first, count;
    mv_span bytes;
    bool is_own;
    uint32_t headers; /* number of headers to send in addition to mv_serve_headers */
    struct {
        const char *name;
        char value[400];
    } header[MV_SERVE_MOST_HEADERS];
} mv_serve_answer;

/* Makes the answer to a request. The answer to HEAD is the same as for GET, but without the body.
 * The caller closes the file and frees the bytes. */
void mv_serve_answer_make(mv_serve_site *site, const mv_serve_request *request,
                          mv_serve_answer *out);

/* Headers of every answer, as alternating names and values that end with NULL. */
extern const char *const mv_serve_headers[];
