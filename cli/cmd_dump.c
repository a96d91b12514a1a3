/* memviz dump: the whole model as text. The container's own data (format, sizes, notes) is shown by
 * `info`. */
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/report/chunk_list.h"
#include "cli/report/model_text.h"

int mv_cmd_dump(mv_cli *cli)
{
    bool with_calls = mv_option_given(&cli->options, MV_HAS(CALLS));
    mv_trace trace;

    if (mv_option_given(&cli->options, MV_HAS(CHUNKS)))
        return mv_chunks_list(cli);
    if (!mv_input_read(cli, &trace))
        return MV_EXIT_FAILED;
    if (!mv_model_text_write(&cli->scratch, &trace, with_calls, &cli->out))
        return mv_complain_of(mv_input_name(cli), "%s", mv_code_text(MV_NOMEM));
    return MV_EXIT_DONE;
}
