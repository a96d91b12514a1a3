/* Encodes bytes as letters for HTML: 13 bits become two of 91 letters, printable ASCII except
 * space, & < and \. So encoded text has no meaning in HTML. 1.23 letters a byte; base64 needs 1.33.
 *
 * The bits of the bytes, lowest first, form 13-bit numbers, lowest bit first; each is written as
 * its remainder modulo 91 and its quotient. The last number is padded with zeros: up to 6 bits
 * become one letter. web/shell.js decodes them; web/make_page.py also encodes them. */
#ifndef MV_LETTERS_H
#define MV_LETTERS_H

#include "parse/source/sink.h"

void mv_letters_write(mv_sink *sink, const uint8_t *data, uint64_t length);

#endif
