/* flash.h: writing the flash that holds the model. */
#ifndef FLASH_H
#define FLASH_H

#include <stdint.h>

/* Erases and writes; a driver of your chip's flash goes here. */
void flash_write(const void *to, const void *from, uint32_t bytes);

#endif
