/* hooks.c: what the kernel calls at its start, with nothing to do, and when something is wrong. */
#include "FreeRTOS.h"
#include "print.h"
#include "task.h"

void vApplicationGetIdleTaskMemory(
    StaticTask_t **state, StackType_t **stack, configSTACK_DEPTH_TYPE *words);
void vApplicationIdleHook(void);
void vApplicationStackOverflowHook(TaskHandle_t task, char *name);

static void stop(void)
{
    taskDISABLE_INTERRUPTS();
    for (;;) {
    }
}

void vApplicationGetIdleTaskMemory(
    StaticTask_t **state, StackType_t **stack, configSTACK_DEPTH_TYPE *words)
{
    static StaticTask_t idle_state;
    static StackType_t idle_stack[configMINIMAL_STACK_SIZE];

    *state = &idle_state;
    *stack = idle_stack;
    *words = configMINIMAL_STACK_SIZE;
}

void vApplicationIdleHook(void)
{
    __asm__ volatile("wfi");
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    print_text("fault: stack overflow in ");
    print_text(name);
    print_text("\n");
    stop();
}

void kernel_assertion_failed(const char *file, int line)
{
    print_text("fault: assertion of the kernel: ");
    print_text(file);
    print_text(", line ");
    print_number(line);
    print_text("\n");
    stop();
}
