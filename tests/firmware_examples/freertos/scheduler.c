/*
 * scheduler.c: runs the example's tasks on this computer, in a time of its own.
 *
 * The most urgent task that can go on does, until it waits; when all wait, the clock goes to when
 * the next one wakes. Nothing is interrupted and nothing takes time: this checks what the tasks say
 * to each other.
 *   LOST_TICK       the clock leaves this tick out
 *   SLEEPY_UNTIL    receives nothing before this tick
 *   UNUSED_WORDS    what each stack has left
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "board.h"
#include "queue.h"

#define TASKS 3
#define STACK_BYTES 65536
#define NEVER 0xFFFFFFFFu

struct stand_in_task {
    ucontext_t context;
    TaskFunction_t code;
    UBaseType_t priority;
    TickType_t wakes; /* can go on from this tick */
};

struct stand_in_queue {
    uint8_t *items;
    UBaseType_t length, item_bytes, count;
};

static struct stand_in_task tasks[TASKS];
static struct stand_in_queue the_queue;
static int task_count, current;
static const TickType_t sleepy_until = SLEEPY_UNTIL;
static TickType_t clock_ticks;
static ucontext_t outside;

void board_write(const char *text, size_t bytes)
{
    (void)fwrite(text, 1, bytes, stdout);
}

static void enter(void)
{
    tasks[current].code(NULL);
    abort(); /* a task must not return */
}

TaskHandle_t xTaskCreateStatic(
    TaskFunction_t code, const char *name, configSTACK_DEPTH_TYPE words, void *argument,
    UBaseType_t priority, StackType_t *stack, StaticTask_t *state)
{
    static char stacks[TASKS][STACK_BYTES];
    struct stand_in_task *task = &tasks[task_count];

    if (task_count == TASKS || priority >= configMAX_PRIORITIES || argument != NULL ||
        strlen(name) >= configMAX_TASK_NAME_LEN || state == NULL) {
        abort();
    }
    memset(stack, 0xA5, words * sizeof *stack);
    task->code = code;
    task->priority = priority;
    (void)getcontext(&task->context);
    task->context.uc_stack.ss_sp = stacks[task_count++];
    task->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&task->context, enter, 0);
    return task;
}

/* The most urgent task that can go on, or -1. */
static int most_urgent(void)
{
    int best = -1;

    for (int i = 0; i < task_count; ++i) {
        const int ready = tasks[i].wakes <= clock_ticks;

        if (ready && (best < 0 || tasks[i].priority > tasks[best].priority)) {
            best = i;
        }
    }
    return best;
}

void vTaskStartScheduler(void)
{
    for (;;) {
        TickType_t next = NEVER;

        while ((current = most_urgent()) >= 0) {
            (void)swapcontext(&outside, &tasks[current].context);
        }
        for (int i = 0; i < task_count; ++i) {
            next = (tasks[i].wakes < next) ? tasks[i].wakes : next;
        }
        clock_ticks = (next == LOST_TICK) ? next + 1u : next;
    }
}

static void wait_until(TickType_t tick)
{
    tasks[current].wakes = tick;
    (void)swapcontext(&tasks[current].context, &outside);
}

TickType_t xTaskGetTickCount(void)
{
    return clock_ticks;
}

BaseType_t xTaskDelayUntil(TickType_t *previous, TickType_t ticks)
{
    *previous += ticks;
    if (*previous <= clock_ticks) {
        return pdFALSE;
    }
    wait_until(*previous);
    return pdTRUE;
}

/* The least urgent task suspends itself last: the firmware has said all it has to say. */
void vTaskSuspend(TaskHandle_t task)
{
    if (task != NULL) {
        abort();
    }
    if (tasks[current].priority == 1) {
        exit(0);
    }
    wait_until(NEVER);
}

UBaseType_t uxTaskGetStackHighWaterMark(TaskHandle_t task)
{
    return (task == NULL) ? 0 : UNUSED_WORDS;
}

QueueHandle_t xQueueCreateStatic(
    UBaseType_t length, UBaseType_t item_bytes, uint8_t *items, StaticQueue_t *state)
{
    if (state == NULL) {
        abort();
    }
    the_queue.items = items;
    the_queue.length = length;
    the_queue.item_bytes = item_bytes;
    return &the_queue;
}

BaseType_t xQueueSend(QueueHandle_t queue, const void *item, TickType_t ticks)
{
    while (queue->count == queue->length) {
        if (ticks == 0) {
            return pdFALSE;
        }
        wait_until(clock_ticks + 1u);
    }
    memcpy(queue->items + queue->count++ * queue->item_bytes, item, queue->item_bytes);
    return pdTRUE;
}

BaseType_t xQueueReceive(QueueHandle_t queue, void *item, TickType_t ticks)
{
    if (ticks != portMAX_DELAY) {
        abort();
    }
    while (queue->count == 0 || clock_ticks < sleepy_until) {
        wait_until(clock_ticks + 1u);
    }
    memcpy(item, queue->items, queue->item_bytes);
    --queue->count;
    memmove(queue->items, queue->items + queue->item_bytes, queue->count * queue->item_bytes);
    return pdTRUE;
}
