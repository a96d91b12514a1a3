/* From a request to an answer, without a socket. */
#ifndef MV_SERVE_ANSWER_H
#define MV_SERVE_ANSWER_H

#include "cli/report/out.h"
#include "cli/serve/request.h"
#include "cli/serve/shelf.h"

/* What is served. One thread at a time makes answers. */
typedef struct {
    char token[MV_SERVE_TOKEN + 1];
    char host[256]; /* this machine's name */
    mv_span page;
    mv_shelf *shelf;
    mv_budget *budget; /* of lists */
    mv_out out;        /* which lists are written with */
} mv_serve_site;

#define MV_SERVE_MOST_HEADERS 5

typedef struct {
    unsigned status;
    const char *type; /* Content-Type */
    /* The body: a part of a file, if fd is not -1; else bytes, of malloc if `is_own`. */
    int fd;
    uint64_t first, count;
    mv_span bytes;
    bool is_own;
    uint32_t headers; /* besides those that every answer has */
    struct {
        const char *name;
        char value[400];
    } header[MV_SERVE_MOST_HEADERS];
} mv_serve_answer;

/* What HEAD gets is the same, without the body being sent. The caller closes the file and frees the
 * bytes. */
void mv_serve_answer_make(mv_serve_site *site, const mv_serve_request *request,
                          mv_serve_answer *out);

/* Name and value in turns, then NULL: the headers of every answer. */
extern const char *const mv_serve_headers[];

#endif
