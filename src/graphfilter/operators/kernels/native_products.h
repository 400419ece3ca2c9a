/* Products and recurrences for columns stored as STORED; included by native.c for each type, which
   gives NAME its ending, and the load and save of LANES numbers. */

/* One term of the recurrence: out <- scale M current + skip current + keep old, and what goes with it. */
typedef struct {
    const STORED *current, *old, *against;
    const float *weights, *weights_of_x;
    STORED *out;
    float *sums;
    double *dots, *dots_of_x;
    float scale, skip, keep;
} NAME(Term);

INLINE void NAME(add_row)(Matrix m, int64_t e, const STORED *x, int64_t stride, const int wide,
                          lanes *total) {
    const STORED *from = x + m.columns[e] * stride;
    const float value = m.values[e];
    for (int v = 0; v < wide; v++) {
        lanes row;
        NAME(load)(from + v * LANES, &row);
        total[v] += value * row;
    }
}

/* Sum the rows of x at the column numbers of one row of M, `wide` vectors of each. */
INLINE void NAME(gather)(Matrix m, int64_t row, const STORED *x, int64_t stride, const int wide,
                         lanes *total) {
    for (int v = 0; v < wide; v++) total[v] = (lanes){0};
    int64_t e = m.offsets[row];
    const int64_t end = m.offsets[row + 1];
    if (m.ahead && end + m.ahead <= m.n_entries)
        for (; e < end; e++) {
            const char *next = (const char *)(x + m.columns[e + m.ahead] * stride);
            for (int at = 0; at < wide * LANES * (int)sizeof(STORED); at += LINE)
                __builtin_prefetch(next + at);
            NAME(add_row)(m, e, x, stride, wide, total);
        }
    for (; e < end; e++) NAME(add_row)(m, e, x, stride, wide, total);
}

/* Make `wide` vectors of these rows; with `against`, sum their products with it as well. */
INLINE void NAME(block_of_rows)(Matrix m, NAME(Term) t, int64_t first, int64_t last, int64_t stride,
                                int64_t at, const int wide) {
    const lanes *weights = (const lanes *)(t.weights + at);
    const lanes *first_weights = t.weights_of_x ? (const lanes *)(t.weights_of_x + at) : 0;
    lanes dots[4], dots_of_x[4];
    for (int v = 0; v < wide; v++) dots[v] = dots_of_x[v] = (lanes){0};
    for (int64_t row = first; row < last; row++) {
        const int64_t place = row * stride + at;
        lanes made[4], current[4], other[4], *sums = (lanes *)(t.sums + place);
        NAME(gather)(m, row, t.current + at, stride, wide, made);
        for (int v = 0; v < wide; v++) {
            made[v] *= t.scale;
            current[v] = (lanes){0};
            if (t.skip != 0 || first_weights) NAME(load)(t.current + place + v * LANES, current + v);
            if (t.skip != 0) made[v] += t.skip * current[v];
            if (t.keep != 0) {
                NAME(load)(t.old + place + v * LANES, other + v);
                made[v] += t.keep * other[v];
            }
        }
        if (first_weights)
            for (int v = 0; v < wide; v++) sums[v] = first_weights[v] * current[v];
        for (int v = 0; v < wide; v++) {
            NAME(save)(t.out + place + v * LANES, made + v);
            sums[v] += weights[v] * made[v];
        }
        if (t.against)
            for (int v = 0; v < wide; v++) {
                NAME(load)(t.against + place + v * LANES, other + v);
                dots[v] += made[v] * other[v];
                if (first_weights) dots_of_x[v] += current[v] * other[v];
            }
    }
    if (t.against)
        for (int v = 0; v < wide; v++)
            for (int i = 0; i < LANES; i++) {
                t.dots[at + v * LANES + i] += dots[v][i];
                if (first_weights) t.dots_of_x[at + v * LANES + i] += dots_of_x[v][i];
            }
}

