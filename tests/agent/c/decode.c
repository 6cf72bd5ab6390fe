/* Reads one frame from standard input and writes what the C decoder makes of it: "fault N", or the frame encoded anew. */
#include <stdio.h>
#include <string.h>

#include "core.h"

static uint8_t data[1 << 16];

int main(void) {
    size_t size = fread(data, 1, sizeof data, stdin), at = BENCH_HEADER, i;
    uint8_t made[1 << 16];
    bench_head head;
    enum bench_fault fault = size < BENCH_HEADER ? BENCH_BAD_TOTAL : bench_decode_header(data, &head);
    uint64_t left;
    if (fault == BENCH_FINE) {
        bench_encode_header(made, &head);
        left = head.total - head.meta_bytes - (uint64_t)head.blobs * BENCH_DESCRIPTOR;
        for (i = 0; i < head.blobs && fault == BENCH_FINE; i++, at += BENCH_DESCRIPTOR) {
            bench_tensor blob;
            if (at + BENCH_DESCRIPTOR > size) return 3;
            fault = bench_decode_descriptor(data + at, &blob, &left);
            if (fault == BENCH_FINE) bench_encode_descriptor(made + at, &blob);
        }
        if (fault == BENCH_FINE && left != 0) fault = BENCH_BAD_SUM;
    }
    if (fault != BENCH_FINE) return printf("fault %d\n", fault) < 0;
    memcpy(made + at, data + at, size - at);
    return fwrite(made, 1, size, stdout) != size;
}

/* What a program has beside the core, of which nothing is called here. */
const bench_tensor bench_inputs[1], bench_outputs[1];
const uint16_t bench_input_count, bench_output_count;
const uint8_t bench_model_digest[32];
const char bench_about[] = "{}";
void bench_model(void) {}
int bench_read(void *to, size_t count) { return to && count ? -1 : -1; }
int bench_write(const void *from, size_t count) { return from && count ? -1 : -1; }
int bench_flush(void) { return -1; }
uint64_t bench_now_ns(void) { return 0; }
uint64_t bench_instructions(void) { return 0; }
void bench_stack_prepare(void) {}
uint64_t bench_stack_high_water(void) { return 0; }
uint64_t bench_static_ram(void) { return 0; }
uint64_t bench_flash_bytes(void) { return 0; }
