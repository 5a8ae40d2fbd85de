/*
 * glowmcu_depthwise_planes_nodsp.h: int8 depthwise 3x3 convolution, stride 1, padded by one, for
 * Armv6-M: all of a channel before the next, two rows of results at a time. Of the window the
 * middle column comes first, then the left one: glowmcu_plane_nodsp.h.
 */
#ifndef GLOWMCU_DEPTHWISE_PLANES_NODSP_H
#define GLOWMCU_DEPTHWISE_PLANES_NODSP_H

#include "glowmcu_plane_nodsp.h"

/* What one channel takes, in the order of the assembly. */
typedef struct glowmcu_plane_nodsp {
    const int8_t *lines[4]; /* of input; at first the last two are the two above the third */
    int32_t weights[9];
    glowmcu_plane_line line;
    int8_t *out[2];   /* of two rows, less a pixel */
    int32_t channels; /* bytes from pixel to pixel */
    int32_t last;     /* a line's last pixel; its first one is at `first` */
    uint32_t fine;
    uint32_t left[2];  /* what padding beside the image adds to both sums, and to the second */
    uint32_t right[2];
    int32_t first;
    int32_t pitch; /* bytes from line to line */
    const int8_t *bottom;  /* the first line that is not there */
    const int8_t *padding; /* what is there instead */
    int8_t *next;          /* the next row of results, less a pixel */
    int32_t rows;          /* at least 1 */
} glowmcu_plane_nodsp;

#if GLOWMCU_THUMB == 1
#include "glowmcu_depthwise_planes_armv6m.h"
#else
/* One result, whose column is `x`, from three lines, the first of which ends with `corner`. */
GLOWMCU_CODE
static int8_t glowmcu_plane_pixel(const glowmcu_plane_nodsp *job, const int8_t *const *lines,
    int32_t x, int32_t corner)
{
    const int32_t *w = job->weights;
    int32_t sum = 0;

    for (int32_t kx = 0; kx < 3; ++kx) {
        const int32_t at = x + ((kx == 0) ? 0 : (kx == 1) ? -job->channels : job->channels);
        if (at < job->first) {
            sum += (int32_t)job->left[1];
        } else if (at > job->last) {
            sum += (int32_t)job->right[1];
        } else {
            sum += ((at == job->last) ? corner : lines[0][at]) * w[3 * kx];
            sum += lines[1][at] * w[3 * kx + 1] + lines[2][at] * w[3 * kx + 2];
        }
    }
    return glowmcu_plane_result(&job->line, job->fine, sum);
}

/* All rows of one channel. A turn reads for two results before it writes them. */
GLOWMCU_CODE
static void glowmcu_depthwise_plane(glowmcu_plane_nodsp *job)
{
    const int8_t **lines = job->lines;
    int8_t *out = job->next + job->channels;

    for (int32_t row = 0; row < job->rows; row += 2) {
        const int32_t is_pair = (row + 1 < job->rows) ? 1 : 0;
        int32_t corner;
        lines[0] = lines[2];
        lines[1] = lines[3];
        for (int32_t i = 2; i < 4; ++i) {
            const int8_t *above = lines[i - 1];
            lines[i] = (above == job->padding && i == 3) || above + job->pitch == job->bottom
                ? job->padding : above + job->pitch;
        }
        corner = lines[0][job->last];
        for (int32_t x = job->first; x <= job->last; x += job->channels) {
            const int8_t upper = glowmcu_plane_pixel(job, lines, x, corner);
            const int8_t lower = glowmcu_plane_pixel(job, lines + 1, x, lines[1][job->last]);
            out[x] = upper;
            if (is_pair != 0) {
                out[x + job->pitch] = lower;
            }
        }
        out += 2 * job->pitch;
    }
}
#endif

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. The result may share
 * the image's bytes only whole pixels apart, so that what one channel writes no other reads: a row
 * and a pixel below the image. Lines have at least three pixels.
 * scratch: [in_width * channels bytes]
 */
GLOWMCU_CODE
static GLOWMCU_NEVER_INLINE void glowmcu_depthwise_planes_s8(
    const glowmcu_depthwise_planes_nodsp *p, const int8_t *in, int8_t *out, int8_t *scratch,
    int32_t first_row, int32_t end_row)
{
    const int32_t pitch = p->in_width * p->channels;
    const int32_t in_row = glowmcu_first_input_row(first_row, 1, 1);
    const int32_t end_line = (end_row < p->in_height) ? end_row + 1 : p->in_height;
    glowmcu_plane_nodsp job;

    if (first_row >= end_row) {
        return;
    }
    (void)memset(scratch, (int)p->in_zero_point, (size_t)pitch);
    job.channels = p->channels;
    job.pitch = pitch;
    job.bottom = in + (end_line - in_row) * pitch;
    job.padding = scratch;
    job.rows = end_row - first_row;
    for (int32_t c = 0; c < p->channels; ++c) {
        const int32_t rows = job.rows;
        job.first = c;
        job.last = pitch - p->channels + c;
        job.lines[2] = (first_row > 0) ? in : scratch;
        job.lines[3] = (first_row > 0) ? in + pitch : in;
        job.next = out - p->channels;
        glowmcu_plane_constants(p, c, job.weights, &job.line, &job.fine);
        glowmcu_plane_padding(p, job.weights + 3, job.left);
        glowmcu_plane_padding(p, job.weights + 6, job.right);
        glowmcu_depthwise_plane(&job);
        job.rows = rows;
    }
}

#endif /* GLOWMCU_DEPTHWISE_PLANES_NODSP_H */
