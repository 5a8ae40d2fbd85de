/*
 * FreeRTOSConfig.h: the kernel's settings. Kernel and firmware must be compiled with the same file.
 *
 * What is not set here keeps the kernel's default. Nothing is allocated: there is no heap.
 */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#ifndef CPU_CLOCK_HZ
#define CPU_CLOCK_HZ 25000000 /* of Arm's MPS2 boards; yours goes here */
#endif
#define configCPU_CLOCK_HZ CPU_CLOCK_HZ
#define configTICK_RATE_HZ 1000
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configUSE_PREEMPTION 1
#define configMAX_PRIORITIES 4
#define configMINIMAL_STACK_SIZE 96 /* words, of the idle task */
#define configMAX_TASK_NAME_LEN 12
#define configUSE_TIMERS 0

#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0

/* hooks.c has what these call. */
#define configUSE_IDLE_HOOK 1
#define configUSE_TICK_HOOK 0
#define configCHECK_FOR_STACK_OVERFLOW 2
void kernel_assertion_failed(const char *file, int line);
#define configASSERT(condition) \
    if (!(condition)) kernel_assertion_failed(__FILE__, __LINE__)

#define INCLUDE_xTaskDelayUntil 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_uxTaskGetStackHighWaterMark 1

/*
 * Urgency is in the upper bits of a byte, 0 the most urgent; every Cortex-M3 and up has three of
 * them. Interrupts more urgent than the second number may not call the kernel.
 */
#define configKERNEL_INTERRUPT_PRIORITY 0xFF
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0x20

/* The port's handlers take the places of the weak ones of ../common/startup.c. */
#define vPortSVCHandler SVC_Handler
#define xPortPendSVHandler PendSV_Handler
#define xPortSysTickHandler SysTick_Handler

#endif
