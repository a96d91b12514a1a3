/* memviz serve: serves the viewer's page and snapshots to a browser on another machine. */
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/complain.h"
#include "cli/report/table.h"
#include "cli/serve/served_page.h"
#include "cli/serve/server.h"
#include "view/page/page_file.h"

#define MOST_KEPT (UINT64_C(1) << 30) /* maximum number of container bytes in memory */

typedef struct {
    char url[128], ssh[400];
    uint16_t port;
    uint32_t files;
    uint64_t bytes;
} served;

#define REPORT_FIELDS(COLUMN, MEMBER, LIST) \
    MEMBER("url", mv_value_text(s->url))    \
    MEMBER("port", mv_value_u64(s->port))   \
    MEMBER("ssh", mv_value_text(s->ssh))    \
    MEMBER("files", mv_value_u64(s->files)) \
    MEMBER("bytes", mv_value_u64(s->bytes))

MV_LIST_REPORT(list_report, served, s, REPORT_FIELDS)

const mv_table mv_report_serve = {MV_TABLE(REPORT_FIELDS, list_report)};

/* ---- the site ---------------------------------------------------------------------------- */

static bool make_token(char token[MV_SERVE_TOKEN + 1])
{
    uint8_t random[MV_SERVE_TOKEN / 2];

    if (getrandom(random, sizeof random, 0) != sizeof random)
        return false;
    for (unsigned i = 0; i < sizeof random; i++)
        snprintf(token + 2 * i, 3, "%02x", random[i]);
    return true;
}

static mv_code open_site(mv_cli *cli, mv_serve_site *site, served *s, mv_err *err)
{
    const char *const *paths = (const char *const *)cli->options.file;
    mv_served_files_list list;
    mv_span page;

    site->budget = &cli->budget;
    if (!make_token(site->token))
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "the system returned no random numbers");
    if (gethostname(site->host, sizeof site->host - 1) != 0)
        snprintf(site->host, sizeof site->host, "localhost");
    if (mv_page_file_read(&cli->arena, &page, err) != MV_OK ||
        mv_served_page_make(&cli->arena, page, &site->page, err) != MV_OK ||
        mv_served_files_open(&cli->arena, paths, (uint32_t)cli->options.files, MOST_KEPT,
                             &site->served, err) != MV_OK ||
        mv_served_files_look(site->served, &cli->scratch, &list, err) != MV_OK)
        return err->code;
    s->files = list.count;
    for (uint32_t i = 0; i < list.count; i++)
        s->bytes += list.files[i].bytes;
    return MV_OK;
}

/* ---- messages ------------------------------------------------------------------------ */

static int report(mv_cli *cli, const served *s)
{
    mv_out *out = &cli->out;
    char size[MV_SIZE_TEXT];

    if (mv_table_is_wanted(cli)) {
        int status = mv_table_put(cli, s);
        mv_out_flush(out);
        return status;
    }
    mv_out_format(out, "%s\n", s->url);
    if (!mv_option_given(&cli->options, MV_HAS(QUIET)))
        mv_out_format(out,
                      "%u snapshot%s, %s. From your own machine, open the same address after\n"
                      "  %s\nCtrl+C ends it.\n",
                      s->files, mv_plural(s->files), mv_size_text(size, s->bytes), s->ssh);
    mv_out_flush(out);
    return MV_EXIT_DONE;
}

/* ---- until it is ended ------------------------------------------------------------------- */

/* Finds the signals that end the server, and blocks them in every thread. Signals that were ignored
 * from the start, as with nohup or a shell's &, do not end it. */
static void block_ends(sigset_t *ends, sigset_t *before)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action;

    sigemptyset(ends);
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(ends, signals[i]);
    pthread_sigmask(SIG_BLOCK, ends, before);
}

static int run(mv_cli *cli, mv_serve_site *site, const sigset_t *ends, mv_err *err)
{
    mv_server *server = NULL;
    served s = {.port = (uint16_t)cli->options.port};
    int status = MV_EXIT_FAILED, signal;

    if (mv_server_open(&cli->arena, &s.port, &server, err) != MV_OK)
        return MV_EXIT_FAILED;
    /* This must happen before any thread starts and before any file is read. */
    if (cli->confine)
        cli->confine(cli);
    if (open_site(cli, site, &s, err) == MV_OK && mv_server_start(server, site, err) == MV_OK) {
        snprintf(s.url, sizeof s.url, "http://127.0.0.1:%u/%s/", s.port, site->token);
        snprintf(s.ssh, sizeof s.ssh, "ssh -L %u:127.0.0.1:%u %s", s.port, s.port, site->host);
        if (s.files == 0 && !mv_option_given(&cli->options, MV_HAS(QUIET)))
            mv_complain_of(cli->options.file[0],
                           "no snapshots yet; the page lists new ones as they appear");
        status = report(cli, &s);
        if (status == MV_EXIT_DONE &&
            !cli->out.sink.failed) /* otherwise, no client would know the address */
            sigwait(ends, &signal);
    }
    mv_server_stop(server);
    return status;
}

int mv_cmd_serve(mv_cli *cli)
{
    mv_serve_site *site;
    mv_err err = {.offset = MV_NO_OFFSET};
    sigset_t ends, before;
    int status;

    for (int i = 0; i < cli->options.files; i++)
        if (strcmp(cli->options.file[i], "-") == 0)
            return mv_complain_usage("serve", "standard input cannot be served: name a file");
    site = mv_push_struct(&cli->arena, mv_serve_site);
    if (!site)
        return mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM));
    /* A browser that disconnects must not end the server. */
    signal(SIGPIPE, SIG_IGN);
    block_ends(&ends, &before);
    status = run(cli, site, &ends, &err);
    /* From now on, a second Ctrl+C ends the server at once. */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    mv_served_files_close(site->served);
    if (err.code != MV_OK)
        mv_complain(NULL, &err);
    return status;
}
