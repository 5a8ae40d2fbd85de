#!/usr/bin/env bash
# Prepares a checkout: `.venv` with this package (editable) and its extras, a host C compiler, the
# Arm cross compiler and QEMU; for tests also the compilers, emulators and checkers that they call.
# Idempotent, and silent when there is nothing to do.
#
#   scripts/setup.sh EXTRAS      EXTRAS: names from pyproject.toml, such as `test` or `test,examples`
#
# System packages are installed with apt-get, as root or through sudo. Where that is impossible it
# says what to install by hand and goes on: what needs a missing tool is skipped with that reason.
# GLOWMCU_PYTHON chooses the interpreter that `.venv` is made from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

extras="${1:?usage: scripts/setup.sh EXTRAS}"
stamp=".venv/.glowmcu-${extras//,/-}"

say() { echo "setup: $*" >&2; }

# --- system packages -----------------------------------------------------------------------------

has() { command -v "$1" >/dev/null 2>&1; }

# The compiler prints a bare name of a file that it does not find.
has_arm_libc() {
    has arm-none-eabi-gcc || return 1
    [ "$(arm-none-eabi-gcc -print-file-name=libc.a)" != libc.a ] && return
    [ "$(arm-none-eabi-gcc -print-file-name=picolibc.specs)" != picolibc.specs ]
}

# As has_arm_libc: Arduino links every library with -lstdc++.
has_arm_libstdcxx() {
    has arm-none-eabi-g++ && [ "$(arm-none-eabi-g++ -print-file-name=libstdc++.a)" != libstdc++.a ]
}

has_sanitizers() {
    local program
    program="$(mktemp)"
    echo 'int main(void) { return 0; }' \
        | clang -x c -fsanitize=memory,undefined - -o "$program" >/dev/null 2>&1
    local found=$?
    rm -f "$program"
    return $found
}

has_avr_libc() {
    echo '#include <avr/io.h>' | avr-gcc -mmcu=atmega1284p -x c -fsyntax-only - >/dev/null 2>&1
}

has_powerpc_libc() {
    echo '#include <stdio.h>' | powerpc-linux-gnu-gcc -x c -fsyntax-only - >/dev/null 2>&1
}

has_arm64_libc() {
    echo '#include <stdio.h>' | aarch64-linux-gnu-gcc -x c -fsyntax-only - >/dev/null 2>&1
}

has_picolibc() {
    echo '#include <stdio.h>' \
        | riscv64-unknown-elf-gcc --specs=picolibc.specs -x c -fsyntax-only - >/dev/null 2>&1
}

has_host_headers() {
    echo '#include <string.h>' | gcc -x c -fsyntax-only - >/dev/null 2>&1
}

# The first of these packages that this release has, or the first where apt has no lists yet.
first_known() {
    local package
    for package in "$@"; do
        case "$(apt-cache policy "$package" 2>/dev/null)" in
            "" | *"Candidate: (none)"*) ;;
            *)
                echo "$package"
                return
                ;;
        esac
    done
    echo "$1"
}

# The package, unless apt has lists and it is not in them: what calls it is then skipped.
if_known() {
    if compgen -G "/var/lib/apt/lists/*_Packages*" >/dev/null; then
        case "$(apt-cache policy "$1" 2>/dev/null)" in "" | *"Candidate: (none)"*) return 0 ;; esac
    fi
    echo "$1"
}

missing_packages() {
    has gcc || echo gcc
    has g++ || echo g++
    has_host_headers || echo libc6-dev
    has arm-none-eabi-gcc || echo gcc-arm-none-eabi
    has_arm_libc || first_known libnewlib-arm-none-eabi picolibc-arm-none-eabi
    has qemu-system-arm || echo qemu-system-arm
    case ",$extras," in *,test,* | *,dev,*) missing_packages_of_tests ;; esac
}

