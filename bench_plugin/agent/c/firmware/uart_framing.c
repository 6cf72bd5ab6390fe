/* Packets on a serial line (uart_framing.h). It takes no memory and calls nothing. */
#include "uart_framing.h"

/* The CRC of each half byte: a table of 64 bytes instead of 1,024. */
static const uint32_t SUMS[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

uint32_t uart_sum(uint32_t sum, const uint8_t *data, size_t size) {
    sum = ~sum;
    while (size--) {
        sum ^= *data++;
        sum = (sum >> 4) ^ SUMS[sum & 15u];
        sum = (sum >> 4) ^ SUMS[sum & 15u];
    }
    return ~sum;
}

static void begin(uart_decoder *decoder) {
    decoder->size = 0;
    decoder->left = decoder->zero = decoder->begun = decoder->bad = 0;
}

static void hold(uart_decoder *decoder, uint8_t byte) {
    if (decoder->size < UART_PACKET) decoder->bytes[decoder->size++] = byte;
    else decoder->bad = 1;
}

/* Whether the bytes that are held are a packet; its header is taken. */
static int right(uart_decoder *decoder) {
    const uint8_t *end;
    uint32_t sum;
    size_t size = decoder->size;
    if (decoder->bad || decoder->left || size < UART_HEADER + UART_SUM) return 0;
    size -= UART_SUM;
    decoder->kind = decoder->bytes[0];
    decoder->sequence = decoder->bytes[1];
    decoder->length = (uint16_t)(decoder->bytes[2] | (decoder->bytes[3] << 8));
    if (decoder->length != size - UART_HEADER) return 0;
    end = decoder->bytes + size;
    sum = end[0] | ((uint32_t)end[1] << 8) | ((uint32_t)end[2] << 16) | ((uint32_t)end[3] << 24);
    return sum == uart_sum(0, decoder->bytes, size) && decoder->kind >= UART_SYNC && decoder->kind <= UART_FAULT;
}

int uart_decode(uart_decoder *decoder, uint8_t byte) {
    if (byte == 0) {
        int found = right(decoder);
        if (decoder->begun && !found) decoder->refused++;
        begin(decoder);
        return found;
    }
    if (decoder->left) {
        hold(decoder, byte);
        decoder->left--;
        return 0;
    }
    if (decoder->begun && decoder->zero) hold(decoder, 0);
    decoder->begun = 1;
    decoder->left = (uint8_t)(byte - 1);
    decoder->zero = byte != 255;
    return 0;
}

/* A stuffed packet that is being written: code is the place of the length of the present block. */
typedef struct {
    uint8_t *out;
    size_t size;
    size_t code;
} stuffing;

static void stuff(stuffing *to, const uint8_t *data, size_t size) {
    while (size--) {
        uint8_t byte = *data++;
        if (byte) to->out[to->size++] = byte;
        if (!byte || to->size - to->code == 255) {
            to->out[to->code] = (uint8_t)(to->size - to->code);
            to->code = to->size++;
        }
    }
}

size_t uart_encode(uint8_t *out, uint8_t kind, uint8_t sequence, const uint8_t *payload, size_t size) {
    uint8_t header[UART_HEADER], end[UART_SUM];
    stuffing to;
    uint32_t sum;
    unsigned i;
    header[0] = kind;
    header[1] = sequence;
    header[2] = (uint8_t)size;
    header[3] = (uint8_t)(size >> 8);
    sum = uart_sum(uart_sum(0, header, sizeof header), payload, size);
    for (i = 0; i < UART_SUM; i++) end[i] = (uint8_t)(sum >> (8 * i));
    out[0] = 0; /* it ends what garbage may have begun */
    to.out = out;
    to.code = 1;
    to.size = 2;
    stuff(&to, header, sizeof header);
    stuff(&to, payload, size);
    stuff(&to, end, sizeof end);
    out[to.code] = (uint8_t)(to.size - to.code);
    out[to.size++] = 0;
    return to.size;
}
