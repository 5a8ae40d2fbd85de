/*
 * console.h: text out of the debugger (Arm semihosting); on a product this would be a UART.
 */
#ifndef CONSOLE_H
#define CONSOLE_H

void console_text(const char *text);
void console_number(int value);

/* End the program and the emulator. */
void console_exit(void);

#endif /* CONSOLE_H */
