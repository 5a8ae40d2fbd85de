/* task.h, of the tests: see FreeRTOS.h. */
#ifndef TASK_H
#define TASK_H

#include "FreeRTOS.h"

typedef struct stand_in_task *TaskHandle_t;
typedef void (*TaskFunction_t)(void *argument);

TaskHandle_t xTaskCreateStatic(
    TaskFunction_t code, const char *name, configSTACK_DEPTH_TYPE words, void *argument,
    UBaseType_t priority, StackType_t *stack, StaticTask_t *state);
void vTaskStartScheduler(void);
TickType_t xTaskGetTickCount(void);
#if INCLUDE_xTaskDelayUntil == 1
BaseType_t xTaskDelayUntil(TickType_t *previous, TickType_t ticks);
#endif
#if INCLUDE_vTaskSuspend == 1
void vTaskSuspend(TaskHandle_t task);
#endif
#if INCLUDE_uxTaskGetStackHighWaterMark == 1
UBaseType_t uxTaskGetStackHighWaterMark(TaskHandle_t task);
#endif

#define taskDISABLE_INTERRUPTS() ((void)0)
#define taskENTER_CRITICAL() ((void)0)
#define taskEXIT_CRITICAL() ((void)0)

#endif
