/* Products with a sparse matrix on a CPU, one row at a time in registers.

   native_kernel.py calls these functions; it checks every size before, and nothing is checked here.
   graphfilter_walk runs a whole three-term recurrence, with the weighted sum of its terms and their
   inner products with another array, in one call: every row is finished (scaled, added up,
   multiplied) while it is in registers, and nothing returns to Python between the terms.

   Rows have `stride` floats, a multiple of LANES. The library is compiled with OpenMP but
   not linked with it: the symbols are those of the library torch has loaded, so that both share one
   pool of threads. Compiled without OpenMP, one thread does the same work, part by part. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LANES 16

typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* Only glibc, which <stdint.h> has announced, chooses among clones when a library is loaded. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define FOR_EVERY_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EVERY_CPU
#endif
#define INLINE static inline __attribute__((always_inline))

#ifdef _OPENMP
extern int omp_get_thread_num(void);
extern int omp_get_num_threads(void);
#else
INLINE int omp_get_thread_num(void) { return 0; }
INLINE int omp_get_num_threads(void) { return 1; }
#endif

typedef struct {
    const int32_t *offsets, *columns;
    const float *values;
    int64_t n_entries, ahead;
} Matrix;

/* Rows that lie far away are fetched this many entries before they are added, which is more than a
   processor looks ahead by itself: those of arrays of more than FAR bytes. Near ones come in time. */
#define AHEAD 32
#define FAR (6 << 20)

INLINE Matrix make_matrix(const int32_t *offsets, const int32_t *columns, const float *values,
                          int64_t n, int64_t stride) {
    return (Matrix){offsets, columns, values, offsets[n],
                    n * stride * (int64_t)sizeof(float) > FAR ? AHEAD : 0};
}

/* Raised with every change of what the functions below take. */
int graphfilter_interface(void) { return 4; }

/* One term of the recurrence: out <- scale M current + skip current + keep old, and what goes with it. */
typedef struct {
    const float *current, *old, *against, *weights, *weights_of_x;
    float *out, *sums;
    double *dots, *dots_of_x;
    float scale, skip, keep;
} Term;

INLINE void add_row(Matrix m, int64_t e, const float *x, int64_t stride, const int wide,
                    lanes *total) {
    const lanes *from = (const lanes *)(x + m.columns[e] * stride);
    const float value = m.values[e];
    for (int v = 0; v < wide; v++) total[v] += value * from[v];
}

/* Sum the rows of x at the column numbers of one row of M, `wide` vectors of each. */
INLINE void gather(Matrix m, int64_t row, const float *x, int64_t stride, const int wide,
                   lanes *total) {
    for (int v = 0; v < wide; v++) total[v] = (lanes){0};
    int64_t e = m.offsets[row];
    const int64_t end = m.offsets[row + 1];
    if (m.ahead && end + m.ahead <= m.n_entries)
        for (; e < end; e++) {
            const lanes *next = (const lanes *)(x + m.columns[e + m.ahead] * stride);
            for (int v = 0; v < wide; v++) __builtin_prefetch(next + v);
            add_row(m, e, x, stride, wide, total);
        }
    for (; e < end; e++) add_row(m, e, x, stride, wide, total);
}

