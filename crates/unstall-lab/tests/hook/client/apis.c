/* `apis CLOSED OPEN serial|parallel`: each way to connect, each family, a closed and an open port; what it came to, its code, what the
   socket says afterwards, and as the last word of each line the milliseconds.
   `one API FAMILY PORT`... : the same for one.
   `named PORT`: `localhost` by getaddrinfo, then one address after another, and 127.0.0.1; microseconds of each, median of nine. */
#include "client.h"

#define ROOM 160

/* What a connect came to: a code of Winsock's, and whatever else that API tells. */
struct result {
    int code;
    char more[ROOM];
};

typedef struct result (*api)(SOCKET socket, const struct target *target);

static int failed(int returned)
{
    return returned ? WSAGetLastError() : 0;
}

static int so_error_of(SOCKET socket)
{
    int value = -1, length = sizeof value;
    int code = failed(getsockopt(socket, SOL_SOCKET, SO_ERROR, (char *)&value, &length));
    return code ? code : value;
}

static struct result by_connect(SOCKET socket, const struct target *target)
{
    struct result result = { 0 };
    result.code = failed(connect(socket, (const struct sockaddr *)&target->address, target->length));
    return result;
}

static struct result by_wsa_connect(SOCKET socket, const struct target *target)
{
    struct result result = { 0 };
    result.code = failed(WSAConnect(socket, (const struct sockaddr *)&target->address, target->length, NULL, NULL, NULL, NULL));
    return result;
}

/* Begins a connect that must not wait. 0: it goes on. */
static int begin(SOCKET socket, const struct target *target, struct result *result)
{
    result->code = failed(connect(socket, (const struct sockaddr *)&target->address, target->length));
    return result->code && result->code != WSAEWOULDBLOCK;
}

static struct result by_select(SOCKET socket, const struct target *target)
{
    struct result result = { 0 };
    set_nonblocking(socket);
    if (begin(socket, target, &result))
        return result;
    fd_set writes, fails;
    FD_ZERO(&writes);
    FD_ZERO(&fails);
    FD_SET(socket, &writes);
    FD_SET(socket, &fails);
    struct timeval limit = { LIMIT_MS / 1000, 0 };
    int ready = select(0, NULL, &writes, &fails, &limit);
    int first = so_error_of(socket), second = so_error_of(socket);
    result.code = first;
    snprintf(result.more, ROOM, "select=%d w=%d x=%d then=%d", ready, !!FD_ISSET(socket, &writes), !!FD_ISSET(socket, &fails), second);
    return result;
}

/* As PHP and many C programs do it: the failure is read by connecting again. */
static struct result by_connect_again(SOCKET socket, const struct target *target)
{
    struct result result = { 0 };
    set_nonblocking(socket);
    if (begin(socket, target, &result))
        return result;
    fd_set writes, fails;
    FD_ZERO(&writes);
    FD_ZERO(&fails);
    FD_SET(socket, &writes);
    FD_SET(socket, &fails);
    struct timeval limit = { LIMIT_MS / 1000, 0 };
    int ready = select(0, NULL, &writes, &fails, &limit);
    int is_connected = FD_ISSET(socket, &writes);
    result.code = failed(connect(socket, (const struct sockaddr *)&target->address, target->length));
    snprintf(result.more, ROOM, "select=%d w=%d", ready, !!is_connected);
    /* Connecting a socket anew that was refused begins a new connect; which code that gives is Winsock's affair. */
    if (is_connected && result.code == WSAEISCONN)
        result.code = 0;
    return result;
}

static struct result by_poll(SOCKET socket, const struct target *target)
{
    struct result result = { 0 };
    set_nonblocking(socket);
    if (begin(socket, target, &result))
        return result;
    WSAPOLLFD poll = { .fd = socket, .events = POLLOUT };
    int ready = WSAPoll(&poll, 1, LIMIT_MS);
    result.code = so_error_of(socket);
    snprintf(result.more, ROOM, "poll=%d events=0x%x", ready, poll.revents);
    return result;
}

