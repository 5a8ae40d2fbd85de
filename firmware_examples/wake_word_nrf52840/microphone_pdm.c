/*
 * microphone_pdm.c: a digital microphone at the nRF52840's PDM; see microphone.h.
 *
 * EasyDMA writes samples to RAM. SAMPLE.PTR is taken over when a buffer begins (STARTED): the address of the
 * next one is written then, while the first is filled, so that none is ever missed between two.
 * Source: nRF52840 Product Specification, chapters PDM (registers, EasyDMA), CLOCK and memory (instances).
 */
#include <string.h>

#include "board.h"
#include "microphone.h"

/* P0.26 and P0.25 as on an Arduino Nano 33 BLE Sense; any pin of P0 will do. */
#ifndef MICROPHONE_CLK_PIN
#define MICROPHONE_CLK_PIN 26u
#endif
#ifndef MICROPHONE_DIN_PIN
#define MICROPHONE_DIN_PIN 25u
#endif

#define PDM 0x4001D000u
#define PDM_IRQ 29u
#define TASKS_START (PDM + 0x000u)
#define EVENTS_STARTED (PDM + 0x100u)
#define EVENTS_END (PDM + 0x108u)
#define INTENSET (PDM + 0x304u)
#define ENABLE (PDM + 0x500u)
#define PDMCLKCTRL (PDM + 0x504u)
#define MODE (PDM + 0x508u)
#define GAINL (PDM + 0x518u)
#define RATIO (PDM + 0x520u)
#define PSEL_CLK (PDM + 0x540u)
#define PSEL_DIN (PDM + 0x544u)
#define SAMPLE_PTR (PDM + 0x560u)
#define SAMPLE_MAXCNT (PDM + 0x564u)
#define INT_STARTED (1u << 1)
#define INT_END (1u << 2)

#define TASKS_HFCLKSTART 0x40000000u
#define EVENTS_HFCLKSTARTED 0x40000100u
#define P0_OUTCLR 0x5000050Cu
#define P0_DIRSET 0x50000518u
#define NVIC_ISER0 0xE000E100u
#define SCB_VTOR 0xE000ED08u

#define CORE_VECTORS 16u
typedef void (*handler)(void);
/* The table of startup.c with the PDM's handler behind it: aligned to the next power of two of its size. */
static handler vectors[CORE_VECTORS + PDM_IRQ + 1u] __attribute__((aligned(256)));

static void pdm_interrupt(void)
{
    if (BOARD_REGISTER(EVENTS_END) != 0u) {
        BOARD_REGISTER(EVENTS_END) = 0u;
        microphone_half_is_full();
    }
    if (BOARD_REGISTER(EVENTS_STARTED) != 0u) {
        BOARD_REGISTER(EVENTS_STARTED) = 0u;
        BOARD_REGISTER(SAMPLE_PTR) = (uint32_t)(uintptr_t)microphone_half_to_fill();
    }
    (void)BOARD_REGISTER(EVENTS_STARTED); /* written before the interrupt is left: else it comes again */
}

static void take_interrupt(void)
{
    memcpy(vectors, (const void *)(uintptr_t)BOARD_REGISTER(SCB_VTOR), CORE_VECTORS * sizeof *vectors);
    vectors[CORE_VECTORS + PDM_IRQ] = pdm_interrupt;
    BOARD_REGISTER(SCB_VTOR) = (uint32_t)(uintptr_t)vectors;
    __asm__ volatile("dsb" ::: "memory");
    BOARD_REGISTER(NVIC_ISER0) = 1u << PDM_IRQ;
}

void microphone_start(void)
{
    BOARD_REGISTER(EVENTS_HFCLKSTARTED) = 0u;
    BOARD_REGISTER(TASKS_HFCLKSTART) = 1u; /* the crystal: PDM's clock is made from it */
    while (BOARD_REGISTER(EVENTS_HFCLKSTARTED) == 0u) {
    }
    BOARD_REGISTER(P0_OUTCLR) = 1u << MICROPHONE_CLK_PIN;
    BOARD_REGISTER(P0_DIRSET) = 1u << MICROPHONE_CLK_PIN;
    BOARD_REGISTER(PSEL_CLK) = MICROPHONE_CLK_PIN;
    BOARD_REGISTER(PSEL_DIN) = MICROPHONE_DIN_PIN;
    BOARD_REGISTER(PDMCLKCTRL) = 0x0A000000u; /* 1.280 MHz */
    BOARD_REGISTER(RATIO) = 1u;               /* 80: 16 kHz */
    BOARD_REGISTER(MODE) = 1u;                /* mono, of the falling edge */
    BOARD_REGISTER(GAINL) = 0x28u;            /* 0 dB */
    BOARD_REGISTER(SAMPLE_MAXCNT) = MICROPHONE_HALF;
    BOARD_REGISTER(SAMPLE_PTR) = (uint32_t)(uintptr_t)microphone_half_to_fill();
    take_interrupt();
    BOARD_REGISTER(INTENSET) = INT_STARTED | INT_END;
    BOARD_REGISTER(ENABLE) = 1u;
    BOARD_REGISTER(TASKS_START) = 1u;
}

int microphone_has_ended(void)
{
    return 0;
}
