/*
 * Two threads of Zephyr on two cores that meet in a run: while one waits, others may have its core.
 *
 *   zephyr_library_compile_options(-DGLOWMCU_CORES=2 -include zephyr_smp.h)
 *
 * The kernel is built with CONFIG_SMP and CONFIG_SCHED_CPU_MASK. Pin the thread that calls NAME_run
 * and the one that calls NAME_help to a core each (k_thread_cpu_pin, before they start), at the
 * same priority: k_yield gives way to threads of the same priority and above.
 */
#ifndef ZEPHYR_SMP_H
#define ZEPHYR_SMP_H

#include <zephyr/kernel.h>

#define GLOWMCU_CORES_WAITING() k_yield()

#endif
