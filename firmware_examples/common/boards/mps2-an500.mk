# Arm MPS2 with AN500 (Cortex-M7).
CPU = -mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16
CPU_CLOCK_HZ = 25000000
BOARD_SOURCE = mps.c
DEFINES = -DUART_BASE=0x40004000u
QEMU_MACHINE = mps2-an500
