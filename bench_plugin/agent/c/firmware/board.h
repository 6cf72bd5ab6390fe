/* What the firmware knows of its board, written for its target beside the linker script (firmware_parts.py), and its driver. */
#ifndef BENCH_BOARD_H
#define BENCH_BOARD_H

#include <stdint.h>

extern const uint32_t board_uart_base; /* the address of the UART's registers */
extern const uint32_t board_systick_hz; /* how often SysTick counts in a second; 0 where that is not known */

/* Prepare the UART: called once, before any other function of uart_link.h's driver. */
void board_uart_begin(void);

#endif
