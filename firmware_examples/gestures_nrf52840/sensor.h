/* sensor.h: acceleration x y z and rotation x y z, ten times a second. */
#ifndef SENSOR_H
#define SENSOR_H

#include <stdint.h>

typedef struct {
    int16_t motion[6];
    uint8_t gesture; /* what the wearer did, to compare with; a real sensor does not know */
} sensor_step;

/* The next step. Returns 0 when there are no more. A driver of your sensor goes here. */
int sensor_read(sensor_step *step);

#endif