missing_packages_of_tests() {
    has git || echo git
    has make || echo make
    has cmake || echo cmake
    has dot || echo graphviz
    has cppcheck || echo cppcheck
    has tcc || if_known tcc  # not in Debian testing
    has clang || echo clang
    # The sanitizers' libraries are a package of the release's own clang.
    if has clang && ! has_sanitizers; then
        echo "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
    fi
    has_arm_libstdcxx || first_known libstdc++-arm-none-eabi-newlib libstdc++-arm-none-eabi
    has riscv64-unknown-elf-gcc || echo gcc-riscv64-unknown-elf
    has_picolibc || echo picolibc-riscv64-unknown-elf
    # Since Debian 13 it is a package of its own, beside qemu-system-misc.
    has qemu-system-riscv32 || first_known qemu-system-riscv qemu-system-misc
    has avr-gcc || echo gcc-avr
    has_avr_libc || echo avr-libc
    has simavr || echo simavr
    has xtensa-lx106-elf-gcc || if_known gcc-xtensa-lx106
    has qemu-system-xtensa || if_known qemu-system-misc
    has powerpc-linux-gnu-gcc || echo gcc-powerpc-linux-gnu
    has_powerpc_libc || echo libc6-dev-powerpc-cross
    # Where this computer is one, its own compiler has this name, too.
    has aarch64-linux-gnu-gcc || echo gcc-aarch64-linux-gnu
    has_arm64_libc || echo libc6-dev-arm64-cross
    has qemu-ppc || echo qemu-user
    has chromium || has google-chrome || echo chromium
}

# Prints the command prefix that makes apt-get work here, or returns 1.
root_prefix() {
    [ "$(id -u)" -eq 0 ] && return 0
    has sudo || return 1
    # Without a terminal nobody can type a password.
    if sudo -n true 2>/dev/null || [ -t 0 ]; then echo sudo; else return 1; fi
}

apt_install() {
    local prefix apt package
    has apt-get && prefix="$(root_prefix)" || return 1
    say "installing $* (apt-get)"
    apt="$prefix env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0"
    $apt update >/dev/null || say "apt-get update failed; trying on"
    $apt install -y --no-install-recommends "$@" >/dev/null && return
    # A package that this release lacks must not keep the others out.
    for package in "$@"; do
        $apt install -y --no-install-recommends "$package" >/dev/null 2>&1 || true
    done
}

install_system_packages() {
    local packages before=""
    packages="$(missing_packages)"
    # Twice, since what clang needs is known when clang is there.
    while [ -n "$packages" ] && [ "$packages" != "$before" ]; do
        # shellcheck disable=SC2086  # one word a package
        apt_install $packages || break
        before="$packages"
        packages="$(missing_packages)"
    done
    [ -n "$packages" ] || return 0
    packages="${packages//$'\n'/ }"
    say "still missing, please install by hand: $packages"
    say "  Debian, Ubuntu:  sudo apt-get install $packages"
    say "  elsewhere:       a C compiler, the Arm GNU toolchain (arm-none-eabi) and QEMU for Arm;"
    say "                   for tests clang and what else these packages hold"
    say "going on; what needs them will be skipped and say so"
}

# --- Python --------------------------------------------------------------------------------------

is_recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; }

find_python() {
    local candidate
    for candidate in ${GLOWMCU_PYTHON:+"$GLOWMCU_PYTHON"} \
        python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        if is_recent "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    say "no Python >= 3.10 found: install python3, or set GLOWMCU_PYTHON"
    return 1
}

make_venv() {
    if [ -d .venv ] && .venv/bin/python -m pip --version >/dev/null 2>&1; then
        return
    fi
    local python
    python="$(find_python)"
    # Debian splits venv's ensurepip into a package of its own.
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        local version
        version="$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
        if ! apt_install "python$version-venv"; then
            say "$python has no venv module: sudo apt-get install python$version-venv"
            exit 1
        fi
    fi
    "$python" -m venv --clear .venv
}

# What the installed environment depends on. The path is part of it: an editable install points here.
fingerprint() {
    { pwd; cat pyproject.toml scripts/setup.sh; } | cksum
}

install_python_packages() {
    make_venv
    local wanted
    wanted="$(fingerprint)"
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
        return
    fi
    say "installing Python packages into .venv (the first time takes a minute or two)"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input \
        --editable ".[$extras]"
    echo "$wanted" >"$stamp"
}

# TOSA's own tools want an older NumPy than tests do. Without them their tests are skipped.
install_tosa_tools() {
    case ",$extras," in *,test,* | *,dev,*) ;; *) return ;; esac
    [ "$(uname -sm)" = "Linux x86_64" ] || return 0
    [ -x .venv/tosa-tools/bin/tosa-opt ] && return
    say "installing TOSA's tools into .venv/tosa-tools (45 MB)"
    if ! { .venv/bin/python -m venv .venv/tosa-tools \
        && .venv/tosa-tools/bin/python -m pip install --quiet --disable-pip-version-check \
            --no-input "tosa-tools>=2026.2"; }; then
        say "TOSA's tools cannot be installed; tests that call them will be skipped"
    fi
}

install_system_packages
install_python_packages
install_tosa_tools
