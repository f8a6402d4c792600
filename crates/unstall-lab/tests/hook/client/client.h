/* What the parts of the client share. It is built for 64 and 32 bit and connects in every way that Winsock has. */
#ifndef CLIENT_H
#define CLIENT_H

#define _WIN32_WINNT 0x0A00
#define WIN32_LEAN_AND_MEAN
#include <winsock2.h>
#include <ws2tcpip.h>
#include <mswsock.h>
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long anything waits for the end of a connect: far longer than Windows goes on. */
#define LIMIT_MS 15000

enum family { V4, V6, MAPPED, FAMILIES };
extern const char *const family_names[FAMILIES];

/* An address of this host, as the family writes it. */
struct target {
    enum family family;
    unsigned short port;
    struct sockaddr_storage address;
    int length;
};

struct target target_of(enum family family, unsigned short port);

/* AF_INET or AF_INET6; mapped addresses need an IPv6 socket of both families. */
int domain_of(enum family family);
SOCKET new_socket(enum family family);
void set_nonblocking(SOCKET socket);

/* ConnectEx as WSAIoctl hands it out for this socket; NULL: it does not. */
LPFN_CONNECTEX connect_ex_of(SOCKET socket);
/* ConnectEx wants a bound socket. */
int bind_any(SOCKET socket, enum family family);

double now_us(void);
int compare_doubles(const void *left, const void *right);
unsigned short port_of(const char *text);

/* Calls what may read where nothing is, or be missing from Wine; then the program goes on behind `__builtin_setjmp`. */
extern __thread void **volatile on_fault;
extern __thread DWORD fault_code;
/* The exception of a function that Wine has by name alone. */
#define WINE_STUB 0x80000100
void guard_faults(void);

/* The modes. Each prints lines of words between tabs, and returns the exit code. */
int apis(int count, char **words);
int one(int count, char **words);
int named(int count, char **words);
int many(int count, char **words);
int burst(int count, char **words);
int so_error(int count, char **words);
int overhead(int count, char **words);
int fuzz(int count, char **words);
int children(int count, char **words);

#endif
