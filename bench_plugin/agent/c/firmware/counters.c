/* The counters of the firmware: time by SysTick, the high water of the stack, and the sizes of the program. */
#include <stddef.h>
#include <stdint.h>

#include "../core.h"
#include "board.h"
#include "startup.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define CONTROL REGISTER(0xE000E010)
#define RELOAD REGISTER(0xE000E014)
#define VALUE REGISTER(0xE000E018)
#define COUNT_AND_INTERRUPT 7u /* on the processor's clock */
#define PASSED_ZERO (1u << 16)
#define MOST 0xFFFFFFu
#define NANOSECONDS 1000000000ull
#define PAINT 0x5AA5C33Cu
#define KEPT 128u /* bytes below the present frame that are not painted: what this function itself may still write */

extern uint32_t firmware_stack_bottom, firmware_stack_top;
extern const uint8_t firmware_flash_begin, firmware_flash_end;
extern uint8_t firmware_data_begin, firmware_bss_end;

static volatile uint32_t wraps;
static int lost; /* it passed zero, and no interrupt came: an emulator without interrupts */

void firmware_tick(void) { wraps++; }

/* SysTick starts anew before each call of the model, so that the same instructions are always counted the same. */
static void start(void) {
    CONTROL = 0;
    RELOAD = MOST;
    wraps = 0;
    lost = 0;
    VALUE = 0; /* the next tick loads MOST */
    CONTROL = COUNT_AND_INTERRUPT;
    while (VALUE == 0) {}
}

/* How long ago it started, in nanoseconds of its clock; 0 where that is not known. */
static uint64_t elapsed(void) {
    uint32_t before, left;
    uint64_t ticks;
    do {
        before = wraps;
        left = VALUE;
    } while (before != wraps);
    if ((CONTROL & PASSED_ZERO) && before == 0) lost = 1;
    if (lost || board_systick_hz == 0) return 0;
    ticks = (uint64_t)before * (MOST + 1ull) + (MOST - left);
    return ticks / board_systick_hz * NANOSECONDS + ticks % board_systick_hz * NANOSECONDS / board_systick_hz;
}

uint64_t bench_now_ns(void) { return elapsed(); }

/* An emulator that gives each instruction a nanosecond makes of its clock a counter of instructions; the host, which
 * knows what the board is, takes one of the two. */
uint64_t bench_instructions(void) { return elapsed(); }

void bench_stack_prepare(void) {
    uint32_t *end = (uint32_t *)__builtin_frame_address(0) - KEPT / 4, *place;
    for (place = &firmware_stack_bottom; place < end; place++) *place = PAINT;
    start();
}

uint64_t bench_stack_high_water(void) {
    const uint32_t *place = &firmware_stack_bottom;
    if (*place != PAINT) firmware_overflowed(); /* memory below RAM may swallow what is written there */
    while (place < &firmware_stack_top && *place == PAINT) place++;
    return (uint64_t)((const uint8_t *)&firmware_stack_top - (const uint8_t *)place);
}

uint64_t bench_static_ram(void) { return (uint64_t)(&firmware_bss_end - &firmware_data_begin); }

uint64_t bench_flash_bytes(void) { return (uint64_t)(&firmware_flash_end - &firmware_flash_begin); }
