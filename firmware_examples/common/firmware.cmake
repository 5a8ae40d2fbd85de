# What the examples' CMakeLists.txt share. Needs BOARD, one of common/boards.
#   firmware_bundle(name model [options...])   compiles a model with glowmcu and adds its library
#   firmware_data(script what from to)         runs the example's script for a file that firmware or bundle need
#   firmware(name sources...)                  an ELF file for the board
#   firmware_run(file target [options...])     `run` starts the file in QEMU after the target is built
set(COMMON ${CMAKE_CURRENT_LIST_DIR})
set(EXAMPLES ${COMMON}/../../examples)
set(GLOWMCU glowmcu CACHE STRING "the glowmcu command")
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# The same `NAME = value` lines that make reads.
file(STRINGS ${COMMON}/boards/${BOARD}.mk board_lines REGEX "^[A-Z_]+ = ")
foreach(line IN LISTS board_lines)
  string(REGEX MATCH "^([A-Z_]+) = (.*)$" line "${line}")
  separate_arguments(BOARD_${CMAKE_MATCH_1} UNIX_COMMAND "${CMAKE_MATCH_2}")
endforeach()
add_compile_options(${BOARD_CPU} -O2 -g -ffunction-sections -fdata-sections)
add_link_options(${BOARD_CPU})

function(firmware_bundle name model)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name})
  if(${model} IS_NEWER_THAN ${folder}/${name}.h)
    separate_arguments(glowmcu UNIX_COMMAND "${GLOWMCU}")
    execute_process(COMMAND ${glowmcu} compile ${model} --board ${BOARD} --name ${name} -o ${folder} ${ARGN}
      RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "glowmcu failed")
    endif()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${model})
  add_subdirectory(${folder} ${folder}/build)
endfunction()

function(firmware_data script what from to)
  set(script ${CMAKE_CURRENT_SOURCE_DIR}/${script})
  set(to ${CMAKE_CURRENT_BINARY_DIR}/${to})
  if(${from} IS_NEWER_THAN ${to} OR ${script} IS_NEWER_THAN ${to})
    execute_process(COMMAND ${Python3_EXECUTABLE} ${script} ${what} ${from} ${to} RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "${script} failed")
    endif()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script} ${from})
endfunction()

# The smaller of the C libraries that the compiler has: newlib's for small programs, or picolibc.
set(LIBC "")
foreach(specs picolibc.specs nano.specs)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${specs} OUTPUT_VARIABLE found)
  if(found MATCHES "/")
    set(LIBC --specs=${specs})
  endif()
endforeach()

function(firmware name)
  add_executable(${name} ${ARGN} ${COMMON}/startup.c ${COMMON}/print.c ${COMMON}/boards/${BOARD_BOARD_SOURCE})
  set_target_properties(${name} PROPERTIES SUFFIX .elf C_STANDARD 99 C_EXTENSIONS OFF)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${COMMON} ${CMAKE_CURRENT_BINARY_DIR})
  target_compile_options(${name} PRIVATE ${BOARD_DEFINES} -Wall -Wextra -Werror -Wshadow)
  target_link_options(${name} PRIVATE -nostartfiles ${LIBC} -Wl,--gc-sections -L${COMMON}
    -T ${COMMON}/boards/${BOARD}.ld)
endfunction()

function(firmware_run file target)
  set(serial 0 ${BOARD_QEMU_SERIAL})
  list(GET serial -1 serial)
  add_custom_target(run COMMAND ${Python3_EXECUTABLE} ${COMMON}/run_in_qemu.py
    --machine "${BOARD_QEMU_MACHINE}" --serial ${serial} ${ARGN} ${file} VERBATIM DEPENDS ${target})
endfunction()
