"""Facts of boards, from data sheets and reference manuals."""

from __future__ import annotations

KB = 1024
#: Core, MHz, {region: (origin, KB)}.
FACTS = {
    "apollo3": (
        "cortex-m4",
        48,
        {"flash": (0xC000, 976), "tcm": (0x10000000, 64), "ram": (0x10010000, 320)},
    ),
    "arduino-nano33ble": ("cortex-m4", 64, {"flash": (0x10000, 960), "ram": (0x20000000, 256)}),
    "blackpill": ("cortex-m4", 100, {"flash": (0x08000000, 512), "ram": (0x20000000, 128)}),
    "bluepill": ("cortex-m3", 72, {"flash": (0x08000000, 64), "ram": (0x20000000, 20)}),
    "esp32": ("generic", 240, {"flash": (0x3F400000, 4096), "ram": (0x3FFAE000, 328)}),
    "esp32s3": ("generic", 240, {"flash": (0x3C000000, 8192), "ram": (0x3FC88000, 480)}),
    "microbit": ("cortex-m0", 16, {"flash": (0, 256), "ram": (0x20000000, 16)}),
    "mps2-an385": ("cortex-m3", 25, {"flash": (0, 4096), "ram": (0x20000000, 4096)}),
    "mps2-an386": ("cortex-m4", 25, {"flash": (0, 4096), "ram": (0x20000000, 4096)}),
    "mps2-an500": ("cortex-m7", 25, {"flash": (0, 4096), "ram": (0x20000000, 4096)}),
    "mps2-an505": ("cortex-m33", 20, {"flash": (0x10000000, 4096), "ram": (0x38000000, 4096)}),
    "mps3-an547": (
        "cortex-m55",
        32,
        {
            "itcm": (0, 512),
            "code_sram": (0x11000000, 2048),
            "dtcm": (0x30000000, 512),
            "ram": (0x31000000, 4096),
        },
    ),
    "nrf52": ("cortex-m4", 64, {"flash": (0, 1024), "ram": (0x20000000, 256)}),
    "nrf5340": ("cortex-m33", 128, {"flash": (0, 1024), "ram": (0x20000000, 512)}),
    "nucleo-h743zi": (
        "cortex-m7",
        480,
        {
            "flash": (0x08000000, 2048),
            "ram": (0x24000000, 512),
            "dtcm": (0x20000000, 128),
            "itcm": (0, 64),
            "sram1": (0x30000000, 128),
            "sram2": (0x30020000, 128),
            "sram3": (0x30040000, 32),
            "sram4": (0x38000000, 64),
        },
    ),
    "nucleo-l4r5zi": (
        "cortex-m4",
        120,
        {
            "flash": (0x08000000, 2048),
            "ram": (0x20040000, 384),
            "sram1": (0x20000000, 192),
            "sram2": (0x10000000, 64),
        },
    ),
    "nucleo-u575zi-q": (
        "cortex-m33",
        160,
        {"flash": (0x08000000, 2048), "ram": (0x20000000, 768)},
    ),
    "nucleo-l552ze-q": (
        "cortex-m33",
        110,
        {"flash": (0x08000000, 512), "ram": (0x20000000, 192), "sram2": (0x20030000, 64)},
    ),
    "samd51": ("cortex-m4", 120, {"flash": (0x4000, 496), "ram": (0x20000000, 192)}),
    "ek-ra8m1": (
        "cortex-m85",
        480,
        {
            "flash": (0x02000000, 2016),
            "ram": (0x22000000, 896),
            "dtcm": (0x20000000, 64),
            "itcm": (0, 64),
        },
    ),
    "esp32c3": (
        "rv32imc",
        160,
        {"flash": (0x42000000, 4096), "ram": (0x3FC80000, 384)},
    ),
    "gd32vf103": ("rv32imac", 108, {"flash": (0x08000000, 128), "ram": (0x20000000, 32)}),
    "rp2040": (
        "cortex-m0plus",
        125,
        {"flash": (0x10000100, 2047.75), "ram": (0x20000000, 264)},
    ),
    "rp2350": ("cortex-m33", 150, {"flash": (0x10000000, 4096), "ram": (0x20000000, 520)}),
    "rp2350-riscv": ("hazard3", 150, {"flash": (0x10000000, 4096), "ram": (0x20000000, 520)}),
    "stm32h745": (
        "cortex-m7",
        480,
        {
            "flash": (0x08000000, 1024),
            "flash2": (0x08100000, 1024),
            "axi": (0x24000000, 512),
            "sram": (0x30000000, 288),
            "sram4": (0x38000000, 64),
            "dtcm": (0x20000000, 128),
            "itcm": (0, 64),
        },
    ),
    "stm32f4-discovery": (
        "cortex-m4",
        168,
        {"flash": (0x08000000, 1024), "ram": (0x20000000, 128), "ccm": (0x10000000, 64)},
    ),
    "stm32f746-discovery": (
        "cortex-m7",
        216,
        {
            "flash": (0x08000000, 1024),
            "ram": (0x20010000, 256),
            "dtcm": (0x20000000, 64),
            "itcm": (0, 16),
        },
    ),
    "stm32vldiscovery": ("cortex-m3", 24, {"flash": (0x08000000, 128), "ram": (0x20000000, 8)}),
}
