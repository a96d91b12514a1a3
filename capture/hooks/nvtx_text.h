/* Texts of NVTX: wide ones are converted to UTF-8, registered ones kept for the life of the
 * process. */
#ifndef MV_NVTX_TEXT_H
#define MV_NVTX_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

enum { MV_NVTX_MOST_TEXT = 1024 }; /* bytes of wide, registered and domain texts; cut beyond */

/* At most one of the two is set; without either, the text is "". */
typedef struct {
    const char *text;
    const wchar_t *wide;
} mv_nvtx_text;

/* A message: nvtxMessageType_t and nvtxMessageValue_t. */
mv_nvtx_text mv_nvtx_message(uint32_t kind, const void *message);

/* "DOMAIN: TEXT", or TEXT if the domain is NULL. Uses `room` only to concatenate or convert. */
const char *mv_nvtx_spell(const char *domain, mv_nvtx_text text, char room[MV_NVTX_MOST_TEXT]);

/* Keeps a copy. NULL when the space (16 MiB in all) is used up. */
const char *mv_nvtx_keep(mv_nvtx_text text);

/* The text of a handle made by mv_nvtx_keep; NULL for any other pointer. */
const char *mv_nvtx_kept(const void *handle);

#endif
