/* A reliable stream of bytes over a serial line (uart_link.h). */
#include "uart_link.h"

#include <string.h>

#include "../core.h"
#include "uart_framing.h"

#define NONCE 4u

static uart_decoder decoder;
static uint8_t stuffed[UART_STUFFED];
static uint8_t incoming[UART_PAYLOAD]; /* the payload that bench_read gives, acknowledged when all of it is given */
static size_t held, given;
static uint8_t outgoing[UART_PAYLOAD]; /* small writes leave together */
static size_t waiting;
static uint8_t expected, sending; /* the sequences of the next packet of the host and of ours */
static int begun;                 /* a session was begun and uart_link_wait has not told of it yet */

static void put(uint8_t kind, uint8_t sequence, const uint8_t *payload, size_t size) {
    size_t i, count = uart_encode(stuffed, kind, sequence, payload, size);
    for (i = 0; i < count; i++) uart_put(stuffed[i]);
}

/* Wait for a packet and give its kind; -1 when the line has ended or a session begins. What needs only an answer gets it
 * here: a packet that was taken before is acknowledged again, because the acknowledgement was lost. */
static int next(void) {
    for (;;) {
        int byte = uart_get();
        if (byte < 0) return -1;
        if (!uart_decode(&decoder, (uint8_t)byte)) continue;
        if (decoder.kind == UART_SYNC && decoder.length == NONCE) {
            held = given = waiting = 0;
            expected = sending = 0;
            begun = 1;
            put(UART_READY, 0, decoder.bytes + UART_HEADER, NONCE);
            return -1;
        }
        if (decoder.kind == UART_DATA && decoder.sequence == (uint8_t)(expected - 1)) {
            put(UART_ACK, decoder.sequence, NULL, 0);
            continue;
        }
        return decoder.kind;
    }
}

int uart_link_wait(void) {
    while (!begun)
        if (next() < 0 && !begun) return -1;
    begun = 0;
    return 0;
}

int bench_read(void *data, size_t size) {
    uint8_t *place = data;
    while (size) {
        size_t now = held - given < size ? held - given : size;
        if (now == 0) {
            int kind = next();
            if (kind < 0) return -1;
            if (kind != UART_DATA || decoder.sequence != expected || decoder.length == 0) continue;
            held = decoder.length;
            given = 0;
            memcpy(incoming, decoder.bytes + UART_HEADER, held);
            continue;
        }
        memcpy(place, incoming + given, now);
        place += now;
        size -= now;
        given += now;
        if (given == held) put(UART_ACK, expected++, NULL, 0);
    }
    return 0;
}

/* Send what waits, again whenever the host asks, until the host has it. */
int bench_flush(void) {
    if (waiting == 0) return 0;
    put(UART_DATA, sending, outgoing, waiting);
    for (;;) {
        int kind = next();
        if (kind < 0) return -1;
        if (kind == UART_ACK && decoder.sequence == sending) break;
        /* The host asks for it; or it goes on with its own, so that its acknowledgement was lost: it gives it again. */
        if ((kind == UART_POLL && decoder.sequence == sending) || kind == UART_DATA)
            put(UART_DATA, sending, outgoing, waiting);
    }
    sending++;
    waiting = 0;
    return 0;
}

int bench_write(const void *data, size_t size) {
    const uint8_t *from = data;
    while (size) {
        size_t now = UART_PAYLOAD - waiting < size ? UART_PAYLOAD - waiting : size;
        memcpy(outgoing + waiting, from, now);
        waiting += now;
        from += now;
        size -= now;
        if (waiting == UART_PAYLOAD && bench_flush()) return -1;
    }
    return 0;
}

void uart_link_fault(const void *report, size_t size) {
    memset(&decoder, 0, sizeof decoder); /* it may have been at work when the fault came */
    for (;;) {
        int byte;
        put(UART_FAULT, 0, report, size);
        do {
            byte = uart_get();
            if (byte < 0) return;
        } while (!uart_decode(&decoder, (uint8_t)byte));
    }
}
