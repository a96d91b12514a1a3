/* Reads a command's input files into its arena. */
#pragma once

#include "analyze/join/join.h"
#include "analyze/levels/levels.h"
#include "analyze/lives/lives.h"
#include "cli/commands.h"
#include "parse/readers.h"

/* Sets the columns of events that commands read which replay the events or follow the heap, in
 * cli->columns and cli->columns_of_few. Must be called before the file is read. */
void mv_input_follows_heap(mv_cli *cli);

/* Reads the command's first file. Returns false if that fails, with a message; also returns false,
 * without a message, if the file is a text with errors, which are then in cli->errors. */
bool mv_input_read(mv_cli *cli, mv_trace *trace);

/* Reads another of the command's files. */
bool mv_input_read_file(mv_cli *cli, const char *path, mv_trace *trace);

/* Reads only the events that the command needs, if the file allows that (mv_part_use), else all of
 * them. To find times and annotations, a first pass reads only the first and the last event. Prints
 * no messages, and may be called by several threads. */
mv_code mv_input_read_part(const mv_cli *cli, mv_arena *arena, const char *path, mv_read_opts opts,
                           mv_trace *trace, mv_err *err);

/* Reads a file without printing messages. `read` is the original trace. `trace` is the trace for
 * the level in --level, or for the file's first level without --level. */
mv_code mv_input_read_levels(mv_cli *cli, mv_arena *arena, const char *path, mv_trace *read,
                             mv_trace *trace, mv_err *err);

/* Closes a file that is read in pieces, with its tables and its lives. Does nothing for other
 * files. */
void mv_input_close(mv_cli *cli);

/* Whether the path must be a regular file, because it came from a directory or from a client of
 * mcp. A path that the user gave may also be a pipe. */
bool mv_input_is_file(const mv_cli *cli, const char *path);

/* Prints on standard error that parts of the file were skipped, because the missing parts may
 * matter for the report. Prints nothing if no part was skipped, or with --quiet. The functions that
 * print messages call this. */
void mv_input_report_damage(const mv_cli *cli, const char *path, const mv_note *damaged);

/* Describes the first damaged part of the file that was skipped; NULL: none. */
const char *mv_input_damage(const mv_trace *trace);

/* Returns the file's name for messages and reports. */
const char *mv_input_name(const mv_cli *cli);

/* Members of a report that describe the result of --with. */
#define MV_WITH_FIELDS(MEMBER, cli)                                                            \
    MEMBER("with.file",                                                                        \
           (cli)->with ? mv_value_text((cli)->options.with) : mv_value_of(MV_VALUE_NO_OBJECT)) \
    MEMBER("with.events", (cli)->with ? (cli)->with->events : 0)                               \
    MEMBER("with.matched", (cli)->with ? (cli)->with->matched : 0)                             \
    MEMBER("with.operators", (cli)->with ? (cli)->with->operators : 0)                         \
    MEMBER("with.outside", (cli)->with ? (cli)->with->outside : 0)                             \
    MEMBER("with.offset_us", mv_value_i64((cli)->with ? (cli)->with->offset_us : 0))

/* Finds the lives of a device, unless they are known from reading the file. */
mv_code mv_input_lives(const mv_cli *cli, mv_arena *arena, const mv_trace *trace, uint32_t device,
                       mv_lives *out, mv_err *err);

/* Finds the devices that --device selects, from *first to before *end. Without --device these are
 * all devices. Returns false, with a message, if the trace does not have that device. */
bool mv_input_devices(const mv_cli *cli, const mv_trace *trace, uint32_t *first, uint32_t *end);
