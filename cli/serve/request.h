/* A request to the server, and what it asks for: functions of its texts alone, which a fuzz target
 * can call.
 *
 *     /TOKEN/                          the page
 *     /TOKEN/files                     the list, JSON
 *     /TOKEN/files/ID/VERSION          a snapshot as memviz's container
 *     /TOKEN/originals/ID/VERSION      the file as it is
 *
 * ID is the number of a file of the list, VERSION says which state of it the list has seen: no path
 * comes out of a request. Nothing in a path is unescaped: each has one form. */
#ifndef MV_SERVE_REQUEST_H
#define MV_SERVE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

/* Digits, of 128 random bits. */
#define MV_SERVE_TOKEN 32

typedef struct {
    const char *method;
    const char *path;                             /* without a query */
    const char *host, *origin, *range, *if_range; /* headers; NULL: not there */
} mv_serve_request;

typedef enum {
    MV_ASK_NOTHING,
    MV_ASK_FOLDER, /* /TOKEN: what the page's address is without its end */
    MV_ASK_PAGE,
    MV_ASK_LIST,
    MV_ASK_SNAPSHOT,
    MV_ASK_ORIGINAL
} mv_serve_what;

typedef struct {
    unsigned status; /* 200; else the answer says nothing: 404, 405 */
    mv_serve_what what;
    uint32_t file;    /* of SNAPSHOT and ORIGINAL */
    uint64_t version; /* likewise */
} mv_serve_ask;

/* Whoever lacks the token gets 404 for everything. So does a page of another site whose name was
 * made to lead here: the header Host has to name this machine by 127.0.0.1, ::1 or localhost, with
 * any port, since ssh -L can begin at another one; and so has Origin, where a browser sends it. */
mv_serve_ask mv_serve_request_read(const mv_serve_request *request,
                                   const char token[MV_SERVE_TOKEN + 1]);

/* The bytes of `length` that the header Range asks for. */
typedef struct {
    unsigned status;       /* 200 all, 206 a part, 416 there are none */
    uint64_t first, count; /* of 200 and 206 */
} mv_byte_range;

/* One range, of bytes. Several, or what is no range, are all bytes (RFC 9110, 14.2). */
mv_byte_range mv_byte_range_read(const char *header, uint64_t length);

#endif
