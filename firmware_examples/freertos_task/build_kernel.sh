#!/usr/bin/env bash
# Compiles the kernel as README.md describes it, for both boards.
#
#   ./build_kernel.sh KERNEL OUT     KERNEL: a checkout of FreeRTOS-Kernel, OUT: what FREERTOS names
set -euo pipefail
kernel="$(realpath "${1:?usage: build_kernel.sh KERNEL OUT}")"
out="$(realpath -m "${2:?usage: build_kernel.sh KERNEL OUT}")"
cd "$(dirname "${BASH_SOURCE[0]}")"

build() {
    local folder="$out/$1" port="$kernel/portable/GCC/$2" source
    shift 2
    mkdir -p "$folder/include"
    for source in "$kernel"/{tasks,list,queue}.c "$port/port.c"; do
        arm-none-eabi-gcc "$@" -mthumb -O2 -ffunction-sections -fdata-sections \
            -I. -I../common -I"$kernel/include" -I"$port" \
            -c "$source" -o "$folder/$(basename "$source" .c).o"
    done
    rm -f "$folder/libfreertos.a"
    arm-none-eabi-ar rcs "$folder/libfreertos.a" "$folder"/*.o
    cp "$kernel"/include/*.h "$port/portmacro.h" "$folder/include/"
}

build mps2-an386 ARM_CM4F -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16
build mps2-an385 ARM_CM3 -mcpu=cortex-m3
