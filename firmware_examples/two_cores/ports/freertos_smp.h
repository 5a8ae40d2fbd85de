/*
 * Two tasks of FreeRTOS on two cores that meet in a run: while one waits, others may have its core.
 *
 *   -DGLOWMCU_CORES=2 -include freertos_smp.h
 *
 * The kernel is built for several cores (configNUMBER_OF_CORES 2). Pin the task that calls NAME_run
 * and the one that calls NAME_help to a core each (vTaskCoreAffinitySet), at the same priority: a
 * task that waits gives way to tasks of its own priority, and to none below.
 */
#ifndef FREERTOS_SMP_H
#define FREERTOS_SMP_H

#include "FreeRTOS.h"
#include "task.h"

#define GLOWMCU_CORES_WAITING() taskYIELD()

#endif
