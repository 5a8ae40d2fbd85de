/*
 * glowmcu_ethos_u.h: a region that Vela has compiled for an Arm Ethos-U, and the function that runs
 * it there: the bundle's folder `accelerator` has it, by Arm's core driver.
 */
#ifndef GLOWMCU_ETHOS_U_H
#define GLOWMCU_ETHOS_U_H

#include "glowmcu_hooks.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * `commands` and `constants` lie at multiples of 16. The device's base address 0 is that of the
 * constants, 1 that of the scratch, in which its inputs and outputs lie, and 2 that of the scratch
 * again, which Vela calls fast where there are two.
 */
typedef struct {
    const uint8_t *commands; /* with the header that the driver reads: COP1 */
    const uint8_t *constants;
    uint32_t commands_bytes;
    uint32_t constants_bytes;
    uint32_t scratch_bytes;
} glowmcu_ethos_u_region;

/*
 * Runs the region and returns when it is done: 0, or anything else where it is not. `scratch` is
 * at a multiple of 16.
 */
int32_t glowmcu_ethos_u_run(const glowmcu_ethos_u_region *region, int8_t *scratch);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GLOWMCU_ETHOS_U_H */
