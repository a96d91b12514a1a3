#include "cli/serve/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Connection states, numbered as in the kernel. */
enum { ESTABLISHED = 1, TIME_WAIT = 6, LISTEN = 10 };

/* ---- the kernel's answer about one connection ---------------------------------------------- */

typedef struct {
    struct nlmsghdr head;
    struct inet_diag_req_v2 what;
} question;

typedef struct {
    struct nlmsghdr head;
    union {
        struct nlmsgerr failure;
        struct inet_diag_msg socket;
    };
} reply;

/* Receives the kernel's answer, which is available as soon as the question was sent. */
static bool receive(const mv_peers *peers, reply *r)
{
    ssize_t got;

    do
        got = recv(peers->kernel, r, sizeof *r, MSG_DONTWAIT);
    while ((got < 0 && errno == EINTR) ||
           (got >= (ssize_t)sizeof r->head && r->head.nlmsg_seq != peers->asked));
    return got >=
           (ssize_t)(sizeof r->head + (r->head.nlmsg_type == NLMSG_ERROR ? sizeof r->failure.error
                                                                         : sizeof r->socket));
}

/* Asks the kernel about the socket at 127.0.0.1:`from` whose other end is `there`:`to`. */
static bool ask(mv_peers *peers, uint16_t from, uint32_t there, uint16_t to, reply *r)
{
    question q = {.head = {.nlmsg_len = sizeof q,
                           .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                           .nlmsg_flags = NLM_F_REQUEST,
                           .nlmsg_seq = ++peers->asked},
                  .what = {.sdiag_family = AF_INET,
                           .sdiag_protocol = IPPROTO_TCP,
                           .idiag_states = UINT32_MAX,
                           .id = {.idiag_sport = htons(from),
                                  .idiag_dport = htons(to),
                                  .idiag_src = {htonl(INADDR_LOOPBACK)},
                                  .idiag_dst = {htonl(there)},
                                  .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};

    return peers->kernel >= 0 &&
           send(peers->kernel, &q, sizeof q, MSG_DONTWAIT) == (ssize_t)sizeof q &&
           receive(peers, r);
}

void mv_peers_open(mv_peers *peers, uint16_t port)
{
    reply r;

    *peers = (mv_peers){.port = port};
    peers->kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    /* A kernel without TCP diagnostics reports that the socket does not exist, even if the question
     * is about a socket that listens. */
    if (!ask(peers, port, INADDR_ANY, 0, &r) || r.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        r.socket.idiag_state != LISTEN)
        mv_peers_close(peers);
}

void mv_peers_close(mv_peers *peers)
{
    if (peers->kernel >= 0)
        close(peers->kernel);
    peers->kernel = -1;
}

mv_peer_state mv_peers_query(mv_peers *peers, uint16_t from, uint32_t *owner)
{
    reply r;

    if (!ask(peers, from, INADDR_LOOPBACK, peers->port, &r))
        return MV_PEER_UNKNOWN;
    if (r.head.nlmsg_type == NLMSG_ERROR)
        return r.failure.error == -ENOENT ? MV_PEER_GONE : MV_PEER_UNKNOWN;
    /* For a closed connection, the kernel returns the socket that listens on its port. */
    if (r.socket.idiag_state == LISTEN || r.socket.idiag_state == TIME_WAIT)
        return MV_PEER_GONE;
    *owner = r.socket.idiag_uid;
    return MV_PEER_OWNED;
}

/* ---- the tables of /proc --------------------------------------------------------------------- */

/* Whether the string is 127.0.0.1 or ::ffff:127.0.0.1. */
static bool is_this_machine(const char *address)
{
    char plain[9], mapped[33];

    snprintf(plain, sizeof plain, "%08X", htonl(INADDR_LOOPBACK));
    snprintf(mapped, sizeof mapped, "%016X%08X%s", 0, htonl(0xffff), plain);
    return strcmp(address, plain) == 0 || strcmp(address, mapped) == 0;
}

bool mv_peer_find(FILE *table, uint16_t from, uint16_t to, uint32_t *owner)
{
    unsigned local, remote, state;
    char line[512], here[33], there[33];

    while (fgets(line, sizeof line, table))
        if (sscanf(line, " %*u: %32[0-9A-F]:%4x %32[0-9A-F]:%4x %2x %*s %*s %*s %u", here, &local,
                   there, &remote, &state, owner) == 6 &&
            local == from && remote == to && state == ESTABLISHED && is_this_machine(here) &&
            is_this_machine(there))
            return true;
    return false;
}

static bool look_up(uint16_t from, uint16_t to, uint32_t *owner)
{
    static const char *const tables[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    bool is_found = false;

    for (unsigned i = 0; !is_found && i < sizeof tables / sizeof *tables; i++) {
        FILE *table = fopen(tables[i], "re");
        is_found = table && mv_peer_find(table, from, to, owner);
        if (table)
            fclose(table);
    }
    return is_found;
}

/* ------------------------------------------------------------------------------------------ */

bool mv_peer_is_foreign(mv_peers *peers, const struct sockaddr_in *from)
{
    uint32_t own = geteuid(), owner = own;
    uint16_t port = ntohs(from->sin_port);
    mv_peer_state state;

    if (from->sin_addr.s_addr != htonl(INADDR_LOOPBACK))
        return true;
    if (own == 0)
        return false;
    state = mv_peers_query(peers, port, &owner);
    if (state == MV_PEER_GONE)
        return true;
    if (state == MV_PEER_UNKNOWN && !look_up(port, peers->port, &owner))
        return false;
    return owner != own && owner != 0;
}
