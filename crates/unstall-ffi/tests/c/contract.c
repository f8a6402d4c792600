/* contract OPEN CLOSED: what every function promises, on 127.0.0.1, where a server listens on OPEN and none on CLOSED.
 * Compiles as C99 and as C++17. Exit code 0: all of it holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unstall.h>
#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>
#define close_socket closesocket
#else
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#define close_socket close
#endif

static int failures = 0;

#define CHECK(condition) \
    ((condition) ? (void)0 : (void)(failures++, fprintf(stderr, "line %d: %s\n", __LINE__, #condition)))

static uint16_t open_port, closed_port;

/* Whether the text has the part in it; gives the text back. */
static int has(char *text, const char *part) {
    int found = text != NULL && strstr(text, part) != NULL;
    if (!found) {
        fprintf(stderr, "no \"%s\" in %s\n", part, text != NULL ? text : "nothing");
    }
    unstall_string_free(text);
    return found;
}

static void nothing_yet(void) {
    CHECK(unstall_last_error() == NULL);
    CHECK(unstall_last_timeline() == NULL);
    CHECK(unstall_last_os_error() == 0);
    unstall_string_free(NULL);
}

static void versions_and_names(void) {
    CHECK(strcmp(unstall_version(), UNSTALL_VERSION) == 0);
    CHECK(strcmp(unstall_status_name(UNSTALL_STATUS_TIMED_OUT), "timed_out") == 0);
    CHECK(strcmp(unstall_status_name(-1), "unknown") == 0);
    CHECK(strcmp(unstall_status_name(1000), "unknown") == 0);
}

static void connects(void) {
    unstall_socket connected = UNSTALL_INVALID_SOCKET;
    int nodelay = 0;
    socklen_t length = sizeof nodelay;
    CHECK(unstall_connect("127.0.0.1", open_port, NULL, &connected) == UNSTALL_STATUS_OK);
    CHECK(connected != UNSTALL_INVALID_SOCKET);
    CHECK(getsockopt(connected, IPPROTO_TCP, 1 /* TCP_NODELAY */, (char *)&nodelay, &length) == 0 && nodelay != 0);
    CHECK(send(connected, "x", 1, 0) == 1);
    CHECK(close_socket(connected) == 0);
    CHECK(unstall_last_error() == NULL);
    CHECK(unstall_last_os_error() == 0);
    CHECK(has(unstall_last_timeline(), "\"outcome\":\"connected\""));
}

static void options_are_heeded(void) {
    unstall_options options = UNSTALL_OPTIONS_INIT;
    unstall_socket connected;
    int nodelay = 1;
    socklen_t length = sizeof nodelay;
    options.delay_small_writes = 1;
    CHECK(unstall_connect("localhost", open_port, &options, &connected) == UNSTALL_STATUS_OK);
    CHECK(getsockopt(connected, IPPROTO_TCP, 1 /* TCP_NODELAY */, (char *)&nodelay, &length) == 0 && nodelay == 0);
    CHECK(close_socket(connected) == 0);
    options.family = UNSTALL_FAMILY_V6;
    CHECK(unstall_connect("127.0.0.1", open_port, &options, &connected) == UNSTALL_STATUS_NOT_AVAILABLE);
    CHECK(connected == UNSTALL_INVALID_SOCKET);
}

static void refusals_are_refusals(void) {
    unstall_socket connected = 0;
    CHECK(unstall_connect("127.0.0.1", closed_port, NULL, &connected) == UNSTALL_STATUS_REFUSED);
    CHECK(connected == UNSTALL_INVALID_SOCKET);
#ifdef _WIN32
    CHECK(unstall_last_os_error() == WSAECONNREFUSED);
#else
    CHECK(unstall_last_os_error() == 111 /* ECONNREFUSED */);
#endif
    CHECK(has(unstall_last_error(), "cannot connect to 127.0.0.1:"));
    CHECK(has(unstall_last_timeline(), "\"outcome\":\"refused\""));
    /* Asked again, it says the same. */
    CHECK(has(unstall_last_error(), "nobody listens there"));
}

static void names_that_are_none(void) {
    unstall_socket connected;
    CHECK(unstall_connect("no-such-host.invalid", open_port, NULL, &connected) == UNSTALL_STATUS_NO_NAME);
    CHECK(has(unstall_last_error(), "no-such-host.invalid"));
    CHECK(has(unstall_last_timeline(), "\"attempts\":[]"));
}

