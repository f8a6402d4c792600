/* `fuzz PORT ROUNDS`: Winsock's calls with arguments that no sound program passes: null, short addresses, bad lengths, bad GUID sizes, sockets that
   are none. A line for each: what it returned, the last error, and whether it read where nothing is. Nothing may depend on time,
   so that the same lines come with and without hooks. */
#include "client.h"
/* Calls, and prints what came of it. */
#define TRY(line, ...)                                                                                      \
    do {                                                                                                    \
        void *back[8];                                                                                \
        long returned = 0;                                                                                  \
        DWORD error = 0;                                                                                    \
        on_fault = back;                                                                                   \
        if (__builtin_setjmp(back)) {                                                             \
            printf("%s\tfault 0x%08lx\n", line, fault_code);                                                                    \
        } else {                                                                                            \
            SetLastError(1234567);                                                                          \
            returned = (long)(__VA_ARGS__);                                                                 \
            error = GetLastError();                                                                         \
            on_fault = NULL;                                                                                \
            printf("%s\t%ld\t%lu\n", line, returned, error);                                                \
        }                                                                                                   \
    } while (0)

static unsigned seed;
static unsigned next(unsigned below)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % below;
}

/* A page of which the last bytes can be read and nothing after them. */
static unsigned char *edge_of_page(size_t room)
{
    unsigned char *pages = VirtualAlloc(NULL, 8192, MEM_RESERVE, PAGE_NOACCESS);
    pages = VirtualAlloc(pages, 4096, MEM_COMMIT, PAGE_READWRITE);
    return pages + 4096 - room;
}

enum which { CLOSED_SOCKET, NO_SOCKET, NULL_SOCKET, STREAM4, STREAM6, DATAGRAM, FILE_HANDLE, KINDS };
static const char *const kinds[KINDS] = { "closed", "none", "null", "stream4", "stream6", "datagram", "file" };

static SOCKET make(enum which kind)
{
    SOCKET made = new_socket(kind == STREAM6 ? V6 : V4);
    switch (kind) {
    case CLOSED_SOCKET:
        closesocket(made);
        return made;
    case NO_SOCKET:
    case NULL_SOCKET:
        closesocket(made);
        return kind == NO_SOCKET ? INVALID_SOCKET : 0;
    case DATAGRAM:
        closesocket(made);
        return socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    case FILE_HANDLE:
        closesocket(made);
        return (SOCKET)CreateFileW(L"NUL", GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL);
    default:
        return made;
    }
}

static void unmake(enum which kind, SOCKET socket)
{
    if (kind == FILE_HANDLE)
        CloseHandle((HANDLE)socket);
    else if (kind >= STREAM4)
        closesocket(socket);
}

/* The address of a round: null, or cut off at the edge of a page; its length need not be true. */
static const struct sockaddr *address_of(unsigned short port, int *length, char *said, size_t room)
{
    /* Wine copies so many bytes into memory that it does not free after a fault; twice 2 GiB is more than a 32-bit program has. */
    static const int much = sizeof(void *) == 8 ? 0x7FFFFFFF : 65536;
    /* There it also writes over its own memory where a length is negative, and nothing afterwards can be compared. */
    static const int less = sizeof(void *) == 8 ? -1 : 3;
    const int lengths[] = { less, 0, 1, 2, 7, 8, 15, 16, 17, 27, 28, 29, 128, much };
    static const short families[] = { AF_INET, AF_INET6, AF_UNSPEC, 99 };
    static unsigned char *edge;
    struct sockaddr_storage whole = { 0 };
    struct target target = target_of(next(2) ? V4 : V6, port);
    memcpy(&whole, &target.address, sizeof whole);
    if (next(4) == 0)
        whole.ss_family = families[next(4)];
    *length = lengths[next(sizeof lengths / sizeof *lengths)];
    if (next(8) == 0) {
        snprintf(said, room, "null,%d", *length);
        return NULL;
    }
    int there = next(3) ? target.length : lengths[1 + next(10)];
    if (!edge)
        edge = edge_of_page(0);
    unsigned char *at = edge - there;
    memcpy(at, &whole, there);
    snprintf(said, room, "family=%d,there=%d,says=%d", whole.ss_family, there, *length);
    return (const struct sockaddr *)at;
}

