/* STM32F4DISCOVERY: USART2 on PA2, at the 16 MHz that the chip starts with. */
#include "board.h"

#define RCC_AHB1ENR 0x40023830u
#define RCC_APB1ENR 0x40023840u
#define GPIOA_MODER 0x40020000u
#define GPIOA_AFRL 0x40020020u
#define USART2_SR 0x40004400u
#define USART2_DR 0x40004404u
#define USART2_BRR 0x40004408u
#define USART2_CR1 0x4000440Cu

#define SR_TXE (1u << 7)
#define CR1_TE (1u << 3)
#define CR1_UE (1u << 13)

void board_open(void)
{
    BOARD_REGISTER(RCC_AHB1ENR) |= 1u << 0;  /* port A */
    BOARD_REGISTER(RCC_APB1ENR) |= 1u << 17; /* USART2 */
    BOARD_REGISTER(GPIOA_AFRL) = (BOARD_REGISTER(GPIOA_AFRL) & ~0xF00u) | 0x700u;
    BOARD_REGISTER(GPIOA_MODER) = (BOARD_REGISTER(GPIOA_MODER) & ~0x30u) | 0x20u;
    BOARD_REGISTER(USART2_BRR) = 139u; /* 16 MHz / 115 200 */
    BOARD_REGISTER(USART2_CR1) = CR1_UE | CR1_TE;
}

void board_write(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i) {
        while ((BOARD_REGISTER(USART2_SR) & SR_TXE) == 0u) {
        }
        BOARD_REGISTER(USART2_DR) = (uint32_t)(unsigned char)text[i];
    }
}
