/*
 * FreeRTOS.h, of the tests: declares what the example uses of the kernel, and nothing more, so that
 * the example compiles where there is no kernel. What FreeRTOSConfig.h must ask for exists only if
 * it does.
 */
#ifndef FREERTOS_H
#define FREERTOS_H

#include <stddef.h>
#include <stdint.h>

#define TICK_TYPE_WIDTH_32_BITS 1
#include "FreeRTOSConfig.h"

#if configTICK_TYPE_WIDTH_IN_BITS != TICK_TYPE_WIDTH_32_BITS || configTICK_RATE_HZ != 1000
#error "the example counts milliseconds"
#endif
#if configSUPPORT_STATIC_ALLOCATION != 1 || configSUPPORT_DYNAMIC_ALLOCATION != 0
#error "the example allocates nothing"
#endif
#if configUSE_PREEMPTION != 1 || configUSE_TIMERS != 0 || configCHECK_FOR_STACK_OVERFLOW != 2
#error "the example is preempted, needs no timers and wants its stacks checked"
#endif
#if configMAX_SYSCALL_INTERRUPT_PRIORITY == 0 || configKERNEL_INTERRUPT_PRIORITY != 0xFF
#error "the port masks interrupts by priority; 0 would mask none"
#endif

typedef uint32_t TickType_t;
typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef uint32_t StackType_t;
typedef struct {
    UBaseType_t task;
} StaticTask_t;
typedef struct {
    UBaseType_t queue;
} StaticQueue_t;

#define configSTACK_DEPTH_TYPE uint32_t
#define portTICK_PERIOD_MS ((TickType_t)1000 / configTICK_RATE_HZ)
#define portMAX_DELAY 0xFFFFFFFFu
#define pdMS_TO_TICKS(ms) ((TickType_t)(ms))
#define pdFALSE ((BaseType_t)0)
#define pdTRUE ((BaseType_t)1)

#endif
