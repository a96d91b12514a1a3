/* Whose process a connection is from. */
#include "cli/serve/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
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

Test(peer, a_connection_of_this_process_is_its_own)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
                       from;
    socklen_t length = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    uint32_t owner = 0;
    FILE *tcp;

    cr_assert(bind(server, (struct sockaddr *)&address, sizeof address) == 0 &&
              listen(server, 1) == 0);
    cr_assert_eq(getsockname(server, (struct sockaddr *)&address, &length), 0);
    cr_assert_eq(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(getsockname(client, (struct sockaddr *)&from, &length), 0);
    cr_expect_not(mv_peer_is_foreign(ntohs(from.sin_port), ntohs(address.sin_port)));
    tcp = fopen("/proc/net/tcp", "re");
    if (tcp) {
        cr_expect(mv_peer_find(tcp, ntohs(from.sin_port), ntohs(address.sin_port), &owner));
        cr_expect_eq(owner, geteuid());
        fclose(tcp);
    }
    close(client);
    close(server);
}
