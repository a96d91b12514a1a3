/* Handles NVTX's strings: wide strings are converted to UTF-8, and registered strings are kept for
 * the life of the process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

enum {
    MV_NVTX_MOST_TEXT = 1024
}; /* largest number of bytes of wide strings, registered strings
                                    * and domain names; longer ones are cut */

/* A string. At most one of the two fields is set; if neither is, the string is "". */
typedef struct {
    const char *text;
    const wchar_t *wide;
} mv_nvtx_text;

/* Returns the string of a message, given its nvtxMessageType_t and nvtxMessageValue_t. */
mv_nvtx_text mv_nvtx_message(uint32_t kind, const void *message);

/* Returns "DOMAIN: TEXT", or TEXT if the domain is NULL. Uses `room` only to concatenate or
 * convert. */
const char *mv_nvtx_spell(const char *domain, mv_nvtx_text text, char room[MV_NVTX_MOST_TEXT]);

/* Keeps a copy of a string, and returns its handle. Returns NULL when the space (16 MiB in total)
 * is used up. */
const char *mv_nvtx_keep(mv_nvtx_text text);

/* Returns the string of a handle made by mv_nvtx_keep; NULL for any other pointer. */
const char *mv_nvtx_kept(const void *handle);
