# Arm MPS2 with AN386 (Cortex-M4).
CPU = -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16
CPU_CLOCK_HZ = 25000000
BOARD_SOURCE = mps.c
DEFINES = -DUART_BASE=0x40004000u
QEMU_MACHINE = mps2-an386
