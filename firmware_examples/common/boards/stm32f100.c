/* STM32VLDISCOVERY: USART1 on PA9, at the 8 MHz that the chip starts with. */
#include "board.h"

#define RCC_APB2ENR 0x40021018u
#define GPIOA_CRH 0x40010804u
#define USART1_SR 0x40013800u
#define USART1_DR 0x40013804u
#define USART1_BRR 0x40013808u
#define USART1_CR1 0x4001380Cu

#define SR_TXE (1u << 7)
#define CR1_TE (1u << 3)
#define CR1_UE (1u << 13)

void board_open(void)
{
    BOARD_REGISTER(RCC_APB2ENR) |= (1u << 2) | (1u << 14); /* port A, USART1 */
    BOARD_REGISTER(GPIOA_CRH) = (BOARD_REGISTER(GPIOA_CRH) & ~0xF0u) | 0xB0u;
    BOARD_REGISTER(USART1_BRR) = 69u; /* 8 MHz / 115 200 */
    BOARD_REGISTER(USART1_CR1) = CR1_UE | CR1_TE;
}

void board_write(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i) {
        while ((BOARD_REGISTER(USART1_SR) & SR_TXE) == 0u) {
        }
        BOARD_REGISTER(USART1_DR) = (uint32_t)(unsigned char)text[i];
    }
}
