*** Comments ***
The digits firmware on an STM32F4DISCOVERY in Renode: `make renode`.

*** Settings ***
Resource          ../common/renode.resource

*** Variables ***
${FIRMWARE}       ${CURDIR}/build/stm32f4-discovery/digits_stm32f4.elf

*** Test Cases ***
Twenty Digits Should Be Read
    Start Firmware    board=stm32f4-discovery    uart=usart2    firmware=${FIRMWARE}
    Lines Should Be As Expected    expected=${CURDIR}/expected.txt
