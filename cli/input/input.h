/* The input file of a command, read into its arena. */
#ifndef MV_INPUT_H
#define MV_INPUT_H

#include "analyze/join/join.h"
#include "analyze/levels/levels.h"
#include "cli/commands.h"

/* Reads the command's first file. Returns false, with a message, if that fails; without a message
 * if the file is a text that contains cli->errors. */
bool mv_input_read(mv_cli *cli, mv_trace *trace);

/* Reads another file of the command in the same way. */
bool mv_input_read_file(mv_cli *cli, const char *path, mv_trace *trace);

/* The original file, and a trace of the level in --level, else of its first level. Prints no
 * message. */
mv_code mv_input_read_levels(mv_cli *cli, mv_arena *arena, const char *path, mv_trace *read,
                             mv_trace *trace, mv_err *err);

/* Whether the path must be a regular file: it came from a folder, or from a client of mcp. A path
 * from the user may also be a pipe. */
bool mv_input_is_file(const mv_cli *cli, const char *path);

/* Prints on standard error that parts of the file were skipped, unless none was or --quiet is
 * given: the missing part may matter for the report. Called by the functions that print
 * messages. */
void mv_input_report_damage(const mv_cli *cli, const char *path, const mv_note *damaged);

/* The first damaged part of the file that was skipped; NULL: none. */
const char *mv_input_damage(const mv_trace *trace);

/* The file's name in messages and reports. */
const char *mv_input_name(const mv_cli *cli);

/* The result of --with, as members of a report. */
#define MV_WITH_FIELDS(MEMBER, cli)                                                            \
    MEMBER("with.file",                                                                        \
           (cli)->with ? mv_value_text((cli)->options.with) : mv_value_of(MV_VALUE_NO_OBJECT)) \
    MEMBER("with.events", (cli)->with ? (cli)->with->events : 0)                               \
    MEMBER("with.matched", (cli)->with ? (cli)->with->matched : 0)                             \
    MEMBER("with.operators", (cli)->with ? (cli)->with->operators : 0)                         \
    MEMBER("with.outside", (cli)->with ? (cli)->with->outside : 0)                             \
    MEMBER("with.offset_us", mv_value_i64((cli)->with ? (cli)->with->offset_us : 0))

/* The devices that --device selects, all without it: ordinals from *first to before *end. False,
 * with a message, if the trace has no such device. */
bool mv_input_devices(const mv_cli *cli, const mv_trace *trace, uint32_t *first, uint32_t *end);

#endif
