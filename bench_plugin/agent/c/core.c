/* The wire of the C agent: checked frames in, answers out (core.h, docs/protocol.md).
 *
 * Metadata of requests is skipped, because it is JSON. Inputs are read straight into the tensors of the model once every
 * descriptor is the right one, so that no frame can write anywhere else. */
#include "core.h"

#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the elements of tensors travel as they lie in memory, which must be little-endian"
#endif

#define COUNTERS 8u
#define COUNTERS_VERSION 1u
#define SKIP 64u /* bytes that are skipped at a time */

/* Bits per element by dtype code, 0 for a code that does not exist. */
static const uint8_t BITS[21] = {0, 8, 8, 16, 16, 32, 32, 64, 64, 16, 32, 64, 8, 16, 4, 4, 64, 128, 8, 8, 8};

static const char NOT_A_FRAME[] = "{\"symptom\":\"harness\",\"message\":\"these bytes are not a frame\"}";
static const char TOO_LARGE[] = "{\"symptom\":\"harness\",\"message\":\"the frame is larger than this agent takes\"}";
static const char WRONG_KIND[] = "{\"symptom\":\"harness\",\"message\":\"this agent answers hello, load, run, reset and bye\"}";
static const char WRONG_MODEL[] =
    "{\"symptom\":\"harness\",\"message\":\"load: the model that is linked in has another digest\"}";
static const char WRONG_INPUTS[] =
    "{\"symptom\":\"harness\",\"message\":\"run: the blobs are not the inputs of the model that is linked in\"}";

static uint16_t get16(const uint8_t *p) { return (uint16_t)(p[0] | (p[1] << 8)); }

static uint32_t get32(const uint8_t *p) { return get16(p) | ((uint32_t)get16(p + 2) << 16); }

static uint64_t get64(const uint8_t *p) { return get32(p) | ((uint64_t)get32(p + 4) << 32); }

static void put16(uint8_t *p, uint16_t value) {
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *p, uint32_t value) {
    put16(p, (uint16_t)value);
    put16(p + 2, (uint16_t)(value >> 16));
}

static void put64(uint8_t *p, uint64_t value) {
    put32(p, (uint32_t)value);
    put32(p + 4, (uint32_t)(value >> 32));
}

enum bench_fault bench_decode_header(const uint8_t *data, bench_head *head) {
    if (data[0] != 'B' || data[1] != 'N' || data[2] != 'C' || data[3] != 'H') return BENCH_BAD_MAGIC;
    if (data[4] != BENCH_VERSION) return BENCH_BAD_VERSION;
    head->kind = data[5];
    head->call = get32(data + 8);
    head->meta_bytes = get32(data + 12);
    head->blobs = get16(data + 16);
    head->total = get64(data + 24);
    if (head->kind < 1 || head->kind > BENCH_LAST_KIND) return BENCH_BAD_KIND;
    if (head->meta_bytes > BENCH_MAX_META) return BENCH_BAD_META;
    if (head->blobs > BENCH_MAX_BLOBS) return BENCH_BAD_BLOBS;
    if (head->total > BENCH_MAX_BYTES) return BENCH_BAD_TOTAL;
    if (head->total < head->meta_bytes + (uint64_t)head->blobs * BENCH_DESCRIPTOR) return BENCH_BAD_TOTAL;
    return BENCH_FINE;
}

/* The bytes of so many elements, rounded up; more than BENCH_MAX_BYTES is given as UINT64_MAX. A dim of 0 makes it 0,
 * whatever the others are. */
static uint64_t size_of(uint8_t dtype, uint8_t rank, const uint32_t *dims) {
    uint64_t count = 1;
    unsigned i;
    for (i = 0; i < rank; i++)
        if (dims[i] == 0) return 0;
    for (i = 0; i < rank; i++) {
        if (dims[i] > 8 * BENCH_MAX_BYTES / count) return UINT64_MAX;
        count *= dims[i];
    }
    if (count > 8 * BENCH_MAX_BYTES / BITS[dtype]) return UINT64_MAX;
    return (count * BITS[dtype] + 7) / 8;
}

