# ST STM32F4DISCOVERY. QEMU's Netduino Plus 2 has the same memories, core and USART2, its second serial line.
CPU = -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16
CPU_CLOCK_HZ = 168000000
BOARD_SOURCE = stm32f407.c
QEMU_MACHINE = netduinoplus2
QEMU_SERIAL = 1
RENODE_UART = usart2
