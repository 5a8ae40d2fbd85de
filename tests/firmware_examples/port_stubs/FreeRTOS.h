/* What ports/freertos_smp.h needs of FreeRTOS, for two threads of a computer. */
#ifndef STUB_FREERTOS_H
#define STUB_FREERTOS_H
#include <sched.h>
#endif
