/* What posix.c needs of a C library, for programs that are linked without one: the start, four system calls, strcmp.
 *
 * A whole C library would take the compiler a minute for every target. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#if defined(__aarch64__)
#define READ 63
#define WRITE 64
#define EXIT_GROUP 94
#define CLOCK_GETTIME 113
__asm__(".globl _start\n_start: mov x0, sp\n bl bench_start\n");
static long call(long number, long a, long b, long c) {
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
#elif defined(__arm__)
#define READ 3
#define WRITE 4
#define EXIT_GROUP 248
#define CLOCK_GETTIME 403 /* the one with 64 bits of seconds */
__asm__(".globl _start\n.type _start, %function\n_start: mov r0, sp\n bl bench_start\n");
static long call(long number, long a, long b, long c) {
    register long r0 __asm__("r0") = a, r1 __asm__("r1") = b, r2 __asm__("r2") = c;
    /* r7 may be the frame pointer, so it is kept. */
    __asm__ volatile("mov ip, r7\n mov r7, %1\n svc 0\n mov r7, ip"
                     : "+r"(r0) : "r"(number), "r"(r1), "r"(r2) : "ip", "memory");
    return r0;
}
#elif defined(__riscv) && __riscv_xlen == 64
#define READ 63
#define WRITE 64
#define EXIT_GROUP 94
#define CLOCK_GETTIME 113
__asm__(".globl _start\n_start: mv a0, sp\n call bench_start\n");
static long call(long number, long a, long b, long c) {
    register long a7 __asm__("a7") = number, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
    return a0;
}
#elif defined(__x86_64__)
#define READ 0
#define WRITE 1
#define EXIT_GROUP 231
#define CLOCK_GETTIME 228
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call bench_start\n");
static long call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
#else
#error "no system calls are known for this architecture"
#endif

#define EINTR 4

/* The same call again where a signal interrupted it. */
static long patient(long number, long a, long b, long c) {
    long result;
    do result = call(number, a, b, c);
    while (result == -EINTR);
    return result;
}

ssize_t read(int fd, void *data, size_t size) { return patient(READ, fd, (long)data, (long)size); }

ssize_t write(int fd, const void *data, size_t size) { return patient(WRITE, fd, (long)data, (long)size); }

int clock_gettime(clockid_t clock, struct timespec *now) { return (int)call(CLOCK_GETTIME, clock, (long)now, 0); }

int strcmp(const char *one, const char *other) {
    for (; *one && *one == *other; one++, other++) {}
    return (unsigned char)*one - (unsigned char)*other;
}

int main(int count, char **texts);

/* The stack holds the number of arguments, then pointers to them. */
__attribute__((used, noreturn)) void bench_start(long *stack) {
    long status = main((int)stack[0], (char **)(stack + 1));
    for (;;) call(EXIT_GROUP, status, 0, 0);
}
