/* Parsing of a request to the server: pure functions of its text, which a fuzz target can call.
 *
 *     /TOKEN/                          the page
 *     /TOKEN/files                     the list, JSON
 *     /TOKEN/files/ID/VERSION          a snapshot as memviz's container
 *     /TOKEN/originals/ID/VERSION      the unchanged file
 *
 * ID is the number of a listed file, VERSION its state in the list: no path is taken from a
 * request. Paths are not unescaped: each has one form. */
#ifndef MV_SERVE_REQUEST_H
#define MV_SERVE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

/* Hex digits of 128 random bits. */
#define MV_SERVE_TOKEN 32

typedef struct {
    const char *method;
    const char *path;                             /* without a query */
    const char *host, *origin, *range, *if_range; /* headers; NULL: absent */
} mv_serve_request;

typedef enum {
    MV_ASK_NOTHING,
    MV_ASK_FOLDER, /* TOKEN: the secret part of the page's address */
    MV_ASK_PAGE,
    MV_ASK_LIST,
    MV_ASK_SNAPSHOT,
    MV_ASK_ORIGINAL
} mv_serve_what;

typedef struct {
    unsigned status; /* 200; else the answer gives no details: 404, 405 */
    mv_serve_what what;
    uint32_t file;    /* of SNAPSHOT and ORIGINAL */
    uint64_t version; /* of SNAPSHOT and ORIGINAL */
} mv_serve_query;

/* Parses a request. A request without the token is answered with 404, whatever it asks for. So does
 * a page of another site whose name was made to resolve to this machine: the header Host must name
 * this machine by 127.0.0.1, ::1 or localhost, with any port, because ssh -L can use another one;
 * and so must Origin, if a browser sends it. */
mv_serve_query mv_serve_request_read(const mv_serve_request *request,
                                     const char token[MV_SERVE_TOKEN + 1]);

/* The bytes out of `length` that the header Range requests. */
typedef struct {
    unsigned status;       /* 200 all, 206 a part, 416 none */
    uint64_t first, count; /* of 200 and 206 */
} mv_byte_range;

/* One range, of bytes. Several ranges, or an invalid range, mean all bytes (RFC 9110, 14.2). */
mv_byte_range mv_byte_range_read(const char *header, uint64_t length);

#endif
