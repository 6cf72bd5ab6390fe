/* Fuzzes the firmware's reader of packets in one process: mutated lines, guided by which code they reach.
 *
 * uart_framing_fuzz SEEDS SECONDS SEED: SEEDS has lines, each behind its length (4 bytes, little-endian).
 * uart_framing.c is compiled with -fsanitize-coverage=trace-pc and the sanitizers of addresses and undefined behaviour,
 * which abort. What is read as a packet must be the same after it was written and read again, and the packet that
 * follows a line must be found, whatever the line was. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "uart_framing.h"

#define LONGEST 4096u
#define KEPT 4096u
#define EDGES (1u << 12)

static uint8_t seen[EDGES], now[EDGES];
static uintptr_t last;
static uint8_t kept[KEPT][LONGEST];
static size_t sizes[KEPT], count;
static uint8_t line[LONGEST];
static size_t size;
static uint64_t state, packets, refused;

__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void) {
    uintptr_t here = (uintptr_t)__builtin_return_address(0);
    now[(here ^ (last >> 1)) % EDGES] = 1;
    last = here;
}

static uint32_t drawn(uint32_t below) { /* xorshift64* (Vigna 2016) */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * 2685821657736338717ull) >> 32) % below;
}

static void append(const uint8_t *data, size_t more) {
    if (more > LONGEST - size) more = LONGEST - size;
    memcpy(line + size, data, more);
    size += more;
}

/* A payload of any length: bytes 0 alone, none at all (so that blocks are full), or any. */
static size_t draw_payload(uint8_t *payload) {
    size_t length = drawn(4) ? drawn(16) : drawn(UART_PAYLOAD + 1), i;
    unsigned kind = drawn(3);
    for (i = 0; i < length; i++) payload[i] = kind == 0 ? 0 : kind == 1 ? (uint8_t)(1 + drawn(255)) : (uint8_t)drawn(256);
    return length;
}

static void append_packet(void) {
    uint8_t payload[UART_PAYLOAD], out[UART_STUFFED];
    size_t length = draw_payload(payload);
    append(out, uart_encode(out, (uint8_t)drawn(8), (uint8_t)drawn(256), payload, length));
}

static void mutate(void) {
    static const uint8_t edges[] = {0, 1, 2, 3, 4, 8, 9, 127, 128, 253, 254, 255};
    unsigned times = 1 + drawn(6);
    while (times--) {
        size_t at = size ? drawn((uint32_t)size) : 0, length = drawn(4) ? 1 + drawn(8) : 1 + drawn(300), other;
        switch (drawn(7)) {
        case 0: if (size) line[at] ^= (uint8_t)(1u << drawn(8)); break;
        case 1: if (size) line[at] = drawn(2) ? edges[drawn(sizeof edges)] : (uint8_t)drawn(256); break;
        case 2: size = at; break;
        case 3:
            other = drawn((uint32_t)count);
            append(kept[other], sizes[other]);
            break;
        case 4: append_packet(); break;
        case 5: /* bytes are doubled */
            if (at + length <= size && size + length <= LONGEST) {
                memmove(line + at + length, line + at, size - at);
                size += length;
            }
            break;
        default: /* bytes are lost */
            if (at + length <= size) {
                memmove(line + at, line + at + length, size - at - length);
                size -= length;
            }
        }
    }
}

/* A packet that was read, written and read again. */
static void check_again(const uart_decoder *found) {
    uint8_t out[UART_STUFFED];
    uart_decoder again;
    size_t length, i;
    unsigned ended = 0;
    if (found->length > UART_PAYLOAD || found->size > UART_PACKET) abort();
    memset(&again, 0, sizeof again);
    length = uart_encode(out, found->kind, found->sequence, found->bytes + UART_HEADER, found->length);
    if (length > UART_STUFFED) abort();
    for (i = 0; i < length; i++) ended += (unsigned)uart_decode(&again, out[i]);
    if (ended != 1 || again.refused || again.kind != found->kind || again.sequence != found->sequence) abort();
    if (again.length != found->length) abort();
    if (memcmp(again.bytes + UART_HEADER, found->bytes + UART_HEADER, found->length)) abort();
}

static int execute(void) {
    uint8_t payload[UART_PAYLOAD], out[UART_STUFFED];
    uart_decoder decoder, found;
    size_t i, length, more;
    int fresh = 0, right = 0;
    memset(&decoder, 0, sizeof decoder);
    memset(now, 0, sizeof now);
    last = 0;
    for (i = 0; i < size; i++) {
        if (!uart_decode(&decoder, line[i])) continue;
        found = decoder;
        found.size = (uint16_t)(UART_HEADER + found.length + UART_SUM);
        check_again(&found);
        packets++;
    }
    more = draw_payload(payload);
    length = uart_encode(out, UART_DATA, 9, payload, more);
    for (i = 0; i < length; i++) right = uart_decode(&decoder, out[i]);
    if (!right || decoder.sequence != 9 || decoder.length != more) abort();
    if (memcmp(decoder.bytes + UART_HEADER, payload, more)) abort();
    refused += decoder.refused;
    for (i = 0; i < EDGES; i++)
        if (now[i] && !seen[i]) seen[i] = 1, fresh = 1;
    return fresh;
}

static void keep(void) {
    if (count == KEPT) return;
    memcpy(kept[count], line, size);
    sizes[count++] = size;
}

int main(int argc, char **argv) {
    FILE *file = argc == 4 ? fopen(argv[1], "rb") : NULL;
    uint64_t executions = 0;
    unsigned edges = 0, i;
    time_t until;
    uint32_t length;
    if (!file) return fprintf(stderr, "usage: uart_framing_fuzz SEEDS SECONDS SEED\n"), 2;
    state = strtoull(argv[3], NULL, 10) * 2 + 1;
    while (fread(&length, 4, 1, file) == 1 && length <= LONGEST && fread(line, 1, length, file) == length) {
        size = length;
        execute();
        keep();
    }
    fclose(file);
    until = time(NULL) + atoi(argv[2]);
    do {
        for (i = 0; i < 1000; i++, executions++) {
            size_t chosen = drawn((uint32_t)count);
            size = sizes[chosen];
            memcpy(line, kept[chosen], size);
            mutate();
            if (execute()) keep();
        }
    } while (time(NULL) < until);
    for (i = 0; i < EDGES; i++) edges += seen[i];
    printf("{\"executions\": %llu, \"kept\": %zu, \"edges\": %u, \"packets\": %llu, \"refused\": %llu}\n",
           (unsigned long long)executions, count, edges, (unsigned long long)packets, (unsigned long long)refused);
    return 0;
}
