# What the examples' Makefiles share. An example sets NAME, BOARD, SOURCES and BUNDLES (`<name>` for each model, with a rule that
# makes $(BUILD)/<name>/<name>.h), then includes this file.
#   make               builds $(BUILD)/$(NAME).elf
#   make run           runs it in QEMU, where QEMU has the board
#   make renode        runs $(NAME).robot in Renode, where the example has one
#   make BOARD=...     one of ../common/boards/*.mk
# It may set DATA (headers it makes), FLAGS, LIBRARIES, SCRIPTS (further linker scripts), RUN_FLAGS (of run_in_qemu.py), and IMAGE: an ELF
# file that it makes of $(NAME).elf itself.
PYTHON ?= python3
GLOWMCU ?= glowmcu
CROSS ?= arm-none-eabi-
COMMON := $(dir $(lastword $(MAKEFILE_LIST)))
EXAMPLES := $(COMMON)../../examples
BUILD ?= build/$(BOARD)
IMAGE ?= $(NAME)

include $(COMMON)boards/$(BOARD).mk

# The smaller of the C libraries that the compiler has: newlib's for small programs, or picolibc.
LIBC := $(firstword $(foreach specs,nano.specs picolibc.specs,$(if \
	$(findstring /,$(shell $(CROSS)gcc -print-file-name=$(specs))),--specs=$(specs))))

CFLAGS = $(CPU) -std=c99 -O2 -g -Wall -Wextra -Werror -Wshadow -ffunction-sections -fdata-sections \
	$(DEFINES) $(FLAGS) -I. -I$(COMMON) -I$(BUILD) $(addprefix -I$(BUILD)/,$(BUNDLES))
LDFLAGS = -nostartfiles $(LIBC) -Wl,--gc-sections -L$(COMMON) -T $(COMMON)boards/$(BOARD).ld $(SCRIPTS)
ALL_SOURCES = $(SOURCES) $(addprefix $(COMMON),startup.c print.c boards/$(BOARD_SOURCE)) \
	$(foreach name,$(BUNDLES),$(BUILD)/$(name)/$(name).c $(BUILD)/$(name)/$(name)_weights.c)
HEADERS = $(foreach name,$(BUNDLES),$(BUILD)/$(name)/$(name).h)

.PHONY: all run renode clean
all: $(BUILD)/$(IMAGE).elf

$(BUILD)/$(NAME).elf: $(SOURCES) $(HEADERS) $(DATA)
	$(CROSS)gcc $(CFLAGS) $(ALL_SOURCES) $(LDFLAGS) $(LIBRARIES) -o $@
	$(CROSS)size $@

run: $(BUILD)/$(IMAGE).elf
	$(PYTHON) $(COMMON)run_in_qemu.py --machine "$(QEMU_MACHINE)" --serial $(or $(QEMU_SERIAL),0) $(RUN_FLAGS) $<

renode: $(BUILD)/$(IMAGE).elf
	renode-test --variable FIRMWARE:$(abspath $<) $(NAME).robot

clean:
	rm -rf build
