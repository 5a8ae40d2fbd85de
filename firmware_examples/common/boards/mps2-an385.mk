# Arm MPS2 with AN385 (Cortex-M3).
CPU = -mcpu=cortex-m3 -mthumb -mfloat-abi=soft
CPU_CLOCK_HZ = 25000000
BOARD_SOURCE = mps.c
DEFINES = -DUART_BASE=0x40004000u
QEMU_MACHINE = mps2-an385
