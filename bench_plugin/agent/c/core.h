/* The C agent: the wire of docs/protocol.md for a program or a firmware with one model linked in.
 *
 * Three parts make a program:
 *   core.c        reads and answers frames; it takes no memory, and calls nothing of a C library but memcpy;
 *   a platform    posix.c for Linux, firmware/ for microcontrollers: bytes, clock, counters;
 *   the glue      written beside the model by the compiler's adapter: its tensors, its digest, and the call of it.
 */
#ifndef BENCH_CORE_H
#define BENCH_CORE_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_VERSION 1
#define BENCH_HEADER 32u     /* bytes of a header */
#define BENCH_DESCRIPTOR 48u /* bytes of a descriptor */
#define BENCH_MAX_META (1u << 22)
#define BENCH_MAX_BLOBS 4096u
#define BENCH_MAX_RANK 8u
#define BENCH_MAX_BYTES (1ull << 35)

#define BENCH_LAST_KIND 22u /* the kinds of the protocol are 1 to this */

enum bench_kind {
    BENCH_HELLO = 1, BENCH_LOAD = 2, BENCH_RUN = 3, BENCH_RESULT = 4, BENCH_ERROR = 5, BENCH_RESET = 11, BENCH_BYE = 13
};

/* The codes of dtypes that the core itself uses; tensors may have any code of the protocol. */
enum bench_dtype { BENCH_UINT64 = 7, BENCH_BYTES = 20 };

/* Why bytes are not a frame, in the order of the checks. */
enum bench_fault {
    BENCH_FINE = 0, BENCH_BAD_MAGIC, BENCH_BAD_VERSION, BENCH_BAD_KIND, BENCH_BAD_META, BENCH_BAD_BLOBS, BENCH_BAD_TOTAL,
    BENCH_BAD_DTYPE, BENCH_BAD_RANK, BENCH_BAD_SIZE, BENCH_BAD_SUM
};

/* A checked header; total counts the bytes after it. */
typedef struct {
    uint8_t kind;
    uint32_t call;
    uint32_t meta_bytes;
    uint16_t blobs;
    uint64_t total;
} bench_head;

/* A tensor of the model or a blob of a frame. data is NULL for a blob that was only described. */
typedef struct {
    uint8_t dtype;
    uint8_t rank;
    uint32_t dims[BENCH_MAX_RANK];
    uint64_t bytes;
    void *data;
} bench_tensor;

/* Check a header or a descriptor, BENCH_HEADER and BENCH_DESCRIPTOR bytes. left are the bytes of blobs that the frame
 * still has; the size of the blob is taken from it. Both return BENCH_FINE, or what is wrong. */
enum bench_fault bench_decode_header(const uint8_t *data, bench_head *head);
enum bench_fault bench_decode_descriptor(const uint8_t *data, bench_tensor *blob, uint64_t *left);

void bench_encode_header(uint8_t *data, const bench_head *head);
void bench_encode_descriptor(uint8_t *data, const bench_tensor *blob);

/* The architecture that the program was compiled for, as it says in its hello. */
#if defined(__aarch64__)
#define BENCH_MACHINE "aarch64"
#elif defined(__arm__) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define BENCH_MACHINE "arm-m"
#elif defined(__arm__)
#define BENCH_MACHINE "arm"
#elif defined(__riscv) && __riscv_xlen == 64
#define BENCH_MACHINE "riscv64"
#elif defined(__x86_64__)
#define BENCH_MACHINE "x86_64"
#else
#define BENCH_MACHINE "unknown"
#endif

/* Why bench_serve returned. */
enum bench_end { BENCH_SAID_BYE = 0, BENCH_LINK_ENDED, BENCH_GARBAGE };

/* Say hello and answer requests, until the host says bye, the link ends, or bytes come that are not a frame. Firmware
 * calls it again after it has found the beginning of the next frame. */
enum bench_end bench_serve(void);

/* ---- The glue gives these. ---- */

extern const bench_tensor bench_inputs[];
extern const bench_tensor bench_outputs[];
extern const uint16_t bench_input_count;
extern const uint16_t bench_output_count;
/* SHA-256 of the model's code and weights: a load request must have it as its blob, or it is refused. */
extern const uint8_t bench_model_digest[32];
/* The metadata of hello: a constant JSON object in UTF-8, which the core sends as it is. */
extern const char bench_about[];
/* Run the model once, from the inputs' data to the outputs' data. */
void bench_model(void);

/* ---- The platform gives these. ---- */

/* Read or write exactly so many bytes. Both return 0, or -1 when the link has ended. */
int bench_read(void *data, size_t size);
int bench_write(const void *data, size_t size);
/* A frame was written completely: let it leave now. Returns as bench_write. */
int bench_flush(void);
/* A monotonic clock in nanoseconds; always 0 where there is none that tells the device's time. */
uint64_t bench_now_ns(void);
/* A counter of executed instructions; always 0 where there is none. */
uint64_t bench_instructions(void);
/* Prepare the measurement of the stack before the model's call (fill what is free of it with a pattern), and give its
 * high water in bytes after it, 0 where that is unknown. */
void bench_stack_prepare(void);
uint64_t bench_stack_high_water(void);
/* Bytes of .data and .bss, and of everything that is stored in flash (.text, .rodata and the contents of .data); 0
 * where the program itself does not know them. */
uint64_t bench_static_ram(void);
uint64_t bench_flash_bytes(void);

#endif
