/* connect HOST PORT [LIMIT_MS]: connects, and says what happened.
 *
 *     cc connect.c $(pkg-config --cflags --libs unstall)
 */
#include <stdio.h>
#include <stdlib.h>
#include <unstall.h>
#ifdef _WIN32
#include <winsock2.h>
#define close_socket closesocket
#else
#include <unistd.h>
#define close_socket close
#endif

int main(int argc, char **argv) {
    unstall_options options = UNSTALL_OPTIONS_INIT;
    unstall_socket connected;
    unstall_status status;
    char *text;

    if (argc < 3) {
        fprintf(stderr, "usage: connect HOST PORT [LIMIT_MS]\n");
        return 2;
    }
    if (argc > 3) {
        options.connect_timeout_ms = (uint64_t)strtoul(argv[3], NULL, 10);
    }
    status = unstall_connect(argv[1], (uint16_t)strtoul(argv[2], NULL, 10), &options, &connected);
    if (status == UNSTALL_STATUS_OK) {
        printf("connected\n");
        close_socket(connected);
    } else {
        text = unstall_last_error();
        printf("%s (OS code %d): %s\n", unstall_status_name(status), (int)unstall_last_os_error(), text);
        unstall_string_free(text);
    }
    text = unstall_last_timeline();
    if (text != NULL) {
        printf("%s\n", text);
        unstall_string_free(text);
    }
    return status == UNSTALL_STATUS_OK ? 0 : 1;
}
