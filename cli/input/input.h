/* The input file of a command, read into its arena. */
#ifndef MV_INPUT_H
#define MV_INPUT_H

#include "analyze/levels/levels.h"
#include "cli/commands.h"

/* Reads the command's first file. False, with a message, when that failed; without one if it is a
 * text in which cli->errors were found. */
bool mv_input_read(mv_cli *cli, mv_trace *trace);

/* The same for another of its files. */
bool mv_input_read_file(mv_cli *cli, const char *path, mv_trace *trace);

/* A file as it was read, and as a trace of the level that --level names, else of the first that it
 * has. Prints no message. */
mv_code mv_input_read_levels(mv_cli *cli, mv_arena *arena, const char *path, mv_trace *read,
                             mv_trace *trace, mv_err *err);

/* Whether the path has to be a regular file: a folder gave it, or a client of mcp. What the user
 * named may be a pipe, too. */
bool mv_input_is_file(const mv_cli *cli, const char *path);

/* Says on standard error that parts of the file were skipped, unless none was or --quiet was given:
 * what is missing may be what a report is about. The functions that print messages do it. */
void mv_input_tell_damage(const mv_cli *cli, const char *path, const mv_note *damaged);

/* The first damaged part of the file that was skipped; NULL: none. */
const char *mv_input_damage(const mv_trace *trace);

/* The file's name in messages and reports. */
const char *mv_input_name(const mv_cli *cli);

/* The devices that --device chooses, all without it: ordinals from *first to before *end. False,
 * with a message, when the trace has no such device. */
bool mv_input_devices(const mv_cli *cli, const mv_trace *trace, uint32_t *first, uint32_t *end);

#endif
