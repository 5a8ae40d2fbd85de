*** Comments ***
The wake word firmware on an nRF52840 in Renode: `make renode`.

*** Settings ***
Resource          ../common/renode.resource

*** Variables ***
${FIRMWARE}       ${CURDIR}/build/nrf52/wake_word_nrf52840.elf

*** Test Cases ***
Both Wake Words Should Be Heard
    Start Firmware    board=nrf52    uart=uart0    firmware=${FIRMWARE}
    Lines Should Be As Expected    expected=${CURDIR}/expected.txt