static void connects(unsigned short port)
{
    char line[200], said[96];
    int length;
    enum which kind = next(KINDS);
    const struct sockaddr *address = address_of(port, &length, said, sizeof said);
    unsigned call = next(5);
    static const char *const calls[] = { "connect", "WSAConnect", "ConnectEx", "ConnectEx-unbound", "ConnectEx-null" };
    SOCKET made = make(kind);
    SOCKET honest = new_socket(V4);
    LPFN_CONNECTEX connect_ex = connect_ex_of(honest);
    closesocket(honest);
    static OVERLAPPED overlapped;
    memset(&overlapped, 0, sizeof overlapped);
    snprintf(line, sizeof line, "%s %s %s", calls[call], kinds[kind], said);
    if (kind >= STREAM4 && call < 2 && kind != FILE_HANDLE)
        set_nonblocking(made);
    if (call == 2 && (kind == STREAM4 || kind == STREAM6))
        bind_any(made, kind == STREAM6 ? V6 : V4);
    if (call == 0)
        TRY(line, connect(made, address, length));
    else if (call == 1)
        TRY(line, WSAConnect(made, address, length, NULL, NULL, NULL, NULL));
    else
        TRY(line, connect_ex(made, address, length, NULL, 0, NULL, call == 4 ? NULL : &overlapped));
    /* Nothing may write to the structure later. */
    if (overlapped.Internal == STATUS_PENDING) {
        DWORD bytes, flags;
        WSAGetOverlappedResult(made, &overlapped, &bytes, TRUE, &flags);
    }
    unmake(kind, made);
}

static void asks(void)
{
    char line[200];
    static const unsigned lengths[] = { 0, 1, 4, 7, 8, 15, 16, 17, 64 };
    static unsigned char *edge;
    GUID guid = WSAID_CONNECTEX;
    void *out[8] = { 0 };
    DWORD bytes = 77;
    enum which kind = next(KINDS);
    SOCKET made = make(kind);
    unsigned in_length = lengths[next(9)], out_length = lengths[next(9)], there = in_length < 16 ? in_length : 16;
    int no_input = next(6) == 0, no_output = next(6) == 0, no_bytes = next(6) == 0, other = next(3) == 0;
    if (!edge)
        edge = edge_of_page(0);
    if (other)
        guid.Data1 ^= 1;
    memcpy(edge - there, &guid, there);
    if (out_length > sizeof out)
        out_length = sizeof out;
    snprintf(line, sizeof line, "WSAIoctl %s in=%u%s out=%u%s bytes=%d other=%d", kinds[kind], in_length, no_input ? "(null)" : "", out_length,
             no_output ? "(null)" : "", !no_bytes, other);
    TRY(line, WSAIoctl(made, SIO_GET_EXTENSION_FUNCTION_POINTER, no_input ? NULL : edge - there, in_length, no_output ? NULL : out, out_length,
                       no_bytes ? NULL : &bytes, NULL, NULL));
    printf("  written %lu pointer %d\n", bytes, out[0] != NULL);
    unmake(kind, made);
}