static struct result by_event_select(SOCKET socket, const struct target *target)
{
    struct result result = { 0 };
    WSAEVENT event = WSACreateEvent();
    WSAEventSelect(socket, event, FD_CONNECT | FD_WRITE | FD_CLOSE);
    if (begin(socket, target, &result)) {
        WSACloseEvent(event);
        return result;
    }
    WSANETWORKEVENTS events = { 0 };
    DWORD waited = WSAWaitForMultipleEvents(1, &event, TRUE, LIMIT_MS, FALSE);
    WSAEnumNetworkEvents(socket, event, &events);
    result.code = events.iErrorCode[FD_CONNECT_BIT];
    snprintf(result.more, ROOM, "waited=%lu connect=%d error=%d", waited, !!(events.lNetworkEvents & FD_CONNECT), so_error_of(socket));
    WSACloseEvent(event);
    return result;
}

static struct result by_async_select(SOCKET socket, const struct target *target)
{
    struct result result = { 0 };
    HWND window = CreateWindowExW(0, L"STATIC", L"", 0, 0, 0, 0, 0, HWND_MESSAGE, NULL, NULL, NULL);
    UINT_PTR timer = SetTimer(window, 1, LIMIT_MS, NULL);
    MSG message = { 0 };
    WSAAsyncSelect(socket, window, WM_APP, FD_CONNECT);
    if (!begin(socket, target, &result)) {
        while (GetMessageW(&message, window, 0, 0) > 0 && message.message != WM_APP && message.message != WM_TIMER)
            DispatchMessageW(&message);
        result.code = message.message == WM_APP ? WSAGETSELECTERROR(message.lParam) : WSAETIMEDOUT;
        snprintf(result.more, ROOM, "event=%d error=%d", (int)WSAGETSELECTEVENT(message.lParam), so_error_of(socket));
    }
    KillTimer(window, timer);
    DestroyWindow(window);
    return result;
}

/* Begins ConnectEx. Nonzero: it has failed at once. */
static int begin_ex(SOCKET socket, const struct target *target, OVERLAPPED *overlapped, struct result *result)
{
    LPFN_CONNECTEX connect_ex = connect_ex_of(socket);
    bind_any(socket, target->family);
    if (!connect_ex) {
        result->code = WSAEOPNOTSUPP;
        return 1;
    }
    BOOL done = connect_ex(socket, (const struct sockaddr *)&target->address, target->length, NULL, 0, NULL, overlapped);
    result->code = done ? 0 : WSAGetLastError();
    return !done && result->code != ERROR_IO_PENDING;
}

static struct result by_ex_event(SOCKET socket, const struct target *target)
{
    struct result result = { 0 };
    OVERLAPPED overlapped = { .hEvent = CreateEventW(NULL, TRUE, FALSE, NULL) };
    if (!begin_ex(socket, target, &overlapped, &result)) {
        DWORD bytes = 0, flags = 0;
        BOOL done = WSAGetOverlappedResult(socket, &overlapped, &bytes, TRUE, &flags);
        result.code = done ? 0 : WSAGetLastError();
        int updated = failed(setsockopt(socket, SOL_SOCKET, SO_UPDATE_CONNECT_CONTEXT, NULL, 0));
        snprintf(result.more, ROOM, "status=0x%08lx bytes=%lu updated=%d", (unsigned long)overlapped.Internal, bytes, updated);
    }
    CloseHandle(overlapped.hEvent);
    return result;
}

