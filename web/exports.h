/* The interface between C and JavaScript. */
#ifndef MV_WEB_EXPORTS_H
#define MV_WEB_EXPORTS_H

#include "view/frame/view.h"

#define EXPORT(name)       __attribute__((export_name(#name))) name
#define IMPORT(type, name) __attribute__((import_module("page"), import_name(#name))) extern type

/* Returns the buffer through which strings are passed. They are NUL-terminated UTF-8. */
char *mv_web_texts(void);

const mv_view *mv_web_view(void);

/* Passes an input to the viewer. */
void mv_web_give(const mv_input *input);

#endif