FOR_EVERY_CPU
static void NAME(term_of_rows)(const Matrix *matrix, const NAME(Term) *term, int64_t first,
                               int64_t last, int64_t stride) {
    const Matrix m = *matrix;
    const NAME(Term) t = *term;
    for (int64_t row = first; row < last; row += ROWS_AT_A_TIME) {
        const int64_t end = row + ROWS_AT_A_TIME < last ? row + ROWS_AT_A_TIME : last;
        int64_t at = 0;
        for (; at + 4 * LANES <= stride; at += 4 * LANES)
            NAME(block_of_rows)(m, t, row, end, stride, at, 4);
        for (; at + 2 * LANES <= stride; at += 2 * LANES)
            NAME(block_of_rows)(m, t, row, end, stride, at, 2);
        for (; at < stride; at += LANES) NAME(block_of_rows)(m, t, row, end, stride, at, 1);
    }
}

/* Copy `width` columns of rows between arrays of other strides; what is left of a row is set to 0. */
static void NAME(copy_columns)(const STORED *from, int64_t from_stride, STORED *to,
                               int64_t to_stride, int64_t width, int64_t padding, int64_t first,
                               int64_t last) {
    for (int64_t row = first; row < last; row++) {
        memcpy(to + row * to_stride, from + row * from_stride, sizeof(STORED) * width);
        if (padding) memset(to + row * to_stride + width, 0, sizeof(STORED) * padding);
    }
}

FOR_EVERY_CPU
static void NAME(copy_sums)(const float *from, int64_t from_stride, STORED *to, int64_t to_stride,
                            int64_t width, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row++)
        for (int64_t at = 0; at < width; at += LANES) {
            STORED made[LANES];
            const int64_t n = width - at < LANES ? width - at : LANES;
            NAME(save)(made, (const lanes *)(from + row * from_stride + at));
            memcpy(to + row * to_stride + at, made, sizeof(STORED) * n);
        }
}

/* A whole recurrence; see graphfilter_walk. */
typedef struct {
    int64_t n, n_columns, padded, block, degree;
    const int32_t *offsets, *columns;
    const float *values, *weights;
    const STORED *x, *against;
    const double *steps;
    STORED *total;
    double *dots;
    const int64_t *cuts;
} NAME(Walk);

/* Walk with the columns from `at` to at + block, in these arrays. */
static void NAME(walk_block)(const NAME(Walk) *w, int64_t at, STORED *room, float *sums,
                             Team *team) {
    const int64_t n = w->n, padded = w->padded, all = w->n_columns;
    const int64_t width = all - at < w->block ? all - at : w->block;
    const int64_t padding = (LANES - width % LANES) % LANES, stride = width + padding;
    const Matrix m = make_matrix(w->offsets, w->columns, w->values, n, stride * sizeof(STORED));
    const int apart = stride != all;
    STORED *one = room, *two = one + n * stride, *own = two + n * stride, *other = own + n * stride;
    if (apart) {
        EACH_CHUNK(p, team) {
            const int64_t first = w->cuts[p], last = w->cuts[p + 1];
            NAME(copy_columns)(w->x + at, all, own, stride, width, padding, first, last);
            if (w->against)
                NAME(copy_columns)(w->against + at, all, other, stride, width, padding, first, last);
        }
        end_phase(team);
    }
    const STORED *start = apart ? own : w->x;
    for (int64_t k = 0; k < w->degree; k++) {
        NAME(Term) t = {.current = k == 0 ? start : k % 2 ? one : two,
                        .old = k < 2 ? start : k % 2 ? two : one,
                        .out = k % 2 ? two : one,
                        .sums = sums ? sums : (float *)w->total,
                        .against = w->against && apart ? other : w->against,
                        .weights = w->weights + (k + 1) * padded + at,
                        .weights_of_x = k == 0 ? w->weights + at : 0,
                        .scale = (float)w->steps[3 * k], .skip = (float)w->steps[3 * k + 1],
                        .keep = (float)w->steps[3 * k + 2]};
        EACH_CHUNK(p, team) {
            if (w->dots) {
                t.dots_of_x = w->dots + p * (w->degree + 1) * padded + at;
                t.dots = t.dots_of_x + (k + 1) * padded;
            }
            NAME(term_of_rows)(&m, &t, w->cuts[p], w->cuts[p + 1], stride);
        }
        end_phase(team);
    }
    if (!sums) return;
    EACH_CHUNK(p, team)
        NAME(copy_sums)(sums, stride, w->total + at, all, width, w->cuts[p], w->cuts[p + 1]);
    end_phase(team);
}