/* Make `wide` vectors of these rows; with `against`, sum their products with it as well. */
INLINE void block_of_rows(Matrix m, Term t, int64_t first, int64_t last, int64_t stride,
                          int64_t at, const int wide) {
    const lanes *weights = (const lanes *)(t.weights + at);
    const lanes *first_weights = t.weights_of_x ? (const lanes *)(t.weights_of_x + at) : 0;
    lanes dots[4], dots_of_x[4];
    for (int v = 0; v < wide; v++) dots[v] = dots_of_x[v] = (lanes){0};
    for (int64_t row = first; row < last; row++) {
        const int64_t place = row * stride + at;
        const lanes *current = (const lanes *)(t.current + place);
        lanes made[4], *sums = (lanes *)(t.sums + place);
        gather(m, row, t.current + at, stride, wide, made);
        for (int v = 0; v < wide; v++) made[v] *= t.scale;
        if (t.skip != 0)
            for (int v = 0; v < wide; v++) made[v] += t.skip * current[v];
        if (t.keep != 0)
            for (int v = 0; v < wide; v++) made[v] += t.keep * ((const lanes *)(t.old + place))[v];
        if (first_weights)
            for (int v = 0; v < wide; v++) sums[v] = first_weights[v] * current[v];
        for (int v = 0; v < wide; v++) {
            ((lanes *)(t.out + place))[v] = made[v];
            sums[v] += weights[v] * made[v];
        }
        if (t.against) {
            const lanes *against = (const lanes *)(t.against + place);
            for (int v = 0; v < wide; v++) dots[v] += made[v] * against[v];
            if (first_weights)
                for (int v = 0; v < wide; v++) dots_of_x[v] += current[v] * against[v];
        }
    }
    if (t.against)
        for (int v = 0; v < wide; v++)
            for (int i = 0; i < LANES; i++) {
                t.dots[at + v * LANES + i] += dots[v][i];
                if (first_weights) t.dots_of_x[at + v * LANES + i] += dots_of_x[v][i];
            }
}

/* Sums of products are kept in single precision over this many rows, then in double. */
#define ROWS_AT_A_TIME 64

FOR_EVERY_CPU
static void term_of_rows(const Matrix *matrix, const Term *term, int64_t first, int64_t last,
                         int64_t stride) {
    const Matrix m = *matrix;
    const Term t = *term;
    for (int64_t row = first; row < last; row += ROWS_AT_A_TIME) {
        const int64_t end = row + ROWS_AT_A_TIME < last ? row + ROWS_AT_A_TIME : last;
        int64_t at = 0;
        for (; at + 4 * LANES <= stride; at += 4 * LANES)
            block_of_rows(m, t, row, end, stride, at, 4);
        for (; at + 2 * LANES <= stride; at += 2 * LANES)
            block_of_rows(m, t, row, end, stride, at, 2);
        for (; at < stride; at += LANES) block_of_rows(m, t, row, end, stride, at, 1);
    }
}

/* Copy `width` columns of rows between arrays of other strides; what is left of a row is set to 0. */
static void copy_columns(const float *from, int64_t from_stride, float *to, int64_t to_stride,
                         int64_t width, int64_t padding, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row++) {
        memcpy(to + row * to_stride, from + row * from_stride, sizeof(float) * width);
        if (padding) memset(to + row * to_stride + width, 0, sizeof(float) * padding);
    }
}

/* Make the terms B_0 x = x, B_1 x, ... of a three-term recurrence and add them up: total = w_0 x + w_1 B_1 x + ...

   Columns do not meet, so `block` of them walk at a time, in arrays of their own unless they are all.

   x, against, total: (n, n_columns); weights: (degree + 1, padded), padded being the next multiple of
   LANES; steps: (degree, 3), the scale, skip and keep of each term; room: (5, n, block), of which two
   are used where a block is all columns, without padding; cuts: (n_parts + 1), the rows of each part;
   dots: (n_parts, degree + 1, padded), zeros, or nothing where there is no `against`. */
