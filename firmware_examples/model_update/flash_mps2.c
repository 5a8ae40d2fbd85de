/* flash_mps2.c: the MPS2 board has SRAM where others have flash. */
#include "flash.h"

#include <string.h>

void flash_write(const void *to, const void *from, uint32_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, bytes);
}
