/* Parses requests to the server. All functions here are pure, so a fuzz target can call them.
 *
 *     /TOKEN/                          the page
 *     /TOKEN/files                     the list, JSON
 *     /TOKEN/files/ID/VERSION          a snapshot as memviz's container
 *     /TOKEN/originals/ID/VERSION      the unchanged file
 *
 * ID is the number of a listed file, and VERSION is its version in the list, so a request never
 * contains a file system path. URL paths are not unescaped: each has exactly one form. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Length of the token: 128 random bits as hex digits. */
#define MV_SERVE_TOKEN 32

typedef struct {
    const char *method;
    const char *path;                             /* path without the query */
    const char *host, *origin, *range, *if_range; /* values of these headers; NULL: absent */
} mv_serve_request;

typedef enum {
    MV_ASK_NOTHING,
    MV_ASK_FOLDER, /* /TOKEN without the slash at the end */
    MV_ASK_PAGE,
    MV_ASK_LIST,
    MV_ASK_SNAPSHOT,
    MV_ASK_ORIGINAL
} mv_serve_what;

typedef struct {
    unsigned status; /* 200; otherwise 404 or 405, and the answer gives no details */
    mv_serve_what what;
    uint32_t file;    /* for SNAPSHOT and ORIGINAL: number of the file */
    uint64_t version; /* for SNAPSHOT and ORIGINAL: version of the file */
} mv_serve_query;

/* Parses a request. A request without the token is answered with 404, whatever it asks for. A page
 * of another site whose host name was made to resolve to this machine is also answered with 404:
 * the header Host must be 127.0.0.1, ::1 or localhost, and so must Origin if the browser sends it.
 * Any port is accepted, because ssh -L can use a different one. */
mv_serve_query mv_serve_request_read(const mv_serve_request *request,
                                     const char token[MV_SERVE_TOKEN + 1]);

/* The range of bytes that the header Range requests. */
typedef struct {
    unsigned status;       /* 200: everything; 206: the range; 416: nothing */
    uint64_t first, count; /* for 200 and 206: the bytes to send */
} mv_byte_range;

/* Parses the header Range, out of `length` bytes. Several ranges or an invalid range mean all bytes
 * (RFC 9110, 14.2). */
mv_byte_range mv_byte_range_read(const char *header, uint64_t length);
