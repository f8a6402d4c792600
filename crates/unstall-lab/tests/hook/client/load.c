/* `many CLOSED OPEN THREADS COUNT`: COUNT refusals from THREADS threads, every tenth beside a connect to a live server with an exchange;
   what came out wrong, and how many handles are left.
   `burst API PORT COUNT`: COUNT connects at once; a line for each outcome, and the slowest.
   `so-error PORT CLOSED COUNT`: select with and without SO_ERROR after it.
   `overhead PORT CLOSED COUNT`: microseconds of connects that need no help. */
#include "client.h"

#define MOST 512

struct share {
    unsigned short closed, open;
    int count;
    int refused, connected, wrong, first_wrong;
};

static SOCKET connect_once(enum family family, unsigned short port, int way, int *code)
{
    struct target target = target_of(family, port);
    SOCKET made = new_socket(family);
    const struct sockaddr *address = (const struct sockaddr *)&target.address;
    *code = 0;
    if (way == 0) {
        *code = connect(made, address, target.length) ? WSAGetLastError() : 0;
    } else if (way == 1) {
        set_nonblocking(made);
        if (connect(made, address, target.length) && (*code = WSAGetLastError()) == WSAEWOULDBLOCK) {
            fd_set writes, fails;
            FD_ZERO(&writes);
            FD_ZERO(&fails);
            FD_SET(made, &writes);
            FD_SET(made, &fails);
            struct timeval limit = { LIMIT_MS / 1000, 0 };
            int length = sizeof *code;
            if (select(0, NULL, &writes, &fails, &limit) != 1)
                *code = WSAETIMEDOUT;
            else
                getsockopt(made, SOL_SOCKET, SO_ERROR, (char *)code, &length);
            u_long off = 0;
            ioctlsocket(made, FIONBIO, &off);
        }
    } else {
        OVERLAPPED overlapped = { .hEvent = CreateEventW(NULL, TRUE, FALSE, NULL) };
        DWORD bytes = 0, flags = 0;
        bind_any(made, family);
        BOOL done = connect_ex_of(made)(made, address, target.length, NULL, 0, NULL, &overlapped);
        if (!done && WSAGetLastError() == ERROR_IO_PENDING)
            done = WSAGetOverlappedResult(made, &overlapped, &bytes, TRUE, &flags);
        *code = done ? 0 : WSAGetLastError();
        if (done)
            setsockopt(made, SOL_SOCKET, SO_UPDATE_CONNECT_CONTEXT, NULL, 0);
        CloseHandle(overlapped.hEvent);
    }
    return made;
}

static int is_answered(SOCKET socket)
{
    char letter = 'x';
    return send(socket, &letter, 1, 0) == 1 && recv(socket, &letter, 1, 0) == 1 && letter == 'x';
}

static DWORD WINAPI run_share(void *given)
{
    struct share *share = given;
    for (int i = 0; i < share->count; i++) {
        enum family family = i % FAMILIES;
        int code;
        closesocket(connect_once(family, share->closed, i / FAMILIES % 3, &code));
        if (code == WSAECONNREFUSED)
            share->refused++;
        else if (share->wrong++ == 0)
            share->first_wrong = code;
        if (i % 10)
            continue;
        SOCKET live = connect_once(V4, share->open, i / 10 % 3, &code);
        if (!code && is_answered(live))
            share->connected++;
        else if (share->wrong++ == 0)
            share->first_wrong = code ? code : WSAGetLastError();
        closesocket(live);
    }
    return 0;
}

static void run_shares(struct share *shares, int threads)
{
    HANDLE handles[MOST];
    for (int i = 0; i < threads; i++)
        handles[i] = CreateThread(NULL, 0, run_share, &shares[i], 0, NULL);
    for (int i = 0; i < threads; i++) {
        WaitForSingleObject(handles[i], INFINITE);
        CloseHandle(handles[i]);
    }
}

int many(int count, char **words)
{
    (void)count;
    int threads = atoi(words[2]), all = atoi(words[3]), refused = 0, connected = 0, wrong = 0, first_wrong = 0;
    static struct share shares[MOST];
    DWORD before = 0, after = 0;
    /* What threads and Winsock keep for good is kept before it is counted. */
    for (int i = 0; i < threads; i++)
        shares[i] = (struct share){ .closed = port_of(words[0]), .open = port_of(words[1]), .count = 3 * FAMILIES };
    run_shares(shares, threads);
    GetProcessHandleCount(GetCurrentProcess(), &before);
    for (int i = 0; i < threads; i++)
        shares[i] = (struct share){ .closed = port_of(words[0]), .open = port_of(words[1]), .count = all / threads };
    double began = now_us();
    run_shares(shares, threads);
    double took = now_us() - began;
    /* A closed socket's last work may be under way. */
    for (int i = 0; i < 50; i++) {
        GetProcessHandleCount(GetCurrentProcess(), &after);
        if (after <= before)
            break;
        Sleep(20);
    }
    for (int i = 0; i < threads; i++) {
        refused += shares[i].refused;
        connected += shares[i].connected;
        wrong += shares[i].wrong;
        if (shares[i].first_wrong && !first_wrong)
            first_wrong = shares[i].first_wrong;
    }
    printf("refused\t%d\nconnected\t%d\nwrong\t%d\nfirst-wrong\t%d\nhandles\t%d\nms\t%.0f\n", refused, connected, wrong, first_wrong,
           (int)(after - before), took / 1000);
    return 0;
}

