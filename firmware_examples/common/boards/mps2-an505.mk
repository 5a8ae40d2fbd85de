# Arm MPS2 with AN505 (Cortex-M33).
CPU = -mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16
CPU_CLOCK_HZ = 20000000
BOARD_SOURCE = mps.c
DEFINES = -DUART_BASE=0x50200000u
QEMU_MACHINE = mps2-an505
