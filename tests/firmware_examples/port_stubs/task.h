/* What ports/freertos_smp.h needs of FreeRTOS, for two threads of a computer. */
#ifndef STUB_TASK_H
#define STUB_TASK_H
#ifndef STUB_FREERTOS_H
#error "FreeRTOS.h goes before task.h"
#endif
#define taskYIELD() (void)sched_yield()
#endif
