"""A core with guarded memory: Unicorn executes, everything outside the bundle's memory faults.

    0x08000000  code and constants, read-only; address 0 is not mapped
    0x10000000  what was placed in a region of its own, and the next regions in steps of 16 MiB
    0x20000000  canary | arena, its end flush with unmapped memory
    0x30000000  what the application shows, read-only, its end flush with unmapped memory
    0x38000000  the stack's top; unmapped memory below it
    0x60000000  inputs outside the arena, read-only, each one's end flush with unmapped memory

Arena and stack hold 0xA5 before each run, so an output that was never written cannot look right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from glowmcu.cores import Core
from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.verify.cortex_m.elf import Program
from glowmcu.verify.cortex_m.processor import Processor, open_cortex_m

CODE_BASE = 0x08000000
DATA_BASE = 0x34000000
ARENA_BASE = 0x20000000
SHOWN_BASE = 0x30000000
OUTSIDE_BASE = 0x60000000
STACK_TOP = 0x38000000
PLACED_BASE, PLACED_STEP = 0x10000000, 0x01000000
STACK_BYTES = 64 * 1024
RETURN_ADDRESS = 0x0F000000
PAGE = 4096
POISON = b"\xa5"

BlockHook = Callable[[Any, int, int, Any], None]
AccessHook = Callable[[Any, int, int, int, int, Any], None]


def memory_at(address: int) -> int:
    """A number for each memory of a chip: flash, the RAM of arena, stack and inputs, and every
    region that something was placed in.
    """
    placed = PLACED_BASE <= address < ARENA_BASE
    return address // PLACED_STEP if placed else int(address < PLACED_BASE)


class Machine:
    """Runs functions of one program on the processor that `open_processor` makes for a core.

    `step` is the step of the bundle that runs or ran last.
    """

    def __init__(
        self,
        program: Program,
        core: Core,
        arena_bytes: int,
        arena_align: int = 8,
        external: Sequence[tuple[int, int]] = (),
        open_processor: Callable[[Core], Processor] = open_cortex_m,
    ) -> None:
        self._processor = open_processor(core)
        self._unicorn, self._uc = self._processor.unicorn, self._processor.uc
        self._program = program
        self.step: int | None = None
        self.on_step: Callable[[int], None] | None = None
        self._failure: GlowmcuError | None = None
        self._bad_access: tuple[int, int, int] | None = None
        self._shown_bytes = 0
        self._arena_bytes = arena_bytes
        padded = _round_up(arena_bytes, arena_align)
        self._arena_end = ARENA_BASE + _round_up(padded + PAGE, PAGE)
        self.arena_address = self._arena_end - padded
        self._canary = _canary(self.arena_address - ARENA_BASE)
        self._tail_canary = _canary(padded - arena_bytes)
        self._map_memory()
        self.external_addresses = tuple(self._map_external(external))
        self._add_hooks()

    def _map_external(self, external: Sequence[tuple[int, int]]) -> Iterator[int]:
        """Addresses of so many bytes each, aligned as asked, words that end where nothing is mapped
        or as near to it as they may begin.
        """
        base = OUTSIDE_BASE
        for size, align in external:
            end = base + _round_up(size, PAGE)
            self._uc.mem_map(base, end - base, self._unicorn.UC_PROT_READ)
            yield end - _round_up(size, max(align, 4))
            base = end + PAGE

    def _map_memory(self) -> None:
        code, data = self._unicorn.UC_PROT_READ | self._unicorn.UC_PROT_EXEC, 3
        mapped = 0
        for segment in sorted(self._program.segments, key=lambda part: part.address):
            start = max(segment.address & -PAGE, mapped)
            mapped = _round_up(segment.address + segment.size_bytes, PAGE)
            if start < mapped:
                self._uc.mem_map(start, mapped - start, data if segment.writable else code)
        for segment in self._program.segments:
            self._uc.mem_write(segment.address, segment.data)
        self._uc.mem_map(ARENA_BASE, self._arena_end - ARENA_BASE, data)
        self._uc.mem_map(STACK_TOP - STACK_BYTES, STACK_BYTES, data)
        self._uc.mem_map(RETURN_ADDRESS, PAGE, code)

    def _add_hooks(self) -> None:
        self._uc.hook_add(self._unicorn.UC_HOOK_MEM_INVALID, self._note_bad_access)
        for address in self._program.markers:
            self._uc.hook_add(
                self._unicorn.UC_HOOK_CODE, self._enter_step, begin=address, end=address
            )

    def add_block_hook(self, hook: BlockHook) -> None:
        """Call `hook(_, address, size, _)` for each basic block that is about to run."""
        self._uc.hook_add(self._unicorn.UC_HOOK_BLOCK, hook)
        self._uc.ctl_flush_tb()  # blocks translated before would not call it

    def add_access_hook(self, hook: AccessHook) -> None:
        """Call `hook(_, access, address, size, value, _)` for each access to memory."""
        both = self._unicorn.UC_HOOK_MEM_READ | self._unicorn.UC_HOOK_MEM_WRITE
        self._uc.hook_add(both, hook)
        self._uc.ctl_flush_tb()

    def add_flash_read_hook(self, hook: AccessHook) -> None:
        """The same for each read of data in the program's constant segments."""
        for segment in self._program.segments:
            if not segment.writable and segment.size_bytes:
                end = segment.address + segment.size_bytes - 1
                kind = self._unicorn.UC_HOOK_MEM_READ
                self._uc.hook_add(kind, hook, begin=segment.address, end=end)
        self._uc.ctl_flush_tb()

    def add_span_hook(self, first: int, end: int, hook: AccessHook, writes: bool = False) -> None:
        """The same for reads of data, or `writes`, from `first` to before `end`."""
        unicorn = self._unicorn
        kind = unicorn.UC_HOOK_MEM_WRITE if writes else unicorn.UC_HOOK_MEM_READ
        self._uc.hook_add(kind, hook, begin=first, end=end - 1)
        self._uc.ctl_flush_tb()

    def reset(self) -> None:
        """Memory as after power-on: statics initialized, arena and stack poisoned."""
        self._uc.mem_write(ARENA_BASE, self._canary)
        self.write_arena(0, POISON * self._arena_bytes)
        self.write_arena(self._arena_bytes, self._tail_canary)
        self._uc.mem_write(STACK_TOP - STACK_BYTES, POISON * STACK_BYTES)
        for segment in self._program.segments:
            if segment.writable:
                self._uc.mem_write(segment.address, segment.data.ljust(segment.size_bytes, b"\0"))
        self.step, self._failure, self._bad_access = None, None, None

    def write_arena(self, offset: int, data: bytes) -> None:
        """Put `data` at `offset` of the arena."""
        self._uc.mem_write(self.arena_address + offset, data)

    def show(self, data: bytes) -> int:
        """Put `data` into memory of the application's, and say where; replaces what was there."""
        if self._shown_bytes:
            self._uc.mem_unmap(SHOWN_BASE, self._shown_bytes)
        self._shown_bytes = _round_up(max(len(data), 1), PAGE)
        self._uc.mem_map(SHOWN_BASE, self._shown_bytes, self._unicorn.UC_PROT_READ)
        address = SHOWN_BASE + self._shown_bytes - _round_up(len(data), 8)
        self._uc.mem_write(address, data)
        return address

    def write_external(self, address: int, data: bytes) -> None:
        """Put `data` at one of `external_addresses`, where the program cannot write."""
        self._uc.mem_write(address, data)

    def read_arena(self, offset: int, size_bytes: int) -> bytes:
        """The bytes at `offset` of the arena."""
        return bytes(self._uc.mem_read(self.arena_address + offset, size_bytes))

    def read_code(self, address: int, size_bytes: int) -> bytes:
        """The bytes of one basic block."""
        return bytes(self._uc.mem_read(address, size_bytes))

    def stack_used_bytes(self) -> int:
        """Deepest stack of the run: everything from its lowest changed byte upwards."""
        stack = bytes(self._uc.mem_read(STACK_TOP - STACK_BYTES, STACK_BYTES))
        return len(stack.lstrip(POISON))

    def call(self, function: str, arguments: Sequence[int], timeout_seconds: float) -> int:
        """Call `function` with words, those without a register on the stack; returns the result.

        Raises GM652 for an access outside the bundle's memory, GM653 for too deep a stack, GM654
        when it does not end in time, GM655 when the processor faults.
        """
        registers = self._processor
        in_registers = registers.argument_count
        pushed = b"".join(value.to_bytes(4, "little") for value in arguments[in_registers:])
        stack = STACK_TOP - _round_up(len(pushed), registers.stack_align)
        self._uc.mem_write(stack, pushed)
        self._uc.reg_write(registers.stack_pointer, stack)
        self._uc.reg_write(registers.link, RETURN_ADDRESS | registers.code_bit)
        for number, value in enumerate(arguments[:in_registers]):
            self._uc.reg_write(registers.first_argument + number, value)
        start = self._program.address_of(function) | registers.code_bit
        try:
            self._uc.emu_start(start, RETURN_ADDRESS, timeout=int(timeout_seconds * 1e6))
        except self._unicorn.UcError as cause:
            raise self._fault(cause) from cause
        if self._failure is None:
            self._check_canaries()
        if self._failure is not None:
            raise self._failure
        if self.program_counter() != RETURN_ADDRESS:
            raise error(
                "GM654",
                f"{function} did not return within {timeout_seconds:g} s",
                hint="a loop that never ends, or a model for which the limit is too short",
                exit_code=ExitCode.MISMATCH,
            )
        return self.result()

    def result(self) -> int:
        """What the function that ended returned, as a word."""
        return int(self._uc.reg_read(self._processor.first_argument))

    def stop(self, failure: GlowmcuError) -> None:
        """End the run from within a hook; `call` raises `failure`."""
        self._failure = failure
        self._uc.emu_stop()

    def register(self, capstone_number: int) -> int | None:
        """The value of a core register, None for others."""
        number = self._processor.numbers.get(capstone_number)
        return None if number is None else int(self._uc.reg_read(number))

    def word_at(self, address: int) -> int | None:
        """The word in memory, None if there is none."""
        try:
            return int.from_bytes(self._uc.mem_read(address, 4), "little")
        except self._unicorn.UcError:
            return None

    def program_counter(self) -> int:
        """Address of the instruction that runs or faulted."""
        return int(self._uc.reg_read(self._processor.program_counter)) & ~1

    def place(self) -> str:
        """Function and address of that instruction."""
        pc = self.program_counter()
        return f"{self._program.function_at(pc)} at {pc:#010x}"

    def _enter_step(self, _uc: Any, address: int, _size: int, _data: Any) -> None:
        self._check_canaries()
        if self._failure is not None:
            return
        self.step = self._program.markers[address]
        if self.on_step is not None:
            self.on_step(self.step)

    def _check_canaries(self) -> None:
        head = bytes(self._uc.mem_read(ARENA_BASE, len(self._canary)))
        tail = self.read_arena(self._arena_bytes, len(self._tail_canary))
        for found, wanted, base in (
            (tail, self._tail_canary, self._arena_bytes),
            (head, self._canary, -len(self._canary)),
        ):
            if found != wanted:
                changed = [i for i in range(len(wanted)) if found[i] != wanted[i]]
                offset = base + (changed[0] if base >= 0 else changed[-1])
                self.stop(
                    error("GM652", self._outside("wrote to", offset), exit_code=ExitCode.MISMATCH)
                )

    def _note_bad_access(
        self, _uc: Any, access: int, address: int, size: int, _value: int, _data: Any
    ) -> bool:
        self._bad_access = (access, address, size)
        return False

    def _fault(self, cause: Exception) -> GlowmcuError:
        place = self.place()
        if self._bad_access is None:
            return error(
                "GM655",
                f"the processor faulted: {cause}",
                place,
                "an unaligned access, or an instruction that this core does not have?",
                ExitCode.MISMATCH,
            )
        access, address, _ = self._bad_access
        if STACK_TOP - 2 * STACK_BYTES <= address < STACK_TOP - STACK_BYTES:
            message = f"the stack grew deeper than {STACK_BYTES} bytes"
            return error("GM653", message, place, exit_code=ExitCode.MISMATCH)
        writes = self._unicorn.UC_MEM_WRITE_UNMAPPED, self._unicorn.UC_MEM_WRITE_PROT
        fetches = self._unicorn.UC_MEM_FETCH_UNMAPPED, self._unicorn.UC_MEM_FETCH_PROT
        verb = "wrote to" if access in writes else "jumped to" if access in fetches else "read"
        near = 16 * (self._arena_end - ARENA_BASE)
        if ARENA_BASE - near <= address < self._arena_end + near:
            message = self._outside(verb, address - self.arena_address)
        else:
            message = f"the code {verb} {address:#010x}, which is not its memory"
        return error("GM652", message, place, exit_code=ExitCode.MISMATCH)

    def _outside(self, verb: str, offset: int) -> str:
        size = self._arena_bytes
        return f"the code {verb} byte {offset} of an arena of {size} bytes"


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _canary(size_bytes: int) -> bytes:
    """Bytes that differ from their neighbours, so that no fill looks like them."""
    return bytes((index * 37 + 11) % 256 for index in range(size_bytes))
