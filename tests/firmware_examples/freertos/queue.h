/* queue.h, of the tests: see FreeRTOS.h. */
#ifndef QUEUE_H
#define QUEUE_H

#include "task.h"

typedef struct stand_in_queue *QueueHandle_t;

QueueHandle_t xQueueCreateStatic(
    UBaseType_t length, UBaseType_t item_bytes, uint8_t *items, StaticQueue_t *state);
BaseType_t xQueueSend(QueueHandle_t queue, const void *item, TickType_t ticks);
BaseType_t xQueueReceive(QueueHandle_t queue, void *item, TickType_t ticks);

#endif