static struct result by_ex_port(SOCKET socket, const struct target *target)
{
    struct result result = { 0 };
    OVERLAPPED overlapped = { 0 };
    HANDLE port = CreateIoCompletionPort((HANDLE)socket, NULL, 42, 1);
    if (!begin_ex(socket, target, &overlapped, &result)) {
        DWORD bytes = 0;
        ULONG_PTR key = 0;
        OVERLAPPED *which = NULL;
        BOOL done = GetQueuedCompletionStatus(port, &bytes, &key, &which, LIMIT_MS);
        result.code = done ? 0 : (int)GetLastError();
        snprintf(result.more, ROOM, "status=0x%08lx key=%d same=%d", (unsigned long)overlapped.Internal, (int)key, which == &overlapped);
    }
    CloseHandle(port);
    return result;
}

/* The pointer that a socket of the other family was given: one function for all of a provider's sockets, or several. */
static struct result by_other_pointer(SOCKET socket, const struct target *target)
{
    struct result result = { 0 };
    SOCKET other = new_socket(target->family == V4 ? V6 : V4);
    LPFN_CONNECTEX connect_ex = connect_ex_of(other);
    OVERLAPPED overlapped = { .hEvent = CreateEventW(NULL, TRUE, FALSE, NULL) };
    bind_any(socket, target->family);
    BOOL done = connect_ex(socket, (const struct sockaddr *)&target->address, target->length, NULL, 0, NULL, &overlapped);
    if (!done && WSAGetLastError() == ERROR_IO_PENDING) {
        DWORD bytes = 0, flags = 0;
        done = WSAGetOverlappedResult(socket, &overlapped, &bytes, TRUE, &flags);
    }
    result.code = done ? 0 : WSAGetLastError();
    closesocket(other);
    CloseHandle(overlapped.hEvent);
    return result;
}

static const wchar_t *const names_w[FAMILIES] = { L"127.0.0.1", L"::1", L"::ffff:127.0.0.1" };
static char *const names_a[FAMILIES] = { "127.0.0.1", "::1", "::ffff:127.0.0.1" };

static struct result by_name_w(SOCKET socket, const struct target *target)
{
    struct result result = { 0 };
    wchar_t port[8];
    _snwprintf(port, 8, L"%u", target->port);
    BOOL done = WSAConnectByNameW(socket, (LPWSTR)names_w[target->family], port, NULL, NULL, NULL, NULL, NULL, NULL);
    result.code = done ? 0 : WSAGetLastError();
    return result;
}

static struct result by_name_a(SOCKET socket, const struct target *target)
{
    struct result result = { 0 };
    char port[8];
    snprintf(port, sizeof port, "%u", target->port);
    BOOL done = WSAConnectByNameA(socket, names_a[target->family], port, NULL, NULL, NULL, NULL, NULL, NULL);
    result.code = done ? 0 : WSAGetLastError();
    return result;
}

static struct result by_list(SOCKET socket, const struct target *target)
{
    struct result result = { 0 };
    struct target copy = *target;
    SOCKET_ADDRESS_LIST list = { .iAddressCount = 1 };
    list.Address[0].lpSockaddr = (struct sockaddr *)&copy.address;
    list.Address[0].iSockaddrLength = copy.length;
    void *back[8];
    on_fault = back;
    if (__builtin_setjmp(back)) {
        snprintf(result.more, ROOM, "this system does not have it");
        result.code = WSAEOPNOTSUPP;
        return result;
    }
    BOOL done = WSAConnectByList(socket, &list, NULL, NULL, NULL, NULL, NULL, NULL);
    on_fault = NULL;
    result.code = done ? 0 : WSAGetLastError();
    return result;
}

static const struct { const char *name; api connect; } table[] = {
    { "connect", by_connect },           { "WSAConnect", by_wsa_connect },       { "select", by_select },
    { "connect-again", by_connect_again }, { "WSAPoll", by_poll },               { "WSAEventSelect", by_event_select },
    { "WSAAsyncSelect", by_async_select }, { "ConnectEx-event", by_ex_event },   { "ConnectEx-IOCP", by_ex_port },
    { "ConnectEx-other", by_other_pointer }, { "WSAConnectByNameW", by_name_w }, { "WSAConnectByNameA", by_name_a },
    { "WSAConnectByList", by_list },
};
#define APIS (sizeof table / sizeof *table)