/* Make the terms B_0 x = x, B_1 x, ... of a three-term recurrence and add them up: total = w_0 x + w_1 B_1 x + ...

   Columns do not meet, so `block` of them walk at a time, in arrays of their own unless they are all.
   Each thread walks with blocks of its own where there are `n_rooms` > 1 for them, and nobody waits
   before the end; otherwise all threads walk together and share the rows.

   x, against, total: (n, n_columns); weights: (degree + 1, padded), padded being the next multiple of
   LANES; steps: (degree, 3), the scale, skip and keep of each term; room: (n_rooms, 4, n, block), of
   which two are used where a block is all columns, without padding; sums: (n_rooms, n, block), or
   nothing where those are floats in total itself; cuts: (n_chunks + 1), the rows of each chunk;
   dots: (n_chunks, degree + 1, padded), zeros, or nothing where there is no `against`. */
void NAME(graphfilter_walk)(int64_t n_columns, int64_t block, int64_t degree,
                            const int32_t *offsets, const int32_t *columns, const float *values,
                            const STORED *x, const STORED *against, const float *weights,
                            const double *steps, STORED *total, STORED *room, float *sums,
                            double *dots, int64_t n_chunks, const int64_t *cuts, int64_t n_threads,
                            int64_t n_rooms) {
    const int64_t n = cuts[n_chunks], padded = (n_columns + LANES - 1) / LANES * LANES;
    const NAME(Walk) w = {n, n_columns, padded, block, degree, offsets, columns, values, weights,
                          x, against, steps, total, dots, cuts};
    Shares shares;
    make_shares(&shares, n_rooms > 1 ? (n_columns + block - 1) / block : n_chunks, n_threads);
#pragma omp parallel num_threads(n_threads)
    {
        Team team = {&shares, n_chunks, 0}, alone = {0, n_chunks, 0};
        if (n_rooms > 1) {
            const int64_t thread = omp_get_thread_num();
            EACH_CHUNK(b, &team)
                NAME(walk_block)(&w, b * block, room + thread * 4 * n * block,
                                 sums + thread * n * block, &alone);
        } else {
            for (int64_t at = 0; at < n_columns; at += block)
                NAME(walk_block)(&w, at, room, sums, &team);
        }
    }
}

INLINE void NAME(product_block)(Matrix m, const STORED *x, STORED *out, int64_t row,
                                int64_t stride, int64_t at, float scale, float keep,
                                const int wide) {
    lanes made[4], before;
    STORED *to = out + row * stride + at;
    NAME(gather)(m, row, x + at, stride, wide, made);
    for (int v = 0; v < wide; v++) {
        made[v] *= scale;
        if (keep != 0) {
            NAME(load)(to + v * LANES, &before);
            made[v] += keep * before;
        }
        NAME(save)(to + v * LANES, made + v);
    }
}

FOR_EVERY_CPU
static void NAME(product_of_rows)(const Matrix *matrix, const STORED *x, STORED *out,
                                  int64_t first, int64_t last, int64_t width, int64_t stride,
                                  float scale, float keep) {
    const Matrix m = *matrix;
    for (int64_t row = first; row < last; row++) {
        int64_t at = 0;
        for (; at + 4 * LANES <= width; at += 4 * LANES)
            NAME(product_block)(m, x, out, row, stride, at, scale, keep, 4);
        for (; at + 2 * LANES <= width; at += 2 * LANES)
            NAME(product_block)(m, x, out, row, stride, at, scale, keep, 2);
        for (; at < width; at += LANES)
            NAME(product_block)(m, x, out, row, stride, at, scale, keep, 1);
    }
}

/* out <- scale M x + keep out, in `width` columns of rows of `stride`. */
void NAME(graphfilter_multiply)(int64_t width, int64_t stride, const int32_t *offsets,
                                const int32_t *columns, const float *values, const STORED *x,
                                STORED *out, double scale, double keep, int64_t n_chunks,
                                const int64_t *cuts, int64_t n_threads) {
    const Matrix m =
        make_matrix(offsets, columns, values, cuts[n_chunks], stride * sizeof(STORED));
    Shares shares;
    make_shares(&shares, n_chunks, n_threads);
#pragma omp parallel num_threads(n_threads)
    {
        const Team team = {&shares, n_chunks, 0};
        EACH_CHUNK(p, &team)
            NAME(product_of_rows)(&m, x, out, cuts[p], cuts[p + 1], width, stride, (float)scale,
                                  (float)keep);
    }
}
