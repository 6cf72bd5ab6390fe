/* What startup.c and counters.c have of each other. */
#ifndef BENCH_STARTUP_H
#define BENCH_STARTUP_H

/* The handler of SysTick's interrupt. */
void firmware_tick(void);

/* Report that the stack overflowed. Does not return. */
void firmware_overflowed(void);

#endif