struct guest {
    HANDLE start;
    unsigned short port;
    int way, code;
    double took;
    SOCKET socket;
};

static DWORD WINAPI run_guest(void *given)
{
    struct guest *guest = given;
    WaitForSingleObject(guest->start, INFINITE);
    double began = now_us();
    guest->socket = connect_once(V4, guest->port, guest->way, &guest->code);
    guest->took = now_us() - began;
    return 0;
}

int burst(int count, char **words)
{
    (void)count;
    static struct guest guests[MOST];
    static HANDLE handles[MOST];
    int way = !strcmp(words[0], "connect") ? 0 : !strcmp(words[0], "select") ? 1 : 2, all = atoi(words[2]);
    HANDLE start = CreateEventW(NULL, TRUE, FALSE, NULL);
    int connected = 0, refused = 0, other = 0, code = 0;
    double slowest = 0;
    for (int i = 0; i < all && i < MOST; i++) {
        guests[i] = (struct guest){ .start = start, .port = port_of(words[1]), .way = way };
        handles[i] = CreateThread(NULL, 65536, run_guest, &guests[i], STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    }
    SetEvent(start);
    for (int i = 0; i < all && i < MOST; i++) {
        WaitForSingleObject(handles[i], INFINITE);
        connected += guests[i].code == 0;
        refused += guests[i].code == WSAECONNREFUSED;
        other += guests[i].code && guests[i].code != WSAECONNREFUSED;
        if (guests[i].code && guests[i].code != WSAECONNREFUSED)
            code = guests[i].code;
        if (guests[i].took > slowest)
            slowest = guests[i].took;
    }
    printf("connected\t%d\nrefused\t%d\nother\t%d\ncode\t%d\nslowest-ms\t%.1f\n", connected, refused, other, code, slowest / 1000);
    return 0;
}

/* One connect as programs with select do it. Microseconds to the end of what they do; the code if `asks`. */
static double by_select(unsigned short port, int asks, int *code)
{
    struct target target = target_of(V4, port);
    SOCKET made = new_socket(V4);
    set_nonblocking(made);
    fd_set writes, fails;
    FD_ZERO(&writes);
    FD_ZERO(&fails);
    FD_SET(made, &writes);
    FD_SET(made, &fails);
    struct timeval limit = { LIMIT_MS / 1000, 0 };
    int length = sizeof *code;
    double began = now_us();
    connect(made, (const struct sockaddr *)&target.address, target.length);
    select(0, NULL, &writes, &fails, &limit);
    *code = -1;
    if (asks)
        getsockopt(made, SOL_SOCKET, SO_ERROR, (char *)code, &length);
    double took = now_us() - began;
    closesocket(made);
    return took;
}

int so_error(int count, char **words)
{
    (void)count;
    static double took[2][4096];
    int all = atoi(words[2]), wrong = 0, code;
    for (int i = 0; i < all && i < 4096; i++) {
        took[0][i] = by_select(port_of(words[0]), 0, &code);
        took[1][i] = by_select(port_of(words[0]), 1, &code);
        wrong += code != 0;
    }
    for (int asks = 0; asks < 2; asks++) {
        qsort(took[asks], all, sizeof **took, compare_doubles);
        printf("%s\t%.1f\t%.1f\n", asks ? "select+SO_ERROR" : "select", took[asks][all / 2], took[asks][all * 95 / 100]);
    }
    int wrong_refusals = 0;
    for (int i = 0; i < 10; i++) {
        by_select(port_of(words[1]), 1, &code);
        wrong_refusals += code != WSAECONNREFUSED;
    }
    printf("wrong\t%d\nwrong-refusals\t%d\n", wrong, wrong_refusals);
    return 0;
}

/* `overhead` prints, for each API, the connect that succeeds and the call that needs no help: one that fails for its arguments before
   any packet, so that what a hook adds is not lost beside the connect. */
int overhead(int count, char **words)
{
    (void)count;
    static double took[65536];
    int all = atoi(words[2]);
    int code;
    for (int way = 0; way < 3; way++) {
        static const char *const names[] = { "connect", "select", "ConnectEx" };
        for (int i = 0; i < all && i < 65536; i++) {
            double began = now_us();
            SOCKET made = connect_once(V4, port_of(words[0]), way, &code);
            took[i] = now_us() - began;
            closesocket(made);
        }
        qsort(took, all, sizeof *took, compare_doubles);
        printf("%s\t%.2f\n", names[way], took[all / 2]);
    }
    /* Not local and not reachable from here: Winsock fails at once, and a hook has nothing to do. */
    struct sockaddr_in away = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(0xC6336401) };
    SOCKET made = new_socket(V4);
    for (int i = 0; i < all && i < 65536; i++) {
        double began = now_us();
        connect(made, (struct sockaddr *)&away, sizeof away);
        took[i] = now_us() - began;
    }
    qsort(took, all, sizeof *took, compare_doubles);
    printf("not-local\t%.2f\n", took[all / 2]);
    closesocket(made);
    return 0;
}
