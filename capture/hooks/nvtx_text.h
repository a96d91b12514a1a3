/* Texts of NVTX: wide ones made UTF-8, registered ones kept for the life of the process. */
#ifndef MV_NVTX_TEXT_H
#define MV_NVTX_TEXT_H

#include <stdbool.h>
#include <wchar.h>

enum { MV_NVTX_MOST_TEXT = 1024 }; /* of wide, registered and domain's texts; longer ones are cut */

/* One of the two; neither is "". */
typedef struct {
    const char *text;
    const wchar_t *wide;
} mv_nvtx_text;

/* "DOMAIN: TEXT", or TEXT when the domain is NULL: as it is if it can be, else in `room`. */
const char *mv_nvtx_spell(const char *domain, mv_nvtx_text text, char room[MV_NVTX_MOST_TEXT]);

/* Keeps a copy. NULL when there is no room for more (16 MiB in all). */
const char *mv_nvtx_keep(mv_nvtx_text text);

/* The text that `handle` stands for, if it is from mv_nvtx_keep; else NULL. */
const char *mv_nvtx_kept(const void *handle);

#endif