static void options(void)
{
    char line[200], value[16];
    static const int lengths[] = { -1, 0, 1, 2, 3, 4, 5, 8, 16 };
    static const int levels[] = { SOL_SOCKET, IPPROTO_TCP, 12345 };
    static const int names[] = { SO_ERROR, SO_TYPE, 0x7010, -1 };
    memset(value, 0x55, sizeof value);
    enum which kind = next(KINDS);
    SOCKET made = make(kind);
    int length = lengths[next(9)], level = levels[next(3)], name = names[next(4)], no_value = next(6) == 0, no_length = next(6) == 0;
    snprintf(line, sizeof line, "getsockopt %s level=%d name=%d length=%d%s%s", kinds[kind], level, name, length, no_value ? " no value" : "",
             no_length ? " no length" : "");
    TRY(line, getsockopt(made, level, name, no_value ? NULL : value, no_length ? NULL : &length));
    printf("  length %d value %02x%02x%02x%02x%02x\n", length, value[0] & 255, value[1] & 255, value[2] & 255, value[3] & 255, value[4] & 255);
    unmake(kind, made);
}

static void waits(void)
{
    char line[200];
    unsigned call = next(4);
    enum which kind = next(KINDS);
    SOCKET made = make(kind);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(made, &set);
    set.fd_count = next(3);
    struct timeval now = { 0, 0 };
    WSAPOLLFD poll[2] = { { .fd = made, .events = POLLOUT }, { .fd = made, .events = 0x7FFF } };
    WSANETWORKEVENTS events;
    if (set.fd_count == 2)
        set.fd_array[1] = made;
    snprintf(line, sizeof line, "%s %s count=%u",
             call == 0 ? "select" : call == 1 ? "WSAPoll" : call == 2 ? "WSAEnumNetworkEvents" : "WSAEventSelect", kinds[kind], set.fd_count);
    if (call == 0)
        TRY(line, select(0, NULL, next(4) ? &set : NULL, next(4) ? &set : NULL, &now));
    else if (call == 1)
        TRY(line, WSAPoll(next(4) ? poll : NULL, next(3), 0));
    else if (call == 2)
        TRY(line, WSAEnumNetworkEvents(made, NULL, next(3) ? &events : NULL));
    else
        TRY(line, WSAEventSelect(made, (WSAEVENT)(UINT_PTR)(next(2) ? 0 : 0x1234), next(2) ? FD_CONNECT : -1));
    unmake(kind, made);
}

static void by_names(void)
{
    char line[200];
    enum which kind = next(2) ? STREAM6 : CLOSED_SOCKET;
    SOCKET made = make(kind);
    unsigned call = next(3), no_node = next(2), no_service = next(2);
    /* Without a node or a service there is nobody to connect to. */
    if (!no_node && !no_service)
        no_service = 1;
    SOCKET_ADDRESS_LIST list = { .iAddressCount = (int)next(2) };
    snprintf(line, sizeof line, "%s %s %u %u %d", call == 0 ? "WSAConnectByNameW" : call == 1 ? "WSAConnectByNameA" : "WSAConnectByList", kinds[kind],
             no_node, no_service, list.iAddressCount);
    if (call == 0)
        TRY(line, WSAConnectByNameW(made, no_node ? NULL : L"127.0.0.1", no_service ? NULL : L"9", NULL, NULL, NULL, NULL, NULL, NULL));
    else if (call == 1)
        TRY(line, WSAConnectByNameA(made, no_node ? NULL : "127.0.0.1", no_service ? NULL : "9", NULL, NULL, NULL, NULL, NULL, NULL));
    else
        TRY(line, WSAConnectByList(made, no_node ? NULL : &list, NULL, NULL, NULL, NULL, NULL, NULL));
    unmake(kind, made);
}

int fuzz(int count, char **words)
{
    (void)count;
    unsigned short port = port_of(words[0]);
    int rounds = atoi(words[1]);
    for (int round = 0; round < rounds; round++) {
        seed = 2654435761u * (unsigned)(round + 1);
        printf("%d ", round);
        switch (next(8)) {
        case 0:
        case 1:
        case 2:
        case 3:
            connects(port);
            break;
        case 4:
            asks();
            break;
        case 5:
            options();
            break;
        case 6:
            waits();
            break;
        default:
            by_names();
        }
        fflush(stdout);
    }
    return 0;
}
