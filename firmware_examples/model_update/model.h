/* model.h: a model's constants in a part of flash of their own, and the header that vouches for them. */
#ifndef MODEL_H
#define MODEL_H

#include <stdint.h>

#define MODEL_MAGIC 0x574F4C47u /* "GLOW" */
#ifndef MODEL_VERSION
#define MODEL_VERSION 1u
#endif

/* make_data.py fills in bytes and CRCs. The constants follow. */
typedef struct {
    uint32_t magic;
    uint32_t version;
    uint32_t bytes;     /* of constants */
    uint32_t crc;       /* CRC-32 of the constants */
    uint32_t code_crc;  /* CRC-32 of the firmware's code: constants mean nothing to any other */
} model_header;

typedef enum { MODEL_GOOD, MODEL_MISSING, MODEL_TOO_LARGE, MODEL_DAMAGED, MODEL_OF_OTHER_CODE } model_state;

extern const model_header model_installed; /* where the network reads its constants */
extern const model_header model_received;  /* what came over the air, perhaps */

model_state model_check(const model_header *model);
const char *model_state_name(model_state state);

/* Copies the received model over the installed one. Returns its state; only a good one is copied. */
model_state model_install(void);

#endif