enum bench_fault bench_decode_descriptor(const uint8_t *data, bench_tensor *blob, uint64_t *left) {
    unsigned i;
    blob->dtype = data[0];
    blob->rank = data[1];
    blob->bytes = get64(data + 40);
    blob->data = NULL;
    if (blob->dtype >= sizeof BITS || BITS[blob->dtype] == 0) return BENCH_BAD_DTYPE;
    if (blob->rank > BENCH_MAX_RANK) return BENCH_BAD_RANK;
    for (i = 0; i < BENCH_MAX_RANK; i++) blob->dims[i] = i < blob->rank ? get32(data + 8 + 4 * i) : 0;
    if (blob->bytes != size_of(blob->dtype, blob->rank, blob->dims)) return BENCH_BAD_SIZE;
    if (blob->bytes > *left) return BENCH_BAD_SUM;
    *left -= blob->bytes;
    return BENCH_FINE;
}

void bench_encode_header(uint8_t *data, const bench_head *head) {
    memset(data, 0, BENCH_HEADER);
    memcpy(data, "BNCH", 4);
    data[4] = BENCH_VERSION;
    data[5] = head->kind;
    put32(data + 8, head->call);
    put32(data + 12, head->meta_bytes);
    put16(data + 16, head->blobs);
    put64(data + 24, head->total);
}

void bench_encode_descriptor(uint8_t *data, const bench_tensor *blob) {
    unsigned i;
    memset(data, 0, BENCH_DESCRIPTOR);
    data[0] = blob->dtype;
    data[1] = blob->rank;
    for (i = 0; i < blob->rank; i++) put32(data + 8 + 4 * i, blob->dims[i]);
    put64(data + 40, blob->bytes);
}

/* Send a frame without blobs. Returns as bench_write. */
static int say(uint8_t kind, uint32_t call, const char *meta) {
    uint8_t data[BENCH_HEADER];
    bench_head head;
    head.kind = kind;
    head.call = call;
    head.meta_bytes = (uint32_t)strlen(meta);
    head.blobs = 0;
    head.total = head.meta_bytes;
    bench_encode_header(data, &head);
    if (bench_write(data, sizeof data) || bench_write(meta, head.meta_bytes)) return -1;
    return bench_flush();
}

/* Read bytes and forget them. Returns as bench_read. */
static int skip(uint64_t size) {
    uint8_t data[SKIP];
    while (size) {
        size_t now = size < sizeof data ? (size_t)size : sizeof data;
        if (bench_read(data, now)) return -1;
        size -= now;
    }
    return 0;
}

static int same(const bench_tensor *one, const bench_tensor *other) {
    unsigned i;
    if (one->dtype != other->dtype || one->rank != other->rank || one->bytes != other->bytes) return 0;
    for (i = 0; i < one->rank; i++)
        if (one->dims[i] != other->dims[i]) return 0;
    return 1;
}

/* The most bytes after a header that are taken: the inputs, or the metadata and descriptors of any small request. */
static uint64_t most(void) {
    uint64_t size = BENCH_MAX_META + BENCH_DESCRIPTOR * (uint64_t)bench_input_count + sizeof bench_model_digest;
    unsigned i;
    for (i = 0; i < bench_input_count; i++) size += bench_inputs[i].bytes;
    return size;
}

/* Answer with the outputs and the counters. Returns as bench_write. */
static int answer(uint32_t call, const uint64_t *counted) {
    uint8_t data[BENCH_DESCRIPTOR];
    bench_tensor counters;
    bench_head head;
    unsigned i;
    memset(&counters, 0, sizeof counters);
    counters.dtype = BENCH_UINT64;
    counters.rank = 1;
    counters.dims[0] = COUNTERS;
    counters.bytes = COUNTERS * sizeof *counted;
    head.kind = BENCH_RESULT;
    head.call = call;
    head.meta_bytes = 0;
    head.blobs = (uint16_t)(bench_output_count + 1);
    head.total = BENCH_DESCRIPTOR * (uint64_t)head.blobs + counters.bytes;
    for (i = 0; i < bench_output_count; i++) head.total += bench_outputs[i].bytes;
    bench_encode_header(data, &head);
    if (bench_write(data, BENCH_HEADER)) return -1;
    for (i = 0; i <= bench_output_count; i++) {
        bench_encode_descriptor(data, i < bench_output_count ? &bench_outputs[i] : &counters);
        if (bench_write(data, sizeof data)) return -1;
    }
    for (i = 0; i < bench_output_count; i++)
        if (bench_write(bench_outputs[i].data, (size_t)bench_outputs[i].bytes)) return -1;
    if (bench_write(counted, (size_t)counters.bytes)) return -1;
    return bench_flush();
}

