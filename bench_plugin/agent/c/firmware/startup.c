/* The start of the firmware on a Cortex-M: vectors, memory, floating point, faults, and the agent's endless loop.
 *
 * The program has a stack of its own (the process stack) at the lowest address of RAM, below all variables: one that
 * overflows leaves RAM, which is a fault, and overwrites nothing. Handlers of faults have another stack. */
#include <stddef.h>
#include <stdint.h>

#include "../core.h"
#include "board.h"
#include "startup.h"
#include "uart_link.h"

#define HANDLER_STACK 768u
#define REGISTER(address) (*(volatile uint32_t *)(address))
#define FAULT_STATUS REGISTER(0xE000ED28)
#define HARD_FAULT_STATUS REGISTER(0xE000ED2C)
#define MEMORY_ADDRESS REGISTER(0xE000ED34)
#define BUS_ADDRESS REGISTER(0xE000ED38)
#define MEMORY_ADDRESS_VALID (1u << 7)
#define BUS_ADDRESS_VALID (1u << 15)
#define STACKING_FAILED ((1u << 4) | (1u << 12)) /* there is no frame to read the program counter from */
#define STACK_OVERFLOWED (1u << 20) /* as Armv8-M reports it */
#define STACKED_PC 6

extern uint32_t firmware_stack_bottom, firmware_stack_top, firmware_data_begin, firmware_data_end, firmware_data_stored;
extern uint32_t firmware_bss_begin, firmware_bss_end;

static uint32_t handler_stack[HANDLER_STACK / 4] __attribute__((aligned(8)));

__attribute__((noreturn, used)) static void start(void) {
    uint32_t *from = &firmware_data_stored, *to;
    for (to = &firmware_data_begin; to < &firmware_data_end;) *to++ = *from++;
    for (to = &firmware_bss_begin; to < &firmware_bss_end;) *to++ = 0;
    board_uart_begin();
    while (uart_link_wait() == 0) bench_serve();
    for (;;) {}
}

__attribute__((naked, noreturn)) void firmware_reset(void) {
    __asm volatile(
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
        "ldr r0, =0xE000ED88\n" /* CPACR: coprocessors 10 and 11, which are floating point and vectors */
        "ldr r1, [r0]\n"
        "orr r1, r1, #(0xF << 20)\n"
        "str r1, [r0]\n"
        "dsb\n"
        "isb\n"
#endif
        "ldr r0, =firmware_stack_top\n"
        "msr psp, r0\n"
        "movs r0, #2\n"
        "msr control, r0\n"
        "isb\n"
        "b %0\n" ::"i"(start));
}

/* What the host is told of a fault, as docs/microcontrollers.md lists it. */
__attribute__((noreturn, used)) static void report(const uint32_t *frame, uint32_t exception) {
    uint32_t status = FAULT_STATUS, said[6];
    said[0] = exception;
    said[1] = status;
    said[2] = HARD_FAULT_STATUS;
    said[3] = status & BUS_ADDRESS_VALID ? BUS_ADDRESS : status & MEMORY_ADDRESS_VALID ? MEMORY_ADDRESS : 0;
    said[4] = status & STACKING_FAILED ? 0 : frame[STACKED_PC];
    said[5] = (uint32_t)frame;
    uart_link_fault(said, sizeof said);
    for (;;) {}
}

__attribute__((naked, noreturn)) static void fault(void) {
    __asm volatile("mrs r0, psp\n"
                   "mrs r1, ipsr\n"
                   "b %0\n" ::"i"(report));
}

void firmware_overflowed(void) {
    const uint32_t said[6] = {0, STACK_OVERFLOWED, 0, 0, 0, (uint32_t)&firmware_stack_bottom};
    uart_link_fault(said, sizeof said);
    for (;;) {}
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    handler_stack + HANDLER_STACK / 4, (void *)firmware_reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
    (void *)fault, (void *)fault, 0, 0, 0, (void *)fault, (void *)fault, 0, (void *)fault, (void *)firmware_tick,
};
