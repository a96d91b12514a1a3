/* The process at the other end of a connection. Sockets end with their test. */
#include "cli/serve/peer.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fixture/fixture_test.h"

static const char table[] = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when "
                            "retrnsmt   uid  timeout inode\n"
                            "   0: 0100007F:A397 00000000:0000 0A 00000000:00000000 00:00000000 "
                            "00000000  1000        0 1 1\n"
                            "   1: 0100007F:A397 0100007F:C001 01 00000000:00000000 00:00000000 "
                            "00000000  1000        0 2 1\n"
                            "  12: 0100007F:C001 0100007F:A397 06 00000000:00000000 03:00000000 "
                            "00000000     0        0 0 3\n"
                            "  13: 0100007F:C001 0100007F:A397 01 00000000:00000000 00:00000000 "
                            "00000000  1001        0 3 1\n"
                            " 999: 0000000000000000FFFF00000100007F:C002 "
                            "0000000000000000FFFF00000100007F:A397 01 0:0 0:0 0  1002 0 4 1\n";

/* Connections that belong to others, with the same two ports but other addresses. */
static const char other_addresses[] =
    "   1: 0300007F:C001 0100007F:A397 01 0:0 0:0 0  1003 0 1 1\n"
    "   2: 0100007F:C001 0200007F:A397 01 0:0 0:0 0  1004 0 2 1\n"
    "   3: 0000000000000000FFFF00000300007F:C001 "
    "0000000000000000FFFF00000100007F:A397 01 0:0 0:0 0  1005 0 3 1\n"
    "   4: 00000000000000000000000001000000:C001 "
    "00000000000000000000000001000000:A397 01 0:0 0:0 0  1006 0 4 1\n";

static int64_t owner_of(const char *text, uint16_t from, uint16_t to)
{
    FILE *file = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
    uint32_t owner = 0;
    bool is_found = mv_peer_find(file, from, to, &owner);

    fclose(file);
    return is_found ? (int64_t)owner : -1;
}

Test(peer, the_owner_of_the_other_end_is_found)
{
    cr_expect_eq(owner_of(table, 0xc001, 0xa397), 1001);
    cr_expect_eq(owner_of(table, 0xc002, 0xa397), 1002);
    cr_expect_eq(owner_of(table, 0xa397, 0xc001), 1000);
    cr_expect_eq(owner_of(table, 0xc003, 0xa397), -1);
    cr_expect_eq(owner_of("x\n", 1, 2), -1);
}

Test(peer, ports_alone_do_not_identify_a_connection)
{

    cr_expect_eq(owner_of(other_addresses, 0xc001, 0xa397), -1);
    const char *both = mvt_format("%s%s", other_addresses, table);
    cr_expect_eq(owner_of(both, 0xc001, 0xa397), 1001);
}

static struct sockaddr_in of_address(uint32_t address, uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
}

static struct sockaddr_in own_end(int fd)
{
    struct sockaddr_in address;
    socklen_t length = sizeof address;

    cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    return address;
}

static int listen_at(uint32_t ip, uint16_t port)
{
    struct sockaddr_in address = of_address(ip, port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 8) == 0);
    return fd;
}

/* Connects from an address and a port (0: any) to 127.0.0.1 or another address. */
static int connect_from(uint32_t ip, uint16_t port, struct sockaddr_in to)
{
    struct sockaddr_in from = of_address(ip, port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    cr_assert_eq(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

Test(peer, a_connection_of_this_process_is_recognised)
{
    int server = listen_at(INADDR_LOOPBACK, 0);
    struct sockaddr_in to = own_end(server);
    int client = connect_from(INADDR_LOOPBACK, 0, to);
    struct sockaddr_in from = own_end(client);
    uint32_t owner = 0;
    mv_peers peers;

    mv_peers_open(&peers, ntohs(to.sin_port));
    cr_expect_not(mv_peer_is_foreign(&peers, &from));
    mv_peers_close(&peers);
    cr_expect_not(mv_peer_is_foreign(&peers, &from), "/proc has to do");
    FILE *tcp = fopen("/proc/net/tcp", "re");
    if (tcp) {
        cr_expect(mv_peer_find(tcp, ntohs(from.sin_port), ntohs(to.sin_port), &owner));
        cr_expect_eq(owner, geteuid());
        fclose(tcp);
    }
}

Test(peer, other_addresses_are_refused)
{
    int server = listen_at(INADDR_LOOPBACK, 0);
    struct sockaddr_in to = own_end(server);
    int owned = connect_from(INADDR_LOOPBACK, 0, to);
    uint16_t port = ntohs(own_end(owned).sin_port);
    int alike = connect_from(INADDR_LOOPBACK + 1, port, to);
    struct sockaddr_in from = own_end(alike);
    mv_peers peers;

    mv_peers_open(&peers, ntohs(to.sin_port));
    cr_expect(mv_peer_is_foreign(&peers, &from));
    mv_peers_close(&peers);
}

Test(peer, the_kernel_reports_one_connection)
{
    int server = listen_at(INADDR_LOOPBACK, 0);
    struct sockaddr_in to = own_end(server);
    int client = connect_from(INADDR_LOOPBACK, 0, to);
    uint16_t from = ntohs(own_end(client).sin_port);
    int other = listen_at(INADDR_LOOPBACK + 1, ntohs(to.sin_port));
    connect_from(INADDR_LOOPBACK + 2, from, own_end(other)); /* alike */
    uint32_t owner = UINT32_MAX;
    mv_peers peers;

    mv_peers_open(&peers, ntohs(to.sin_port));
    if (peers.kernel < 0)
        mvt_skip("no sock_diag here");
    cr_expect_eq(mv_peers_query(&peers, from, &owner), MV_PEER_OWNED);
    cr_expect_eq(owner, geteuid());
    shutdown(client, SHUT_WR);
    cr_expect_eq(mv_peers_query(&peers, from, &owner), MV_PEER_OWNED, "it can still read");
    cr_expect_eq(mv_peers_query(&peers, 1, &owner), MV_PEER_GONE);
    cr_expect_eq(mv_peers_query(&peers, ntohs(to.sin_port), &owner), MV_PEER_GONE,
                 "a listening socket is not a connection");
    mv_peers_close(&peers);
    cr_expect_eq(mv_peers_query(&peers, from, &owner), MV_PEER_UNKNOWN);
}

Test(peer, the_kernel_names_another_user)
{
    int server = listen_at(INADDR_LOOPBACK, 0), client, ended;
    struct sockaddr_in to = own_end(server), from;
    socklen_t length = sizeof from;
    uint32_t owner = 0;
    mv_peers peers;

    mv_peers_open(&peers, ntohs(to.sin_port));
    if (geteuid() != 0 || peers.kernel < 0)
        mvt_skip("needs root and sock_diag");
    pid_t child = fork();
    if (child == 0) {
        if (setresuid(1001, 1001, 1001) != 0)
            _exit(1);
        connect_from(INADDR_LOOPBACK, 0, to);
        pause();
    }
    client = accept(server, (struct sockaddr *)&from, &length);
    cr_assert_geq(client, 0);
    cr_expect_eq(mv_peers_query(&peers, ntohs(from.sin_port), &owner), MV_PEER_OWNED);
    cr_expect_eq(owner, 1001);
    kill(child, SIGKILL);
    waitpid(child, &ended, 0);
    mv_peers_close(&peers);
}

Test(peer, a_port_without_a_server_sends_nothing)
{
    mv_peers peers;

    mv_peers_open(&peers, 1);
    cr_expect_lt(peers.kernel, 0);
}
