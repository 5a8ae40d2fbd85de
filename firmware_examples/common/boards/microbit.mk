# BBC micro:bit: 256 KiB of flash, 16 KiB of RAM.
CPU = -mcpu=cortex-m0 -mthumb -mfloat-abi=soft
CPU_CLOCK_HZ = 16000000
BOARD_SOURCE = nrf51822.c
QEMU_MACHINE = microbit
