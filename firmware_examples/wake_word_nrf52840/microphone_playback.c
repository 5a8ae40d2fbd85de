/*
 * microphone_playback.c: a recording in place of a microphone, for emulators; see microphone.h.
 *
 * SysTick stands in for the PDM's interrupt: every 10 ms of the board's clock the half whose turn it is has
 * been filled, whether or not the main loop is done with the other.
 */
#include "board.h"
#include "microphone.h"
#include "sound.h"

#define SYST_CSR 0xE000E010u
#define SYST_RVR 0xE000E014u
#define SYST_CVR 0xE000E018u
#define HALVES_A_SECOND (MICROPHONE_RATE / MICROPHONE_HALF)

static volatile uint32_t played;

void SysTick_Handler(void);
void SysTick_Handler(void)
{
    int16_t *const half = microphone_half_to_fill();

    const uint32_t first = played;

    for (uint32_t i = 0; i < MICROPHONE_HALF; ++i) {
        half[i] = (first + i < SOUND_SAMPLES) ? (int16_t)(sound[first + i] * 256) : 0;
    }
    played = first + MICROPHONE_HALF;
    microphone_half_is_full();
}

void microphone_start(void)
{
    BOARD_REGISTER(SYST_RVR) = CPU_CLOCK_HZ / HALVES_A_SECOND - 1u;
    BOARD_REGISTER(SYST_CVR) = 0u;
    BOARD_REGISTER(SYST_CSR) = 7u; /* on, with its interrupt, by the core's clock */
}

int microphone_has_ended(void)
{
    return (played >= SOUND_SAMPLES) ? 1 : 0;
}
