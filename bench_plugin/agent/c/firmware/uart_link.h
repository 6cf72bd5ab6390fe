/* A reliable stream of bytes over a serial line that may lose, double or change some (docs/microcontrollers.md).
 *
 * It is bench_read, bench_write and bench_flush of core.h. One packet is under way at a time in each direction; the
 * other side acknowledges it once it has taken it. Only the host has a clock: it sends again what was not acknowledged,
 * and asks for what did not come. */
#ifndef BENCH_UART_LINK_H
#define BENCH_UART_LINK_H

#include <stddef.h>
#include <stdint.h>

/* Wait until the host begins a session. bench_read and bench_write return -1 when it begins another one, which is then
 * known here. Returns 0, or -1 when the line has ended. */
int uart_link_wait(void);

/* Tell the host of a fault, now and whenever it sends something. Does not return. */
void uart_link_fault(const void *report, size_t size);

/* ---- The driver gives these. ---- */

/* The next byte of the line, waited for; -1 when the line has ended, which one of hardware never does. */
int uart_get(void);
/* Write a byte as soon as the line takes it. */
void uart_put(uint8_t byte);

#endif
