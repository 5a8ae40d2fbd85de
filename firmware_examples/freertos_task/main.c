/*
 * main.c: gestures as in ../gestures_nrf52840, as tasks of FreeRTOS.
 *
 *   heartbeat  most urgent: every millisecond, and counts when it came late
 *   sample     every STEP_MS: reads the sensor, sends a window to the queue every HOP_STEPS
 *   infer      least urgent: owns arena and bundle, takes windows from the queue, prints
 *
 * The bundle neither waits nor locks nor disables interrupts: what is more urgent interrupts it.
 */
#include "FreeRTOS.h"
#include "gestures.h"
#include "print.h"
#include "queue.h"
#include "sensor.h"
#include "stacks.h"
#include "task.h"
#include "window.h"

#define STEP_MS 10 /* the recording has ten steps a second and is played ten times as fast */
#define STEPS_A_SECOND 10
#define HOP_STEPS 5
#define QUEUE_LENGTH 2

typedef struct {
    int8_t motion[GESTURES_INPUT_BYTES]; /* not there in the last message */
    uint8_t gesture;
    int steps; /* of the sensor, since the start */
    int last;
} message;

static const char *const names[GESTURES_OUTPUT_LENGTH] = {
    "pendulum", "abduction", "pull", "row"
};

typedef struct {
    int beats;
    int late;
    int during_inference;
} pulse;

static volatile int inferring;
static int windows_lost;
static QueueHandle_t windows;
static pulse heart, heart_at_end;
static TickType_t end;
static int stacks_hold(void);

static void heartbeat(void *unused)
{
    TickType_t now = xTaskGetTickCount();

    (void)unused;
    for (;;) {
        const BaseType_t waited = xTaskDelayUntil(&now, pdMS_TO_TICKS(1));
        ++heart.beats;
        heart.late += (waited == pdFALSE || xTaskGetTickCount() != now) ? 1 : 0;
        heart.during_inference += inferring;
    }
}

static void sample(void *unused)
{
    static window motion;
    static message mine;
    sensor_step step;
    TickType_t now = xTaskGetTickCount();

    (void)unused;
    while (sensor_read(&step)) {
        (void)xTaskDelayUntil(&now, pdMS_TO_TICKS(STEP_MS));
        window_add(&motion, step.motion);
        mine.gesture = step.gesture;
        if (++mine.steps % HOP_STEPS == 0 && window_copy(&motion, mine.motion)) {
            windows_lost += (xQueueSend(windows, &mine, 0) != pdTRUE) ? 1 : 0;
        }
    }
    taskENTER_CRITICAL();
    heart_at_end = heart;
    end = xTaskGetTickCount();
    taskEXIT_CRITICAL();
    mine.last = 1;
    (void)xQueueSend(windows, &mine, portMAX_DELAY);
    vTaskSuspend(NULL);
}

/* The gesture of a window, its score in percent; -1 where the model did not run. */
static int recognize(const int8_t *motion, int *percent)
{
    static GESTURES_ARENA(arena);
    int8_t scores[GESTURES_OUTPUT_LENGTH];
    int best = 0;
    int32_t status;

    inferring = 1;
    status = gestures_infer(arena, motion, scores);
    inferring = 0;
    if (status != 0) {
        return -1;
    }
    for (int gesture = 1; gesture < (int)GESTURES_OUTPUT_LENGTH; ++gesture) {
        if (scores[gesture] > scores[best]) {
            best = gesture;
        }
    }
    *percent = (scores[best] - GESTURES_OUTPUT_ZERO_POINT) * 100 / 256;
    return best;
}

static void report_gesture(int steps, int gesture, int percent)
{
    print_number(steps / STEPS_A_SECOND);
    print_text(".");
    print_number(steps % STEPS_A_SECOND);
    print_text(" s: ");
    print_text(names[gesture]);
    print_text(", ");
    print_number(percent);
    print_text(" %\n");
}

/* Says how it went; the last line is "done" when all is as it should be. */
static void report_end(int count, int right)
{
    const int stacks = stacks_hold();
    const int milliseconds = (int)(end * portTICK_PERIOD_MS);
    const int punctual = heart_at_end.beats == milliseconds && heart_at_end.late == 0;

    print_text("heartbeats during inference: ");
    print_number(heart_at_end.during_inference);
    print_text("\n");
    print_number(right);
    print_text(" of ");
    print_number(count);
    print_text(" windows right, ");
    print_number(windows_lost);
    print_text(" lost\n");
    print_number(heart_at_end.beats);
    print_text(" heartbeats in ");
    print_number(milliseconds);
    print_text(" ms, ");
    print_number(heart_at_end.late);
    print_text(" late\n");
    if (!stacks) {
        print_text("fault: a task used more stack than it may\n");
    } else if (!punctual) {
        print_text("fault: the most urgent task had to wait\n");
    } else if (windows_lost != 0) {
        print_text("fault: the model does not keep up with the sensor\n");
    } else {
        print_text("done\n");
    }
}

static void infer(void *unused)
{
    static message taken;
    int before = -1, shown = -1;
    int count = 0, right = 0;

    (void)unused;
    while (xQueueReceive(windows, &taken, portMAX_DELAY) == pdTRUE && !taken.last) {
        int percent = 0;
        const int gesture = recognize(taken.motion, &percent);

        ++count;
        right += (gesture == taken.gesture) ? 1 : 0;
        if (gesture >= 0 && gesture == before && gesture != shown) {
            report_gesture(taken.steps, gesture, percent);
            shown = gesture;
        }
        before = gesture;
    }
    report_end(count, right);
    vTaskSuspend(NULL);
}

/* A quarter of each stack must never be touched. README.md says what the rest is for. */
static StackType_t heartbeat_stack[512 / sizeof(StackType_t)];
static StackType_t sample_stack[512 / sizeof(StackType_t)];
static StackType_t infer_stack[1024 / sizeof(StackType_t)];
static StaticTask_t states[3];
static TaskHandle_t handles[3];

static const task_plan plans[3] = {
    { "heartbeat", heartbeat, 3, heartbeat_stack, sizeof heartbeat_stack, 384, &states[0] },
    { "sample", sample, 2, sample_stack, sizeof sample_stack, 384, &states[1] },
    { "infer", infer, 1, infer_stack, sizeof infer_stack, 768, &states[2] },
};

static int stacks_hold(void)
{
    int all = 1;

    for (int task = 0; task < 3; ++task) {
        all &= stack_holds(&plans[task], handles[task]);
    }
    return all;
}

int main(void)
{
    static uint8_t messages[QUEUE_LENGTH * sizeof(message)];
    static StaticQueue_t queue;

    windows = xQueueCreateStatic(QUEUE_LENGTH, sizeof(message), messages, &queue);
    for (int task = 0; task < 3; ++task) {
        handles[task] = task_start(&plans[task]);
    }
    vTaskStartScheduler();
    return 0;
}