void graphfilter_walk(int64_t n_columns, int64_t block, int64_t degree, const int32_t *offsets,
                      const int32_t *columns, const float *values, const float *x,
                      const float *against, const float *weights, const double *steps, float *total,
                      float *room, double *dots, int64_t n_parts, const int64_t *cuts) {
    const int64_t n = cuts[n_parts], padded = (n_columns + LANES - 1) / LANES * LANES;
#pragma omp parallel num_threads(n_parts)
    for (int64_t at = 0; at < n_columns; at += block) {
        const int64_t width = n_columns - at < block ? n_columns - at : block;
        const int64_t padding = (LANES - width % LANES) % LANES, stride = width + padding;
        const Matrix m = make_matrix(offsets, columns, values, n, stride);
        const int thread = omp_get_thread_num(), n_threads = omp_get_num_threads();
        const int apart = stride != n_columns;
        float *one = room, *two = one + n * stride, *sums = apart ? two + n * stride : total;
        float *own = sums + n * stride, *other = own + n * stride;
        if (apart) {
            for (int64_t p = thread; p < n_parts; p += n_threads) {
                copy_columns(x + at, n_columns, own, stride, width, padding, cuts[p], cuts[p + 1]);
                if (against)
                    copy_columns(against + at, n_columns, other, stride, width, padding, cuts[p],
                                 cuts[p + 1]);
            }
#pragma omp barrier
        }
        const float *start = apart ? own : x;
        for (int64_t k = 0; k < degree; k++) {
            Term t = {.current = k == 0 ? start : k % 2 ? one : two,
                      .old = k < 2 ? start : k % 2 ? two : one,
                      .out = k % 2 ? two : one,
                      .sums = sums, .against = against && apart ? other : against,
                      .weights = weights + (k + 1) * padded + at,
                      .weights_of_x = k == 0 ? weights + at : 0,
                      .scale = (float)steps[3 * k], .skip = (float)steps[3 * k + 1],
                      .keep = (float)steps[3 * k + 2]};
            for (int64_t p = thread; p < n_parts; p += n_threads) {
                if (dots) {
                    t.dots_of_x = dots + p * (degree + 1) * padded + at;
                    t.dots = t.dots_of_x + (k + 1) * padded;
                }
                term_of_rows(&m, &t, cuts[p], cuts[p + 1], stride);
            }
#pragma omp barrier
        }
        if (apart) {
            for (int64_t p = thread; p < n_parts; p += n_threads)
                copy_columns(sums, stride, total + at, n_columns, width, 0, cuts[p], cuts[p + 1]);
#pragma omp barrier
        }
    }
}

INLINE void product_block(Matrix m, const float *x, float *out, int64_t row, int64_t stride,
                          int64_t at, float scale, float keep, const int wide) {
    lanes made[4], *to = (lanes *)(out + row * stride + at);
    gather(m, row, x + at, stride, wide, made);
    for (int v = 0; v < wide; v++) made[v] *= scale;
    if (keep != 0)
        for (int v = 0; v < wide; v++) made[v] += keep * to[v];
    for (int v = 0; v < wide; v++) to[v] = made[v];
}

FOR_EVERY_CPU
static void product_of_rows(const Matrix *matrix, const float *x, float *out, int64_t first,
                            int64_t last, int64_t width, int64_t stride, float scale, float keep) {
    const Matrix m = *matrix;
    for (int64_t row = first; row < last; row++) {
        int64_t at = 0;
        for (; at + 4 * LANES <= width; at += 4 * LANES)
            product_block(m, x, out, row, stride, at, scale, keep, 4);
        for (; at + 2 * LANES <= width; at += 2 * LANES)
            product_block(m, x, out, row, stride, at, scale, keep, 2);
        for (; at < width; at += LANES)
            product_block(m, x, out, row, stride, at, scale, keep, 1);
    }
}

/* out <- scale M x + keep out, in `width` columns of rows of `stride`. */
void graphfilter_multiply(int64_t width, int64_t stride, const int32_t *offsets,
                          const int32_t *columns, const float *values, const float *x, float *out,
                          double scale, double keep, int64_t n_parts, const int64_t *cuts) {
    const Matrix m = make_matrix(offsets, columns, values, cuts[n_parts], stride);
#pragma omp parallel num_threads(n_parts)
    for (int64_t p = omp_get_thread_num(); p < n_parts; p += omp_get_num_threads())
        product_of_rows(&m, x, out, cuts[p], cuts[p + 1], width, stride, (float)scale,
                        (float)keep);
}

#include "native_layers.h"
