/* Calls main on QEMU's machine `sim`; its result ends the emulator. The ABI is call0. */
    .text
    .align 4
    .literal_position
    .global _start
_start:
    movi a1, stack_end
    call0 main
    mov a3, a2
    movi a2, 1 /* exit */
    simcall
1:
    j 1b
