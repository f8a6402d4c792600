/* prepare ADDRESS PORT: connects a socket of its own to an IPv4 address, prepared first, so that Windows refuses at once.
 *
 *     cc prepare.c $(pkg-config --cflags --libs unstall)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unstall.h>
#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>
#define close_socket closesocket
#else
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#define close_socket close
#endif

int main(int argc, char **argv) {
    struct sockaddr_in address;
    unstall_socket own;
    int prepared, failed;

    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    if (argc != 3 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) {
        fprintf(stderr, "usage: prepare ADDRESS PORT\n");
        return 2;
    }
    address.sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
#ifdef _WIN32
    {
        WSADATA data;
        WSAStartup(MAKEWORD(2, 2), &data);
    }
#endif
    own = socket(AF_INET, SOCK_STREAM, 0);
    prepared = unstall_prepare(own, &address, sizeof address);
    failed = connect(own, (const struct sockaddr *)&address, sizeof address) != 0;
    printf("prepared: %d, %s\n", prepared, failed ? "refused" : "connected");
    close_socket(own);
    return failed;
}
