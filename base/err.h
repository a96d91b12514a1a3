/* How memviz library functions report failures.
 *
 * A function that can fail returns an `mv_code` and fills the caller's `mv_err`. Libraries never
 * print and never exit; `cli/` turns an `mv_err` into one line and a status. */
#pragma once

#include <stdint.h>

#define MV_ERR_LIST(X)                                      \
    X(OK, "ok")                                             \
    X(TRUNCATED, "input ends inside a record")              \
    X(RANGE, "field value out of range")                    \
    X(TYPE, "field has the wrong type")                     \
    X(FORMAT, "not a format that memviz reads")             \
    X(FORBIDDEN, "opcode that imports or calls")            \
    X(CORRUPT, "structure is damaged")                      \
    X(CHECKSUM, "checksum does not match")                  \
    X(VERSION, "format version is newer than this program") \
    X(DEPTH, "nested too deep")                             \
    X(CYCLE, "object contains itself")                      \
    X(LIMIT, "more rows than the model can number")         \
    X(NOMEM, "memory limit reached (see --max-memory)")     \
    X(IO, "input or output error")                          \
    X(DECOMPRESS, "compressed data is damaged")             \
    X(ABSENT, "the file does not contain what the options need")

typedef enum {
#define MV_ERR_ENUM(name, text) MV_##name,
    MV_ERR_LIST(MV_ERR_ENUM) MV_ERR_COUNT
} mv_code;

#define MV_NO_OFFSET UINT64_MAX

typedef struct {
    mv_code code;
    uint64_t offset;  /* position in the decompressed input at which reading stopped, or
                       * MV_NO_OFFSET */
    char detail[160]; /* details, such as "event 812: kind 9"; may be empty */
} mv_err;

/* Fills `err` and returns `code`, so that a failure is one `return` statement. A detail that is too
 * long is cut. Its control characters are replaced, because it may quote the input. */
mv_code mv_fail(mv_err *err, mv_code code, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Shortens a path for a detail that continues with a reason. Returns `path` unchanged or, in
 * `text`, the beginning of the path, "..." and its end. */
#define MV_ERR_PATH 68
const char *mv_err_path(const char *path, char text[MV_ERR_PATH]);

const char *mv_code_name(mv_code code); /* "TRUNCATED" */
const char *mv_code_text(mv_code code); /* "input ends inside a record" */

/* Makes the text of MV_NOMEM name --max-disk as well, for a process that may also use disk. Must be
 * called before other threads start. */
void mv_err_name_disk(void);

/* Returns `text`, such as "structure is damaged: event 812". For MV_IO and MV_ABSENT, `text` is
 * only the detail, which is a complete sentence. */
#define MV_ERR_TEXT 256
const char *mv_err_text(const mv_err *err, char text[MV_ERR_TEXT]);
