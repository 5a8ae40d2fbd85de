/*
 * glowmcu_depthwise_planes_step_nodsp.h: int8 depthwise 3x3 convolution, stride 2, padded by one
 * below and at the right alone, for Armv6-M: all of a channel before the next, two rows of results
 * at a time. Of the window the middle column comes first, then the right one; more is in
 * glowmcu_plane_nodsp.h.
 */
#ifndef GLOWMCU_DEPTHWISE_PLANES_STEP_NODSP_H
#define GLOWMCU_DEPTHWISE_PLANES_STEP_NODSP_H

#include "glowmcu_plane_nodsp.h"

/* What one channel takes, in the order of the assembly; its first pixel is at each address. */
typedef struct glowmcu_plane_step_nodsp {
    const int8_t *lines[5]; /* of input; at first the last one is the first */
    int32_t weights[9];
    glowmcu_plane_line line;
    int8_t *out[2];   /* of two rows, less a pixel */
    int32_t channels; /* bytes from pixel to pixel */
    int32_t end;      /* of a line */
    uint32_t fine;
    uint32_t right[2]; /* what padding adds to both sums, and to the second */
    int32_t pitch;     /* bytes from line to line */
    const int8_t *bottom;  /* the first line that is not there */
    const int8_t *padding; /* what is there instead */
    int8_t *next;          /* the next row of results, less a pixel */
    int32_t rows;          /* at least 1 */
    int32_t out_pitch;
} glowmcu_plane_step_nodsp;

#if GLOWMCU_THUMB == 1
#include "glowmcu_depthwise_planes_step_armv6m.h"
#else
/* One result, whose first column is `x`, from three lines. */
GLOWMCU_CODE
static int8_t glowmcu_plane_step_pixel(const glowmcu_plane_step_nodsp *job,
    const int8_t *const *lines, int32_t x)
{
    const int32_t *w = job->weights;
    int32_t sum = 0;

    for (int32_t ky = 0; ky < 3; ++ky) {
        sum += lines[ky][x] * w[6 + ky] + lines[ky][x + job->channels] * w[ky];
        if (x + 2 * job->channels != job->end) {
            sum += lines[ky][x + 2 * job->channels] * w[3 + ky];
        }
    }
    if (x + 2 * job->channels == job->end) {
        sum += (int32_t)job->right[1];
    }
    return glowmcu_plane_result(&job->line, job->fine, sum);
}

/* All rows of one channel. A turn reads for two results before it writes them. */
GLOWMCU_CODE
static void glowmcu_depthwise_plane_step(glowmcu_plane_step_nodsp *job)
{
    const int8_t **lines = job->lines;
    int8_t *out = job->next + job->channels;

    for (int32_t row = 0; row < job->rows; row += 2) {
        lines[0] = lines[4];
        for (int32_t i = 1; i < 5; ++i) {
            const int8_t *above = lines[i - 1];
            lines[i] = (above == job->padding || above + job->pitch == job->bottom)
                ? job->padding : above + job->pitch;
        }
        for (int32_t x = 0; x != job->end; x += 2 * job->channels) {
            const int8_t upper = glowmcu_plane_step_pixel(job, lines, x);
            const int8_t lower = glowmcu_plane_step_pixel(job, lines + 2, x);
            out[x >> 1] = upper;
            if (row + 1 < job->rows) {
                out[(x >> 1) + job->out_pitch] = lower;
            }
        }
        out += 2 * job->out_pitch;
    }
}
#endif

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. The result may share
 * the image's bytes only whole pixels apart, so that what one channel writes no other reads: a row
 * of results below the image. Lines have an even number of pixels.
 * scratch: [in_width * channels bytes]
 */
GLOWMCU_CODE
static GLOWMCU_NEVER_INLINE void glowmcu_depthwise_planes_step_s8(
    const glowmcu_depthwise_planes_nodsp *p, const int8_t *in, int8_t *out, int8_t *scratch,
    int32_t first_row, int32_t end_row)
{
    const int32_t pitch = p->in_width * p->channels;
    const int32_t end_line = (2 * end_row < p->in_height) ? 2 * end_row + 1 : p->in_height;
    glowmcu_plane_step_nodsp job;

    if (first_row >= end_row) {
        return;
    }
    (void)memset(scratch, (int)p->in_zero_point, (size_t)pitch);
    job.channels = p->channels;
    job.end = pitch;
    job.pitch = pitch;
    job.out_pitch = pitch >> 1;
    for (int32_t c = 0; c < p->channels; ++c) {
        job.rows = end_row - first_row;
        job.lines[4] = in + c;
        job.bottom = in + c + (end_line - 2 * first_row) * pitch;
        job.padding = scratch + c;
        job.next = out + c - p->channels;
        glowmcu_plane_constants(p, c, job.weights, &job.line, &job.fine);
        glowmcu_plane_padding(p, job.weights + 3, job.right);
        glowmcu_depthwise_plane_step(&job);
    }
}

#endif /* GLOWMCU_DEPTHWISE_PLANES_STEP_NODSP_H */
