/* Bytes as letters for HTML: 13 bits are two of 91 letters, the printable ones of ASCII but for
 * space, & < and \. So no text of them has a meaning in a page. 1.23 letters a byte; base64
 * has 1.33.
 *
 * The bits of the bytes, lowest first, are numbers of 13 bits, lowest first, each of which is
 * written as its remainder by 91 and its quotient. What is left at the end is filled with zeros: up
 * to 6 bits are one letter. web/shell.js reads them, web/make_page.py writes them too. */
#ifndef MV_LETTERS_H
#define MV_LETTERS_H

#include "parse/source/sink.h"

void mv_letters_write(mv_sink *sink, const uint8_t *data, uint64_t length);

#endif
