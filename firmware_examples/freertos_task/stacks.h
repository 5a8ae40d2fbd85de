/* stacks.h: tasks in memory of their own, and how much of their stacks they ever used. */
#ifndef STACKS_H
#define STACKS_H

#include <stdint.h>

#include "FreeRTOS.h"
#include "task.h"

typedef struct {
    const char *name;
    TaskFunction_t code;
    UBaseType_t priority; /* the largest is the most urgent */
    StackType_t *stack;
    uint32_t stack_bytes;
    uint32_t most_bytes; /* that the task may ever use */
    StaticTask_t *state;
} task_plan;

TaskHandle_t task_start(const task_plan *plan);

/* Prints what the task used, and what it may. Returns 0 when it used more. */
int stack_holds(const task_plan *plan, TaskHandle_t task);

#endif
