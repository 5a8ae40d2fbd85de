*** Comments ***
The spoken digits firmware on an STM32F4DISCOVERY in Renode: `make renode`.

*** Settings ***
Resource          ../common/renode.resource

*** Variables ***
${FIRMWARE}       ${CURDIR}/build/stm32f4-discovery/spoken_digits.elf

*** Test Cases ***
Eight Digits Should Be Heard Between Letters
    Start Firmware    board=stm32f4-discovery    uart=usart2    firmware=${FIRMWARE}
    Lines Should Be As Expected    expected=${CURDIR}/expected.txt
