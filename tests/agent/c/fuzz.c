/* Fuzzes the C agent in one process: mutated frames go into bench_serve, guided by which code they reach.
 *
 * fuzz SEEDS SECONDS SEED: SEEDS has inputs, each behind its length (4 bytes, little-endian). core.c is compiled with
 * -fsanitize-coverage=trace-pc and the sanitizers of addresses and undefined behaviour, which abort. Every byte that is
 * written must belong to a whole, valid frame, and no more is read than there is. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core.h"

#define LONGEST 4096u
#define KEPT 4096u
#define EDGES (1u << 12) /* the core has some hundreds */

static float values[2][3];
static int32_t number[1];
static uint8_t bytes[5];
static double result[4];
const bench_tensor bench_inputs[] = {
    {10, 2, {2, 3}, sizeof values, values}, {6, 1, {1}, sizeof number, number}, {1, 3, {5, 1, 1}, sizeof bytes, bytes}};
const bench_tensor bench_outputs[] = {{11, 1, {4}, sizeof result, result}};
const uint16_t bench_input_count = 3, bench_output_count = 1;
const uint8_t bench_model_digest[32] = {1, 2, 3, 4};
const char bench_about[] = "{\"machine\":\"fuzz\"}";

static uint8_t seen[EDGES], now[EDGES];
static uintptr_t last;
static uint8_t kept[KEPT][LONGEST];
static size_t sizes[KEPT], count;
static uint8_t input[LONGEST], output[1 << 16];
static size_t input_size, input_at, output_size;
static uint64_t state, runs_of_model;

__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void) {
    uintptr_t here = (uintptr_t)__builtin_return_address(0);
    now[(here ^ (last >> 1)) % EDGES] = 1;
    last = here;
}

void bench_model(void) {
    runs_of_model++;
    result[0] = values[1][2] + number[0] + bytes[4];
}

int bench_read(void *data, size_t size) {
    if (size > input_size - input_at) {
        input_at = input_size;
        return -1;
    }
    memcpy(data, input + input_at, size);
    input_at += size;
    return 0;
}

int bench_write(const void *data, size_t size) {
    if (size > sizeof output - output_size) return -1;
    memcpy(output + output_size, data, size);
    output_size += size;
    return 0;
}

int bench_flush(void) { return 0; }
uint64_t bench_now_ns(void) { return 0; }
uint64_t bench_instructions(void) { return 0; }
void bench_stack_prepare(void) {}
uint64_t bench_stack_high_water(void) { return 0; }
uint64_t bench_static_ram(void) { return 0; }
uint64_t bench_flash_bytes(void) { return 0; }

static uint32_t drawn(uint32_t below) { /* xorshift64* (Vigna 2016) */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * 2685821657736338717ull) >> 32) % below;
}

static void mutate(void) {
    static const uint64_t edges[] = {0, 1, 7, 8, 9, 15, 16, 20, 21, 31, 32, 48, 127, 128, 255, 256, 4096, 4097, 65535,
        4194304, 4194305, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x800000000, 0x800000001, UINT64_MAX};
    unsigned times = 1 + drawn(6);
    while (times--) {
        size_t at = input_size ? drawn((uint32_t)input_size) : 0;
        uint64_t value = edges[drawn(sizeof edges / sizeof *edges)];
        size_t width = (size_t)1 << drawn(4), other, length;
        switch (drawn(7)) {
        case 0: if (input_size) input[at] ^= (uint8_t)(1u << drawn(8)); break;
        case 1: if (input_size) input[at] = (uint8_t)drawn(256); break;
        case 2: if (at + width <= input_size) memcpy(input + at, &value, width); break;
        case 3: input_size = at; break;
        case 4: /* another input follows */
            other = drawn((uint32_t)count);
            length = sizes[other] < LONGEST - input_size ? sizes[other] : LONGEST - input_size;
            memcpy(input + input_size, kept[other], length);
            input_size += length;
            break;
        case 5: /* a part is doubled */
            length = drawn(64) + 1;
            if (at + length <= input_size && input_size + length <= LONGEST) {
                memmove(input + at + length, input + at, input_size - at);
                input_size += length;
            }
            break;
        default: /* a part is left out */
            length = drawn(64) + 1;
            if (at + length <= input_size) {
                memmove(input + at, input + at + length, input_size - at - length);
                input_size -= length;
            }
        }
    }
}

/* Every answer must be a frame of a kind that an agent sends. */
static void check_answers(void) {
    size_t at = 0;
    while (at < output_size) {
        bench_head head;
        if (output_size - at < BENCH_HEADER || bench_decode_header(output + at, &head)) abort();
        if (head.kind != BENCH_HELLO && head.kind != BENCH_RESULT && head.kind != BENCH_ERROR) abort();
        if (head.total > output_size - at - BENCH_HEADER) abort();
        at += BENCH_HEADER + (size_t)head.total;
    }
}

static int execute(void) {
    int fresh = 0;
    unsigned i;
    input_at = output_size = 0;
    last = 0;
    memset(now, 0, sizeof now);
    bench_serve();
    check_answers();
    for (i = 0; i < EDGES; i++)
        if (now[i] && !seen[i]) seen[i] = 1, fresh = 1;
    return fresh;
}

static void keep(void) {
    if (count == KEPT) return;
    memcpy(kept[count], input, input_size);
    sizes[count++] = input_size;
}

int main(int argc, char **argv) {
    FILE *file = argc == 4 ? fopen(argv[1], "rb") : NULL;
    uint64_t executions = 0;
    unsigned edges = 0, i;
    time_t until;
    uint32_t size;
    if (!file) return fprintf(stderr, "usage: fuzz SEEDS SECONDS SEED\n"), 2;
    state = strtoull(argv[3], NULL, 10) * 2 + 1;
    while (fread(&size, 4, 1, file) == 1 && size <= LONGEST && fread(input, 1, size, file) == size) {
        input_size = size;
        execute();
        keep();
    }
    fclose(file);
    until = time(NULL) + atoi(argv[2]);
    do {
        for (i = 0; i < 1000; i++, executions++) {
            size_t chosen = drawn((uint32_t)count);
            input_size = sizes[chosen];
            memcpy(input, kept[chosen], input_size);
            mutate();
            if (execute()) keep();
        }
    } while (time(NULL) < until);
    for (i = 0; i < EDGES; i++) edges += seen[i];
    printf("{\"executions\": %llu, \"kept\": %zu, \"edges\": %u, \"runs_of_model\": %llu}\n",
           (unsigned long long)executions, count, edges, (unsigned long long)runs_of_model);
    return 0;
}
