/* Encodes bytes as letters for HTML: 13 bits become two of 91 letters, which are printable ASCII
 * except space, & < and \, so encoded text contains no HTML markup. The encoding takes 1.23 letters
 * per byte, while base64 needs 1.33.
 *
 * The bits of the bytes, lowest first, are grouped into 13-bit numbers, lowest bit first. Each
 * number is written as its remainder modulo 91, followed by its quotient. The last number is padded
 * with zeros; if it has at most 6 bits, it becomes one letter. web/shell.js decodes them;
 * web/make_page.py also encodes them. */
#ifndef MV_LETTERS_H
#define MV_LETTERS_H

#include "parse/source/sink.h"

void mv_letters_write(mv_sink *sink, const uint8_t *data, uint64_t length);

#endif