struct job {
    size_t api;
    struct target target;
    const char *state;
    char line[2 * ROOM];
};

static DWORD WINAPI run_job(void *given)
{
    struct job *job = given;
    SOCKET socket = new_socket(job->target.family);
    double began = now_us();
    struct result result = table[job->api].connect(socket, &job->target);
    double took = now_us() - began;
    struct sockaddr_storage peer;
    int length = sizeof peer;
    int peer_code = failed(getpeername(socket, (struct sockaddr *)&peer, &length));
    int closed = failed(closesocket(socket));
    snprintf(job->line, sizeof job->line, "%s\t%s\t%s\t%s\t%d\t%s\tpeer=%d closed=%d\t%.3f", table[job->api].name,
             family_names[job->target.family], job->state, result.code ? "failed" : "connected", result.code, result.more, peer_code,
             closed, took / 1000);
    return 0;
}

static void run_all(struct job *jobs, size_t count, int parallel)
{
    HANDLE threads[APIS * FAMILIES * 2];
    for (size_t i = 0; i < count; i++)
        if (parallel)
            threads[i] = CreateThread(NULL, 0, run_job, &jobs[i], 0, NULL);
        else
            run_job(&jobs[i]);
    for (size_t i = 0; parallel && i < count; i++) {
        WaitForSingleObject(threads[i], INFINITE);
        CloseHandle(threads[i]);
    }
    for (size_t i = 0; i < count; i++)
        puts(jobs[i].line);
}

int apis(int count, char **words)
{
    (void)count;
    static struct job jobs[APIS * FAMILIES * 2];
    size_t made = 0;
    for (int open = 0; open < 2; open++)
        for (int family = 0; family < FAMILIES; family++)
            for (size_t i = 0; i < APIS; i++)
                jobs[made++] = (struct job){ .api = i, .target = target_of(family, port_of(words[open])), .state = open ? "open" : "closed" };
    /* The first connect of a program loads what later ones find loaded, and its first window a desktop. */
    for (size_t i = 0; i < APIS; i++) {
        struct job warm_up = { .api = i, .target = target_of(V4, port_of(words[1])), .state = "warm-up" };
        run_job(&warm_up);
    }
    run_all(jobs, made, !strcmp(words[2], "parallel"));
    return 0;
}

int one(int count, char **words)
{
    for (size_t i = 0; i < APIS; i++)
        if (!strcmp(table[i].name, words[0])) {
            struct job job = { .api = i, .target = target_of(V4, port_of(words[1])), .state = count > 2 ? words[2] : "one" };
            run_job(&job);
            puts(job.line);
            return 0;
        }
    fprintf(stderr, "no such API: %s\n", words[0]);
    return 2;
}

/* One connect by name, one address after the other as most programs do; microseconds, or -1. */
static double connect_named(const char *name, const char *port)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    double began = now_us(), took = -1;
    if (getaddrinfo(name, port, &hints, &found))
        return -1;
    for (struct addrinfo *each = found; each && took < 0; each = each->ai_next) {
        SOCKET made = socket(each->ai_family, SOCK_STREAM, IPPROTO_TCP);
        if (!connect(made, each->ai_addr, (int)each->ai_addrlen))
            took = now_us() - began;
        closesocket(made);
    }
    freeaddrinfo(found);
    return took;
}

int named(int count, char **words)
{
    static const char *const names[] = { "127.0.0.1", "localhost" };
    int rounds = count > 1 ? atoi(words[1]) : 9;
    for (int i = 0; i < 2; i++) {
        double took[64];
        for (int round = 0; round < rounds && round < 64; round++)
            took[round] = connect_named(names[i], words[0]);
        qsort(took, rounds, sizeof *took, compare_doubles);
        printf("%s\t%.1f\n", names[i], took[rounds / 2]);
    }
    return 0;
}
