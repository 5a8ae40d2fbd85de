# ST STM32VLDISCOVERY: 128 KiB of flash, 8 KiB of RAM.
CPU = -mcpu=cortex-m3 -mthumb -mfloat-abi=soft
CPU_CLOCK_HZ = 24000000
BOARD_SOURCE = stm32f100.c
QEMU_MACHINE = stm32vldiscovery
