/* What ports/zephyr_smp.h needs of Zephyr, for two threads of a computer. */
#ifndef STUB_ZEPHYR_KERNEL_H
#define STUB_ZEPHYR_KERNEL_H
#include <sched.h>
static inline void k_yield(void)
{
    (void)sched_yield();
}
#endif
