/* stacks.c: see stacks.h. */
#include "stacks.h"

#include "print.h"

TaskHandle_t task_start(const task_plan *plan)
{
    return xTaskCreateStatic(plan->code, plan->name, plan->stack_bytes / sizeof *plan->stack, NULL,
                             plan->priority, plan->stack, plan->state);
}

int stack_holds(const task_plan *plan, TaskHandle_t task)
{
    const uint32_t unused = (uint32_t)(uxTaskGetStackHighWaterMark(task) * sizeof *plan->stack);
    const uint32_t used = plan->stack_bytes - unused;

    print_text("stack of ");
    print_text(plan->name);
    print_text(": ");
    print_number((int32_t)used);
    print_text(" B used, at most ");
    print_number((int32_t)plan->most_bytes);
    print_text(" B of ");
    print_number((int32_t)plan->stack_bytes);
    print_text("\n");
    return used <= plan->most_bytes;
}