static void deadlines(void) {
    unstall_socket connected;
    uint64_t now = unstall_now_ns();
    CHECK(now > 0 && unstall_now_ns() >= now);
    CHECK(unstall_connect_until("127.0.0.1", open_port, NULL, now + 60000000000u, &connected) == UNSTALL_STATUS_OK);
    CHECK(close_socket(connected) == 0);
    CHECK(unstall_connect_until("127.0.0.1", open_port, NULL, 0, &connected) == UNSTALL_STATUS_OK);
    CHECK(close_socket(connected) == 0);
    /* A moment that is over. A resolver that answers at once, from a file, may still be heard. */
    unstall_status status = unstall_connect_until("no-such-host.invalid", open_port, NULL, 1, &connected);
    CHECK(status == UNSTALL_STATUS_TIMED_OUT || status == UNSTALL_STATUS_NO_NAME);
    CHECK(connected == UNSTALL_INVALID_SOCKET);
    CHECK(status != UNSTALL_STATUS_TIMED_OUT || unstall_last_os_error() == 0);
}

static void arguments_that_make_no_sense(void) {
    unstall_options options = UNSTALL_OPTIONS_INIT;
    unstall_socket connected = 0;
    CHECK(unstall_connect("127.0.0.1", open_port, NULL, NULL) == UNSTALL_STATUS_INVALID_ARGUMENT);
    CHECK(unstall_connect(NULL, open_port, NULL, &connected) == UNSTALL_STATUS_INVALID_ARGUMENT);
    CHECK(connected == UNSTALL_INVALID_SOCKET);
    CHECK(has(unstall_last_error(), "there is no host"));
    CHECK(unstall_last_timeline() == NULL);
    CHECK(unstall_connect("", open_port, NULL, &connected) == UNSTALL_STATUS_INVALID_ARGUMENT);
    CHECK(unstall_connect("\xff\xfe", open_port, NULL, &connected) == UNSTALL_STATUS_INVALID_ARGUMENT);
    CHECK(unstall_connect("two words", open_port, NULL, &connected) == UNSTALL_STATUS_INVALID_ARGUMENT);
    CHECK(unstall_connect("127.0.0.1", 0, NULL, &connected) == UNSTALL_STATUS_INVALID_ARGUMENT);
    options.family = 5;
    CHECK(unstall_connect("127.0.0.1", open_port, &options, &connected) == UNSTALL_STATUS_INVALID_ARGUMENT);
    CHECK(has(unstall_last_error(), "options"));
    options.family = UNSTALL_FAMILY_ANY;
    options.size = 0;
    CHECK(unstall_connect("127.0.0.1", open_port, &options, &connected) == UNSTALL_STATUS_INVALID_ARGUMENT);
    options.size = (size_t)-1;
    CHECK(unstall_connect("127.0.0.1", open_port, &options, &connected) == UNSTALL_STATUS_INVALID_ARGUMENT);
}

static void prepares(void) {
    struct sockaddr_in address;
    struct sockaddr_in6 other;
    unstall_socket own = socket(AF_INET, SOCK_STREAM, 0);
    int prepared;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(open_port);
    prepared = unstall_prepare(own, &address, sizeof address);
#ifdef _WIN32
    CHECK(prepared == UNSTALL_PREPARED_LISTENING);
#else
    CHECK(prepared == UNSTALL_PREPARED_NOT_NEEDED);
#endif
    CHECK(connect(own, (const struct sockaddr *)&address, sizeof address) == 0);
    CHECK(unstall_prepare(own, NULL, 0) == UNSTALL_PREPARED_INVALID_ARGUMENT);
    CHECK(unstall_prepare(own, NULL, sizeof address) == UNSTALL_PREPARED_INVALID_ARGUMENT);
    CHECK(unstall_prepare(own, &address, 3) == UNSTALL_PREPARED_INVALID_ARGUMENT);
    CHECK(unstall_prepare(own, &address, 100000) == UNSTALL_PREPARED_INVALID_ARGUMENT);
    CHECK(unstall_prepare(UNSTALL_INVALID_SOCKET, &address, sizeof address) == UNSTALL_PREPARED_INVALID_ARGUMENT);
    CHECK(close_socket(own) == 0);
    memset(&other, 0, sizeof other);
    other.sin6_family = 12345;
    CHECK(unstall_prepare(0, &other, sizeof other) == UNSTALL_PREPARED_INVALID_ARGUMENT);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        return 2;
    }
#ifdef _WIN32
    {
        WSADATA data;
        WSAStartup(MAKEWORD(2, 2), &data);
    }
#endif
    open_port = (uint16_t)strtoul(argv[1], NULL, 10);
    closed_port = (uint16_t)strtoul(argv[2], NULL, 10);
    nothing_yet();
    versions_and_names();
    connects();
    options_are_heeded();
    refusals_are_refusals();
    names_that_are_none();
    deadlines();
    arguments_that_make_no_sense();
    prepares();
    return failures == 0 ? 0 : 1;
}
