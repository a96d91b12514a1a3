#include "cli/input/overwrite.h"

#include "cli/complain.h"
#include "parse/source/same_file.h"

static bool writes_last(const mv_command *command, const mv_options *o)
{
    return command->writes_last && o->files == command->most_files;
}

/* Returns the input that is the same file as `output`, under any name; NULL: none. */
static const char *input_of(const mv_command *command, const mv_options *o, const char *output)
{
    const char *const texts[] = {o->rules, o->script, o->with};
    int files = o->files - (writes_last(command, o) ? 1 : 0);

    for (int i = 0; i < files; i++)
        if (mv_is_same_file(o->file[i], output))
            return o->file[i];
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i] && mv_is_same_file(texts[i], output))
            return texts[i];
    return NULL;
}

static bool refuse(const mv_command *command, const mv_options *o, const char *output)
{
    const char *input = output ? input_of(command, o, output) : NULL;

    if (!input)
        return false;
    if (strcmp(output, "-") == 0)
        mv_complain_usage(command->name, "standard output is %s, an input file", input);
    else if (strcmp(input, output) == 0)
        mv_complain_usage(command->name, "%s is the input: name another output file", output);
    else
        mv_complain_usage(command->name,
                          "%s is the input %s under another name: name another output file", output,
                          input);
    return true;
}

bool mv_overwrite_is_asked(const mv_command *command, const mv_options *o)
{
    const char *last = writes_last(command, o) ? o->file[o->files - 1] : NULL;

    if (command->starts_program || command->takes_words)
        return false; /* the arguments of these commands are not files */
    return refuse(command, o, o->output) || refuse(command, o, o->shot) ||
           refuse(command, o, last) || refuse(command, o, "-");
}

bool mv_overwrite_by(const mv_cli *cli, const char *output)
{
    return refuse(cli->command, &cli->options, output);
}
