# Arm MPS3 with AN547 (Cortex-M55).
CPU = -mcpu=cortex-m55 -mthumb -mfloat-abi=hard -mfpu=auto
CPU_CLOCK_HZ = 32000000
BOARD_SOURCE = mps.c
DEFINES = -DUART_BASE=0x59303000u
QEMU_MACHINE = mps3-an547
