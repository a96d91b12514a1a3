/* From a request to an answer, without a socket. */
#ifndef MV_SERVE_ANSWER_H
#define MV_SERVE_ANSWER_H

#include "cli/report/out.h"
#include "cli/serve/request.h"
#include "cli/serve/served_files.h"

/* The served site. One thread at a time makes answers. */
typedef struct {
    char token[MV_SERVE_TOKEN + 1];
    char host[256]; /* this machine's name */
    mv_span page;
    mv_served_files *served;
    mv_budget *budget; /* of lists */
    mv_out out;        /* for writing lists */
} mv_serve_site;

#define MV_SERVE_MOST_HEADERS 5

typedef struct {
    unsigned status;
    const char *type; /* Content-Type */
    /* The body: a part of a file, if fd is not -1; else bytes, from malloc if `is_own`. */
    int fd;
    uint64_t first, count;
    mv_span bytes;
    bool is_own;
    uint32_t headers; /* in addition to the headers of every answer */
    struct {
        const char *name;
        char value[400];
    } header[MV_SERVE_MOST_HEADERS];
} mv_serve_answer;

/* Makes the answer to a request. The answer to HEAD is the same, but without the body. The caller
 * closes the file and frees the bytes. */
void mv_serve_answer_make(mv_serve_site *site, const mv_serve_request *request,
                          mv_serve_answer *out);

/* Alternating names and values, then NULL: the headers of every answer. */
extern const char *const mv_serve_headers[];

#endif
