/* curl MODE URL: gets a URL with libcurl in one of three ways, and prints curl's code and how many seconds it took.
 *
 *     plain     curl connects as it always does
 *     prepare   curl connects; CURLOPT_SOCKOPTFUNCTION prepares each socket first, so that Windows refuses at once
 *     connect   CURLOPT_OPENSOCKETFUNCTION connects with unstall, every address of the name raced
 *
 *     cc curl.c $(pkg-config --cflags --libs unstall libcurl)
 *
 * Linux refuses at once and needs no preparation. In `unstall lab`, which refuses as Windows does, a TTL of 254 stands for
 * what unstall_prepare does on Windows: the variable UNSTALL_EXAMPLE_TTL=254 makes this program set it.
 */
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>
#include <unstall.h>

/* What the callbacks share: where curl is about to connect to, and, for `connect`, which host and port that is by name. */
struct connection {
    struct sockaddr_storage address;
    size_t length;
    const char *host;
    uint16_t port;
};

/* Makes the socket, as curl would, and remembers the address, which the next callback is not told. */
static curl_socket_t open_and_remember(void *data, curlsocktype purpose, struct curl_sockaddr *address) {
    struct connection *connection = data;
    (void)purpose;
    connection->length = address->addrlen;
    memcpy(&connection->address, &address->addr, address->addrlen);
    return socket(address->family, address->socktype, address->protocol);
}

static int prepare(void *data, curl_socket_t own, curlsocktype purpose) {
    struct connection *connection = data;
    const char *ttl = getenv("UNSTALL_EXAMPLE_TTL");
    (void)purpose;
    unstall_prepare(own, &connection->address, connection->length);
    if (ttl != NULL) {
        int value = atoi(ttl);
        setsockopt(own, IPPROTO_IP, IP_TTL, &value, sizeof value);
        setsockopt(own, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &value, sizeof value);
    }
    return CURL_SOCKOPT_OK;
}

/* Connects to the name, whichever of its addresses curl is at; curl asks again for each after a failure. */
static curl_socket_t connect_by_name(void *data, curlsocktype purpose, struct curl_sockaddr *address) {
    struct connection *connection = data;
    unstall_socket connected;
    (void)purpose;
    (void)address;
    unstall_connect(connection->host, connection->port, NULL, &connected);
    return connected == UNSTALL_INVALID_SOCKET ? CURL_SOCKET_BAD : connected;
}

static int already_connected(void *data, curl_socket_t own, curlsocktype purpose) {
    (void)data;
    (void)own;
    (void)purpose;
    return CURL_SOCKOPT_ALREADY_CONNECTED;
}

static size_t discard(char *data, size_t size, size_t count, void *nothing) {
    (void)data;
    (void)nothing;
    return size * count;
}

int main(int argc, char **argv) {
    struct connection connection;
    double seconds = 0;
    char *host = NULL, *port = NULL;
    CURLU *url = curl_url();
    CURL *curl = curl_easy_init();
    CURLcode code;

    memset(&connection, 0, sizeof connection);
    if (argc != 3 || curl == NULL || curl_url_set(url, CURLUPART_URL, argv[2], 0) != CURLUE_OK) {
        fprintf(stderr, "usage: curl plain|prepare|connect URL\n");
        return 2;
    }
    curl_easy_setopt(curl, CURLOPT_URL, argv[2]);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, discard);
    if (strcmp(argv[1], "prepare") == 0) {
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_and_remember);
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, &connection);
        curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, prepare);
        curl_easy_setopt(curl, CURLOPT_SOCKOPTDATA, &connection);
    } else if (strcmp(argv[1], "connect") == 0) {
        curl_url_get(url, CURLUPART_HOST, &host, 0);
        curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
        connection.host = host;
        connection.port = (uint16_t)strtoul(port, NULL, 10);
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, connect_by_name);
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, &connection);
        curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, already_connected);
    }
    code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_TOTAL_TIME, &seconds);
    printf("%d %.6f\n", (int)code, seconds);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(url);
    curl_easy_cleanup(curl);
    return code == CURLE_OK ? 0 : 1;
}
