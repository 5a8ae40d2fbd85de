*** Comments ***
The gestures firmware on an nRF52840 in Renode: `make renode`.

*** Settings ***
Resource          ../common/renode.resource

*** Variables ***
${FIRMWARE}       ${CURDIR}/build/nrf52/gestures_nrf52840.elf

*** Test Cases ***
Four Gestures Should Be Recognized
    Start Firmware    board=nrf52    uart=uart0    firmware=${FIRMWARE}
    Lines Should Be As Expected    expected=${CURDIR}/expected.txt
