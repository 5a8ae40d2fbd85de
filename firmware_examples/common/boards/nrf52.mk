# Nordic nRF52840 DK. QEMU does not have it: run in Renode, or build for mps2-an386, which has the same core.
CPU = -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16
CPU_CLOCK_HZ = 64000000
BOARD_SOURCE = nrf52840.c
RENODE_UART = uart0
