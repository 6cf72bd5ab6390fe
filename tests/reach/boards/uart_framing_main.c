/* Decodes what comes on standard input, and prints for each packet its kind, sequence and payload, and what it is encoded
 * to again; at the end how many packets were refused. */
#include <stdio.h>
#include <string.h>

#include "uart_framing.h"

static void print(const uint8_t *data, size_t size) {
    size_t i;
    for (i = 0; i < size; i++) printf("%02x", data[i]);
}

int main(void) {
    static uart_decoder decoder;
    uint8_t stuffed[UART_STUFFED];
    int byte;
    while ((byte = getchar()) != EOF) {
        if (!uart_decode(&decoder, (uint8_t)byte)) continue;
        printf("%u %u ", decoder.kind, decoder.sequence);
        print(decoder.bytes + UART_HEADER, decoder.length);
        printf(" ");
        print(stuffed, uart_encode(stuffed, decoder.kind, decoder.sequence, decoder.bytes + UART_HEADER, decoder.length));
        printf("\n");
    }
    printf("refused %u\n", (unsigned)decoder.refused);
    return 0;
}
