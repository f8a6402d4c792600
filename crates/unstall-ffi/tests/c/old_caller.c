/* old_caller OPEN SILENT: a program of an older version, whose options ended after the first limit. It was compiled with
 * the header of then, so nothing of today's is included. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    size_t size;
    uint64_t connect_timeout_ms;
} unstall_options;

#ifdef _WIN32
typedef size_t unstall_socket;
#else
typedef int unstall_socket;
#endif

int32_t unstall_connect(const char *host, uint16_t port, const unstall_options *options, unstall_socket *connected);

int main(int argc, char **argv) {
    /* What follows the caller's struct in memory is not the library's to read: as options it would make no sense. */
    struct {
        unstall_options options;
        unsigned char beyond[64];
    } memory;
    unstall_socket connected;
    int32_t status;
    size_t at;

    if (argc != 3) {
        return 2;
    }
    for (at = 0; at < sizeof memory.beyond; at++) {
        memory.beyond[at] = 0xEE;
    }
    memory.options.size = sizeof memory.options;
    memory.options.connect_timeout_ms = 50;
    status = unstall_connect("127.0.0.1", (uint16_t)strtoul(argv[1], NULL, 10), &memory.options, &connected);
    printf("%d ", (int)status);
    status = unstall_connect("127.0.0.1", (uint16_t)strtoul(argv[2], NULL, 10), &memory.options, &connected);
    printf("%d\n", (int)status);
    return 0;
}
