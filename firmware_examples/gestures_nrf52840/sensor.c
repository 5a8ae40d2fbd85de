/* sensor.c: plays back a recording; see sensor.h. */
#include "sensor.h"

#include <string.h>

#include "recording.h"

int sensor_read(sensor_step *step)
{
    static int next;

    if (next == RECORDING_STEPS) {
        return 0;
    }
    memcpy(step->motion, recorded_motion[next], sizeof step->motion);
    step->gesture = recorded_gesture[next];
    ++next;
    return 1;
}
