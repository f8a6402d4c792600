/* The client: which mode, and what all modes need. */
#include "client.h"

const char *const family_names[FAMILIES] = { "v4", "v6", "mapped" };

int domain_of(enum family family)
{
    return family == V4 ? AF_INET : AF_INET6;
}

struct target target_of(enum family family, unsigned short port)
{
    struct target target = { .family = family, .port = port };
    if (family == V4) {
        struct sockaddr_in *in = (struct sockaddr_in *)&target.address;
        in->sin_family = AF_INET;
        in->sin_port = htons(port);
        in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        target.length = sizeof *in;
    } else {
        static const unsigned char mapped[16] = { [10] = 0xFF, [11] = 0xFF, [12] = 127, [15] = 1 };
        static const unsigned char loopback[16] = { [15] = 1 };
        struct sockaddr_in6 *in = (struct sockaddr_in6 *)&target.address;
        in->sin6_family = AF_INET6;
        in->sin6_port = htons(port);
        memcpy(&in->sin6_addr, family == V6 ? loopback : mapped, sizeof loopback);
        target.length = sizeof *in;
    }
    return target;
}

SOCKET new_socket(enum family family)
{
    SOCKET made = WSASocketW(domain_of(family), SOCK_STREAM, IPPROTO_TCP, NULL, 0, WSA_FLAG_OVERLAPPED);
    if (family == MAPPED) {
        DWORD off = 0;
        setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, (char *)&off, sizeof off);
    }
    return made;
}

void set_nonblocking(SOCKET socket)
{
    u_long on = 1;
    ioctlsocket(socket, FIONBIO, &on);
}

LPFN_CONNECTEX connect_ex_of(SOCKET socket)
{
    GUID guid = WSAID_CONNECTEX;
    LPFN_CONNECTEX found = NULL;
    DWORD bytes = 0;
    WSAIoctl(socket, SIO_GET_EXTENSION_FUNCTION_POINTER, &guid, sizeof guid, &found, sizeof found, &bytes, NULL, NULL);
    return found;
}

int bind_any(SOCKET socket, enum family family)
{
    struct sockaddr_storage any = { .ss_family = (short)domain_of(family) };
    return bind(socket, (struct sockaddr *)&any, family == V4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
}

__thread void **volatile on_fault;
__thread DWORD fault_code;

static LONG CALLBACK fault(EXCEPTION_POINTERS *pointers)
{
    DWORD code = pointers->ExceptionRecord->ExceptionCode;
    void **to = on_fault;
    if (!to || (code != EXCEPTION_ACCESS_VIOLATION && code != WINE_STUB))
        return EXCEPTION_CONTINUE_SEARCH;
    on_fault = NULL;
    fault_code = code;
    __builtin_longjmp(to, 1);
}

void guard_faults(void)
{
    AddVectoredExceptionHandler(1, fault);
}

double now_us(void)
{
    static LARGE_INTEGER frequency;
    LARGE_INTEGER counter;
    if (!frequency.QuadPart)
        QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&counter);
    return counter.QuadPart * 1e6 / frequency.QuadPart;
}

int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

unsigned short port_of(const char *text)
{
    return (unsigned short)atoi(text);
}

int main(int count, char **words)
{
    static const struct { const char *name; int least; int (*run)(int, char **); } modes[] = {
        { "apis", 3, apis },       { "one", 2, one },           { "named", 1, named },   { "many", 4, many },
        { "burst", 3, burst },     { "so-error", 3, so_error }, { "overhead", 3, overhead }, { "fuzz", 2, fuzz },
        { "children", 1, children },
    };
    WSADATA data;
    setvbuf(stdout, NULL, _IOFBF, 65536);
    if (WSAStartup(MAKEWORD(2, 2), &data)) {
        fprintf(stderr, "no Winsock\n");
        return 125;
    }
    guard_faults();
    for (size_t i = 0; count > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(words[1], modes[i].name) && count - 2 >= modes[i].least) {
            int code = modes[i].run(count - 2, words + 2);
            fflush(stdout);
            return code;
        }
    fprintf(stderr, "usage: client MODE ARGUMENT...; the modes are at the head of each file\n");
    return 2;
}
