/* Packets on a serial line: how they are written, and how they are found again (docs/microcontrollers.md).
 *
 * A packet is a header of four bytes (kind, sequence, length of the payload), the payload, and the CRC-32 of both. It is
 * stuffed so that it has no byte 0 (COBS), and a byte 0 ends it. So a reader that has lost its place, after garbage or
 * after lost or doubled bytes, finds it again at the next byte 0. */
#ifndef BENCH_UART_FRAMING_H
#define BENCH_UART_FRAMING_H

#include <stddef.h>
#include <stdint.h>

#define UART_PAYLOAD 512u /* the most bytes of a payload */
#define UART_HEADER 4u
#define UART_SUM 4u
#define UART_PACKET (UART_HEADER + UART_PAYLOAD + UART_SUM)
/* A stuffed packet: a byte more for each 254, and a byte 0 before and after it. */
#define UART_STUFFED (UART_PACKET + UART_PACKET / 254u + 1u + 2u)

enum uart_kind { UART_SYNC = 1, UART_READY = 2, UART_DATA = 3, UART_ACK = 4, UART_POLL = 5, UART_FAULT = 6 };

/* What is known of the packet that is being read. Begin with all bytes 0. After uart_decode returned 1 the first four
 * members after it describe the packet, whose payload begins at bytes[UART_HEADER], until the next call. */
typedef struct {
    uint8_t kind;
    uint8_t sequence;
    uint16_t length;
    uint32_t refused; /* packets so far whose length, stuffing or sum was wrong */
    uint16_t size;    /* bytes that are held */
    uint8_t left;     /* bytes of the present block that are still to come */
    uint8_t zero;     /* a byte 0 stands between the present block and the next */
    uint8_t begun;
    uint8_t bad; /* it is too long: forget all until its end */
    uint8_t bytes[UART_PACKET];
} uart_decoder;

/* CRC-32 as zlib has it; begin with 0, and go on with what it returned. */
uint32_t uart_sum(uint32_t sum, const uint8_t *data, size_t size);

/* Take one byte of the line. Returns 1 when it ended a packet that is right. */
int uart_decode(uart_decoder *decoder, uint8_t byte);

/* Write a packet to ``out``, which has UART_STUFFED bytes; size is at most UART_PAYLOAD. Returns the number of bytes. */
size_t uart_encode(uint8_t *out, uint8_t kind, uint8_t sequence, const uint8_t *payload, size_t size);

#endif
