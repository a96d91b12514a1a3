/* CSV as it is written: cells of RFC 4180.
 *
 * Text from a file is safe for a terminal, as from mv_out_clean; a text that a spreadsheet would
 * read as a formula is preceded by an apostrophe (docs/export.md). */
#ifndef MV_CSV_H
#define MV_CSV_H

#include "cli/report/out.h"

/* A cell, between double quotes if needed. */
void mv_csv_put_text(mv_out *out, mv_span text);

/* A cell in several parts: a double quote before `first`, the parts, a double quote. */
void mv_csv_open(mv_out *out, mv_span first);
void mv_csv_put_part(mv_out *out, mv_span text);
void mv_csv_close(mv_out *out);

/* Ends a row. */
void mv_csv_put_end(mv_out *out);

#endif
