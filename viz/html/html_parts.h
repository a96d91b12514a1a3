/* The parts that a page is made of; only the page's own files include this.
 *
 *     html.c           the file: head, title, columns, script
 *     html_tables.c    strings, frames, stacks: once a trace
 *     html_device.c    allocations, segments, times, markers: once a device
 *     html_style.css, html_*.js   what the browser runs; made into arrays when memviz is built
 */
#ifndef MV_HTML_PARTS_H
#define MV_HTML_PARTS_H

#include "viz/html/html.h"

/* Adds the tables that all devices share. */
mv_code mv_html_tables(mv_html *page, mv_err *err);

/* The script and the style, NUL-terminated: viz/html/embed.cmake makes them. */
extern const char mv_html_script[];
extern const char mv_html_style[];

#endif
