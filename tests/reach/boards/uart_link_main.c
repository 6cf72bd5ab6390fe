/* The firmware's link on this machine: its line is descriptor 3, and it echoes what it reads, after its length. With the
 * length 0 it reports a fault. */
#include <unistd.h>

#include "../core.h"
#include "uart_link.h"

int uart_get(void) {
    uint8_t byte;
    return read(3, &byte, 1) == 1 ? byte : -1;
}

void uart_put(uint8_t byte) {
    if (write(3, &byte, 1) != 1) _exit(2);
}

static uint8_t data[1 << 16];

int main(void) {
    static const uint32_t fault[6] = {5, 1u << 9 | 1u << 15, 0, 0x1ffffffc, 0x123, 0x20000100};
    while (uart_link_wait() == 0) {
        uint32_t size;
        while (bench_read(&size, sizeof size) == 0) {
            if (size == 0) {
                uart_link_fault(fault, sizeof fault);
                return 0;
            }
            if (size > sizeof data || bench_read(data, size)) break;
            if (bench_write(&size, sizeof size) || bench_write(data, size) || bench_flush()) break;
        }
    }
    return 0;
}
