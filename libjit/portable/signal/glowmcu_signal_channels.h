/*
 * glowmcu_signal_channels.h: which energies a filter bank sums by channel.
 */
#ifndef GLOWMCU_SIGNAL_CHANNELS_H
#define GLOWMCU_SIGNAL_CHANNELS_H

#include "glowmcu_base.h"

typedef struct {
    int32_t channels;        /* of the result; there is one in front of them */
    const int16_t *places;   /* [channels + 1][2]: the first energy, and how many */
    const int16_t *weights;  /* for each energy in turn: for this channel, for the next */
} glowmcu_signal_filter_bank;

#endif /* GLOWMCU_SIGNAL_CHANNELS_H */
