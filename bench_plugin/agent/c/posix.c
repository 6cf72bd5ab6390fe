/* The platform of the C agent on Linux: a program that serves one connected stream, an inherited descriptor.
 *
 * Its descriptor is given as --fd N, as to the agent in Python. Standard output carries no frames. */
#include "core.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUFFER 4096u

static int fd = -1;
static uint8_t outgoing[BUFFER]; /* small writes leave together */
static size_t waiting;

int bench_read(void *data, size_t size) {
    uint8_t *place = data;
    while (size) {
        ssize_t got = read(fd, place, size);
        if (got <= 0) return -1;
        place += got;
        size -= (size_t)got;
    }
    return 0;
}

static int put(const uint8_t *data, size_t size) {
    while (size) {
        ssize_t gone = write(fd, data, size);
        if (gone <= 0) return -1;
        data += gone;
        size -= (size_t)gone;
    }
    return 0;
}

int bench_flush(void) {
    size_t size = waiting;
    waiting = 0;
    return put(outgoing, size);
}

int bench_write(const void *data, size_t size) {
    if (size > BUFFER - waiting && bench_flush()) return -1;
    if (size > BUFFER) return put(data, size);
    memcpy(outgoing + waiting, data, size);
    waiting += size;
    return 0;
}

uint64_t bench_now_ns(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now)) return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The host reads sizes from the file of the program; a program on Linux has no fixed stack and no counter of its own. */
uint64_t bench_instructions(void) { return 0; }
void bench_stack_prepare(void) {}
uint64_t bench_stack_high_water(void) { return 0; }
uint64_t bench_static_ram(void) { return 0; }
uint64_t bench_flash_bytes(void) { return 0; }

/* The number that a text is; -1 for any other text. */
static int number(const char *text) {
    int value = 0;
    if (!*text) return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > 99999) return -1;
        value = value * 10 + (*text - '0');
    }
    return value;
}

int main(int count, char **texts) {
    static const char usage[] = "usage: program.elf --fd N (a connected stream socket)\n";
    if (count == 3 && strcmp(texts[1], "--fd") == 0) fd = number(texts[2]);
    if (fd < 0) {
        if (write(2, usage, sizeof usage - 1) < 0) return 3;
        return 2;
    }
    return bench_serve() == BENCH_GARBAGE ? 1 : 0;
}