/* Run the model once and answer. What the model does not write of an output reads as NaN or -1, not as a zero that may
 * happen to be right. */
static int run(uint32_t call) {
    uint64_t counted[COUNTERS] = {COUNTERS_VERSION, 0, 0, 0, 0, 0, 0, 0};
    uint64_t began, instructions;
    unsigned i;
    for (i = 0; i < bench_output_count; i++) memset(bench_outputs[i].data, 255, (size_t)bench_outputs[i].bytes);
    bench_stack_prepare();
    began = bench_now_ns();
    instructions = bench_instructions();
    bench_model();
    counted[2] = bench_instructions() - instructions;
    counted[1] = bench_now_ns() - began;
    counted[3] = bench_stack_high_water();
    counted[4] = bench_static_ram();
    counted[5] = bench_flash_bytes();
    return answer(call, counted);
}

/* Take the blobs of a request and answer it. Returns -1 when the link ended, 1 after bytes that are not a frame. */
static int take(const bench_head *head) {
    uint64_t left = head->total - head->meta_bytes - (uint64_t)head->blobs * BENCH_DESCRIPTOR;
    uint64_t bytes = left;
    uint8_t data[BENCH_DESCRIPTOR];
    int right = head->kind == BENCH_RUN ? head->blobs == bench_input_count : head->blobs == 1;
    bench_tensor blob;
    unsigned i;
    for (i = 0; i < head->blobs; i++) {
        if (bench_read(data, sizeof data)) return -1;
        if (bench_decode_descriptor(data, &blob, &left)) return say(BENCH_ERROR, 0, NOT_A_FRAME) ? -1 : 1;
        if (!right) continue;
        if (head->kind == BENCH_RUN) right = same(&blob, &bench_inputs[i]);
        else right = blob.dtype == BENCH_BYTES && blob.bytes == sizeof bench_model_digest;
    }
    if (left != 0) return say(BENCH_ERROR, 0, NOT_A_FRAME) ? -1 : 1;
    if (skip(head->meta_bytes)) return -1;
    if (head->kind == BENCH_RUN && right) {
        for (i = 0; i < bench_input_count; i++)
            if (bench_read(bench_inputs[i].data, (size_t)bench_inputs[i].bytes)) return -1;
        return run(head->call);
    }
    if (head->kind == BENCH_LOAD && right) {
        if (bench_read(data, sizeof bench_model_digest)) return -1;
        if (memcmp(data, bench_model_digest, sizeof bench_model_digest) == 0) return say(BENCH_RESULT, head->call, "");
        return say(BENCH_ERROR, head->call, WRONG_MODEL);
    }
    if (skip(bytes)) return -1;
    return say(BENCH_ERROR, head->call, head->kind == BENCH_RUN ? WRONG_INPUTS : WRONG_MODEL);
}

enum bench_end bench_serve(void) {
    uint8_t data[BENCH_HEADER];
    bench_head head;
    int status = say(BENCH_HELLO, 0, bench_about);
    while (status == 0) {
        if (bench_read(data, sizeof data)) return BENCH_LINK_ENDED;
        if (bench_decode_header(data, &head)) {
            status = say(BENCH_ERROR, 0, NOT_A_FRAME) ? -1 : 1;
        } else if (head.total > most()) {
            status = say(BENCH_ERROR, head.call, TOO_LARGE) ? -1 : 1;
        } else if (head.kind == BENCH_RUN || head.kind == BENCH_LOAD) {
            status = take(&head);
        } else if (skip(head.total)) {
            status = -1;
        } else if (head.kind == BENCH_BYE) {
            return BENCH_SAID_BYE;
        } else if (head.kind == BENCH_HELLO) {
            status = say(BENCH_HELLO, head.call, bench_about);
        } else if (head.kind == BENCH_RESET) { /* nothing is kept between calls */
            status = say(BENCH_RESULT, head.call, "");
        } else {
            status = say(BENCH_ERROR, head.call, WRONG_KIND);
        }
    }
    return status < 0 ? BENCH_LINK_ENDED : BENCH_GARBAGE;
}
