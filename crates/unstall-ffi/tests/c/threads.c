/* threads CLOSES CLOSED COUNT: with a server that closes each connection, connects COUNT times from 16 threads, every second time to the closed port, each thread
 * asking for its own results; then once from a child process. Fails if descriptors are left open, if a thread sees what
 * another did, or if memory grows with the connects. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unstall.h>

#define THREADS 16

static uint16_t open_port, closed_port;
static long count;

static int open_descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    int number = 0;
    while (readdir(folder) != NULL) {
        number++;
    }
    closedir(folder);
    return number;
}

/* In pages. */
static long resident(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long size = 0, pages = 0;
    if (fscanf(file, "%ld %ld", &size, &pages) != 2) {
        pages = -1;
    }
    fclose(file);
    return pages;
}

/* 0: as expected. */
static int once(int refused) {
    unstall_socket connected;
    unstall_status status = unstall_connect("127.0.0.1", refused ? closed_port : open_port, NULL, &connected);
    char *timeline = unstall_last_timeline();
    char *error = unstall_last_error();
    int right = timeline != NULL;
    if (refused) {
        right = right && status == UNSTALL_STATUS_REFUSED && error != NULL &&
                strstr(timeline, "\"outcome\":\"refused\"") != NULL;
    } else {
        /* The server closes first, so that its queue never fills; closed by a reset, so that no port is kept waiting. */
        struct linger at_once = {1, 0};
        char byte;
        right = right && status == UNSTALL_STATUS_OK && error == NULL && recv(connected, &byte, 1, 0) == 0 &&
                setsockopt(connected, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0 && close(connected) == 0;
    }
    if (!right) {
        fprintf(stderr, "status %d, %s, %s\n", (int)status, error, timeline);
    }
    unstall_string_free(timeline);
    unstall_string_free(error);
    return right ? 0 : 1;
}

static void *many(void *data) {
    long failures = 0, n;
    (void)data;
    for (n = 0; n < count / THREADS; n++) {
        failures += once((int)(n % 2));
    }
    return failures == 0 ? NULL : (void *)1;
}

static int all_threads(void) {
    pthread_t threads[THREADS];
    int failures = 0, n;
    for (n = 0; n < THREADS; n++) {
        pthread_create(&threads[n], NULL, many, NULL);
    }
    for (n = 0; n < THREADS; n++) {
        void *result;
        pthread_join(threads[n], &result);
        failures += result != NULL;
    }
    return failures;
}

int main(int argc, char **argv) {
    int descriptors, failures, status = 0;
    long pages, whole;
    pid_t child;

    if (argc != 4) {
        return 2;
    }
    open_port = (uint16_t)strtoul(argv[1], NULL, 10);
    closed_port = (uint16_t)strtoul(argv[2], NULL, 10);
    whole = strtol(argv[3], NULL, 10);
    /* What is allocated once, each thread's heap included, is there after a tenth of it. */
    count = whole / 10;
    failures = all_threads();
    descriptors = open_descriptors();
    pages = resident();
    count = whole;
    failures += all_threads();
    printf("descriptors %d -> %d, resident pages %ld -> %ld\n", descriptors, open_descriptors(), pages, resident());
    failures += open_descriptors() != descriptors;
    /* Heaps of threads vary by less than 1 MiB; of a leak of 21 bytes for each of 100,000 connects come 2. */
    failures += (resident() - pages) * sysconf(_SC_PAGESIZE) > 2 * 1024 * 1024;
    child = fork();
    if (child == 0) {
        _exit(once(0) + once(1));
    }
    waitpid(child, &status, 0);
    failures += status != 0;
    return failures == 0 ? 0 : 1;
}
