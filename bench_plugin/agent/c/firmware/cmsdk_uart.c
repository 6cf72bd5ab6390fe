/* The driver of the UART of Arm's Cortex-M System Design Kit, which the MPS2 and MPS3 boards have (DDI 0479, 4.3). */
#include "board.h"
#include "uart_link.h"

#define REGISTER(offset) (*(volatile uint32_t *)(board_uart_base + (offset)))
#define DATA 0x00u
#define STATE 0x04u
#define CONTROL 0x08u
#define DIVIDER 0x10u

#define SEND_FULL 1u
#define RECEIVE_FULL 2u
#define ENABLE_BOTH 3u
#define SMALLEST_DIVIDER 16u

void board_uart_begin(void) {
    REGISTER(DIVIDER) = SMALLEST_DIVIDER; /* the emulated line is as fast as it is read */
    REGISTER(CONTROL) = ENABLE_BOTH;
    (void)REGISTER(DATA); /* QEMU looks for bytes that came before this only when a byte is read */
}

int uart_get(void) {
    while (!(REGISTER(STATE) & RECEIVE_FULL)) {}
    return (int)(REGISTER(DATA) & 255u);
}

void uart_put(uint8_t byte) {
    while (REGISTER(STATE) & SEND_FULL) {}
    REGISTER(DATA) = byte;
}
