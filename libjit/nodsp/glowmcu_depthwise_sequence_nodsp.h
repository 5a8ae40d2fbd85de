/*
 * glowmcu_depthwise_sequence_nodsp.h: int8 depthwise convolutions along one axis, stride 1, for
 * Armv6-M: all of a channel before the next, two neighbouring results in one multiplication.
 *
 * A word X[t] = x[t] + (x[t+1] << 16) times a weight is a product of results t and t + 1. Two
 * products' lower halves fit 16 bits, then halves are added to 32-bit sums.
 *
 * Requantization is a line of integers with 24 bits behind the point, bent at zero:
 * u = min(max(v + zero, 0), span); (u * high + ((u * fine) >> 13) + addend - (v < 0 ? step : 0))
 * >> 24, of which 8 bits are the result, for the addend begins with the least one.
 */
#ifndef GLOWMCU_DEPTHWISE_SEQUENCE_NODSP_H
#define GLOWMCU_DEPTHWISE_SEQUENCE_NODSP_H

#include "glowmcu_base.h"
#include "glowmcu_thumb.h"

/* `scales`, words a channel: start; high << 13 | fine; addend; step's shift << 24 | span; zero. */
typedef struct {
    int32_t in_steps;
    int32_t out_steps;
    int32_t rows_are_steps; /* or else columns, all of one row */
    int32_t channels;
    int32_t pad;
    int32_t in_zero_point;
    const int8_t *weights;  /* [channels][taps] */
    const uint32_t *scales; /* [channels][5] */
} glowmcu_depthwise_sequence_nodsp;

/* All channels, in the order of the assembly, which moves on what is a channel's. */
typedef struct glowmcu_sequence_nodsp {
    const int8_t *in;
    uint32_t *words;     /* where the first element is in an upper half */
    int32_t zero_point;
    int32_t channels;    /* bytes from element to element */
    int32_t end;         /* of a channel's elements, in bytes */
    int32_t count;       /* of elements, at least 1 */
    const uint32_t *first; /* X of the first result */
    const uint32_t *last;
    int8_t *out;
    const int8_t *weights;
    const uint32_t *scales;
    int32_t left; /* channels */
} glowmcu_sequence_nodsp;

/* What is to be done for output rows [first_row, end_row), and the words that are padding alone. */
GLOWMCU_CODE
static void glowmcu_sequence_job(const glowmcu_depthwise_sequence_nodsp *p, int32_t taps,
    const int8_t *in, int8_t *out, uint32_t *words, int32_t first_row, int32_t end_row,
    glowmcu_sequence_nodsp *job)
{
    const int32_t steps = p->rows_are_steps ? end_row - first_row : p->out_steps;
    const int32_t begin = (p->rows_are_steps ? first_row : 0) - p->pad;
    const int32_t end = begin + steps + taps - 1;
    const int32_t lead = (begin < 0) ? -begin : 0;
    const int32_t count = ((end < p->in_steps) ? end : p->in_steps) - (begin + lead);

    for (int32_t i = 0; i < steps + taps; ++i) {
        if (i < lead || i > lead + count) {
            words[i] = (uint32_t)p->in_zero_point * 0x10001u;
        }
    }
    job->in = in;
    job->words = words + lead;
    job->zero_point = p->in_zero_point;
    job->channels = p->channels;
    job->end = count * p->channels;
    job->count = count;
    job->first = words + 1;
    job->last = words + steps;
    job->out = out;
    job->weights = p->weights;
    job->scales = p->scales;
    job->left = p->channels;
}

#if GLOWMCU_THUMB != 1
/* A channel's elements, two in a word: the upper one is the lower one of the next word. */
GLOWMCU_CODE
static void glowmcu_sequence_words(const glowmcu_sequence_nodsp *job)
{
    uint32_t *word = job->words;
    int32_t before = job->zero_point;

    for (int32_t at = 0; at < job->end; at += job->channels) {
        const int32_t x = job->in[at];
        *word = (uint32_t)before + ((uint32_t)x << 16);
        before = x;
        ++word;
    }
    *word = (uint32_t)before + ((uint32_t)job->zero_point << 16);
}

GLOWMCU_CODE
static int8_t glowmcu_sequence_result(const uint32_t *scale, int32_t raw)
{
    const int32_t v = raw + (int32_t)scale[0];
    const uint32_t shift = scale[3] >> 24;
    const uint32_t span = scale[3] & 0xFFFFFFu;
    const uint32_t step = (v < 0 && shift < 32u) ? (uint32_t)1 << shift : 0u;
    const int32_t above = v + (int32_t)scale[4];
    uint32_t u = (above > 0) ? (uint32_t)above : 0u;

    if (u > span) {
        u = span;
    }
    /* Both products are below 2^32; the last sum is modulo 2^32. */
    u = (u * (scale[1] >> 13) + ((u * (scale[1] & 0x1FFFu)) >> 13) + scale[2] - step) >> 24;
    return (int8_t)((u < 128u) ? (int32_t)u : (int32_t)u - 256);
}

/* The lower half of a word. */
GLOWMCU_CODE
static inline int32_t glowmcu_sequence_element(uint32_t word)
{
    return (int32_t)((word + 128u) & 0xFFu) - 128;
}
#endif

#endif /* GLOWMCU_DEPTHWISE_SEQUENCE_NODSP_H */
