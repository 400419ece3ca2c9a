/* Products and recurrences for columns stored as STORED; included by native.c for each type, which
   gives NAME its ending, and the load and save of LANES numbers. */

/* Columns whose rows lie `stride` apart. */
typedef struct {
    const STORED *at;
    int64_t stride;
} NAME(Columns);

/* Whether terms are summed in pairs: the sums are then read and written half as often. Not where the
   one before has lost precision in between. */
#define PAIRED (sizeof(STORED) == sizeof(float))

/* One term of a recurrence: out <- scale M current + skip current + keep old, and what goes with it.

   With `sums`, weights times this are added there, and its products with `x`, if any, to dots; with
   weights_of_current the same of `current`, the term before. Without, weights times x, if any, are
   added to it: a sum from its last term to its first, which needs no array of its own. */
typedef struct {
    NAME(Columns) current, old, x;
    const float *weights, *weights_of_current;
    STORED *out;
    float *sums;
    int64_t out_stride, sums_stride;
    double *dots, *dots_of_current;
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

/* Add the rows of x at the column numbers of one row of M, `wide` vectors of each. */
INLINE void NAME(add_rows)(Matrix m, int64_t row, const STORED *x, int64_t stride, const int wide,
                           lanes *total) {
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

INLINE void NAME(gather)(Matrix m, int64_t row, const STORED *x, int64_t stride, const int wide,
                         lanes *total) {
    for (int v = 0; v < wide; v++) total[v] = (lanes){0};
    NAME(add_rows)(m, row, x, stride, wide, total);
}

INLINE void NAME(load_all)(NAME(Columns) from, int64_t row, int64_t at, const int wide, lanes *to) {
    for (int v = 0; v < wide; v++) NAME(load)(from.at + row * from.stride + at + v * LANES, to + v);
}

/* Make `wide` vectors of these rows, and add `summed` terms to the sums: none, this one, or the one
   before as well. A `plain` term has no skip and no keep, and gathers rows of so many vectors from nearby.

   What is added has one product each and is scaled at last: a compiler has no choice which of two
   products it fuses with the addition, so that the bits are the same in every width. */
INLINE void NAME(block_of_rows)(Matrix m, NAME(Term) t, int64_t first, int64_t last, int64_t at,
                                const int wide, const int summed, const int plain) {
    const int64_t stride = plain ? wide * LANES : t.current.stride;
    const int paired = summed == 2, compared = t.x.at != 0;
    const float skip = t.skip / t.scale, keep = t.keep / t.scale;
    lanes weights[MOST], weights_before[MOST], dots[MOST], dots_before[MOST];
    if (plain) m.ahead = 0;
    for (int v = 0; v < wide; v++) {
        weights[v] = weights_before[v] = dots[v] = dots_before[v] = (lanes){0};
        if (summed) weights[v] = ((const lanes *)(t.weights + at))[v];
        else if (compared) weights[v] = ((const lanes *)(t.weights + at))[v] / t.scale;
        if (paired) weights_before[v] = ((const lanes *)(t.weights_of_current + at))[v];
    }
    for (int64_t row = first; row < last; row++) {
        lanes made[MOST], current[MOST], other[MOST];
        if (compared) NAME(load_all)(t.x, row, at, wide, other);
        for (int v = 0; v < wide; v++) {
            made[v] = (lanes){0};
            if (!summed && compared) made[v] = weights[v] * other[v];
        }
        NAME(add_rows)(m, row, t.current.at + at, stride, wide, made);
        if (paired || (!plain && skip != 0)) NAME(load_all)(t.current, row, at, wide, current);
        if (!plain && skip != 0)
            for (int v = 0; v < wide; v++) made[v] += skip * current[v];
        if (!plain && keep != 0) {
            lanes old[MOST];
            NAME(load_all)(t.old, row, at, wide, old);
            for (int v = 0; v < wide; v++) made[v] += keep * old[v];
        }
        STORED *out = t.out + row * t.out_stride + at;
        for (int v = 0; v < wide; v++) {
            made[v] *= t.scale;
            NAME(save)(out + v * LANES, made + v);
        }
        if (!summed) continue;
        lanes *sums = (lanes *)(t.sums + row * t.sums_stride + at);
        for (int v = 0; v < wide; v++) {
            lanes sum = sums[v];
            if (paired) sum += weights_before[v] * current[v];
            sums[v] = sum + weights[v] * made[v];
        }
        if (!compared) continue;
        for (int v = 0; v < wide; v++) {
            dots[v] += made[v] * other[v];
            if (paired) dots_before[v] += current[v] * other[v];
        }
    }
    if (!summed || !compared) return;
    for (int v = 0; v < wide; v++) {
        ((exact_lanes *)(t.dots + at))[v] += __builtin_convertvector(dots[v], exact_lanes);
        if (paired)
            ((exact_lanes *)(t.dots_of_current + at))[v] +=
                __builtin_convertvector(dots_before[v], exact_lanes);
    }
}

/* A function for each kind of term and width: together they would not fit the registers. */
#define TERM(name, wide, summed, plain)                                                          \
    static void NAME(name)(const Matrix *m, const NAME(Term) *t, int64_t first, int64_t last,    \
                           int64_t at) {                                                         \
        for (int64_t row = first; row < last; row += ROWS_AT_A_TIME) {                           \
            const int64_t end = row + ROWS_AT_A_TIME < last ? row + ROWS_AT_A_TIME : last;       \
            NAME(block_of_rows)(*m, *t, row, end, at, wide, summed, plain);                      \
        }                                                                                        \
    }
#define WIDTHS(name, summed, plain) \
    TERM(name##_1, PIECES, summed, plain)      \
    TERM(name##_2, 2 * PIECES, summed, plain)  \
    TERM(name##_4, 4 * PIECES, summed, plain)
#define NAMES(name) {NAME(name##_1), NAME(name##_2), NAME(name##_4)}
WIDTHS(any, 0, 0)
WIDTHS(any_one, 1, 0)
WIDTHS(any_two, 2, 0)
WIDTHS(plain, 0, 1)
WIDTHS(plain_one, 1, 1)
WIDTHS(plain_two, 2, 1)

static void NAME(term_of_rows)(const Matrix *m, const NAME(Term) *t, int64_t first, int64_t last,
                               int64_t stride) {
    static void (*const kinds[2][3][3])(const Matrix *, const NAME(Term) *, int64_t, int64_t,
                                        int64_t) = {{NAMES(any), NAMES(any_one), NAMES(any_two)},
                                                    {NAMES(plain), NAMES(plain_one), NAMES(plain_two)}};
    const int repeated = t->skip == 0 && t->keep == 0 && !m->ahead;
    const int summed = t->sums ? t->weights_of_current ? 2 : 1 : 0;
    for (int64_t at = 0, size; at < stride; at += COLUMNS << size) {
        size = stride - at >= 4 * COLUMNS ? 2 : stride - at >= 2 * COLUMNS;
        const int plain = repeated && COLUMNS << size == t->current.stride;
        kinds[plain][summed][size](m, t, first, last, at);
    }
}
#undef TERM
#undef WIDTHS
#undef NAMES

/* Copy `width` columns of rows between arrays of other strides; what is left of a row is set to 0. */
static void NAME(copy_columns)(const STORED *from, int64_t from_stride, STORED *to,
                               int64_t to_stride, int64_t width, int64_t padding, int64_t first,
                               int64_t last) {
    for (int64_t row = first; row < last; row++) {
        memcpy(to + row * to_stride, from + row * from_stride, sizeof(STORED) * width);
        if (padding) memset(to + row * to_stride + width, 0, sizeof(STORED) * padding);
    }
}

/* Begin a sum in rows of `stride` with x times weights; or in `sums`, with the products of x and
   `against`, if any. */
static void NAME(begin_sums)(const NAME(Columns) *x, const NAME(Columns) *against,
                             const float *weights, STORED *to, float *sums, int64_t to_stride,
                             double *dots, int64_t width, int64_t first, int64_t last) {
    for (int64_t at = 0; at < width; at += COLUMNS) {
        lanes products[PIECES], own, other;
        for (int v = 0; v < PIECES; v++) products[v] = (lanes){0};
        for (int64_t row = first; row < last; row++) {
            for (int v = 0; v < PIECES; v++) {
                const int64_t place = at + v * LANES;
                NAME(load)(x->at + row * x->stride + place, &own);
                if (against->at) {
                    NAME(load)(against->at + row * against->stride + place, &other);
                    products[v] += own * other;
                }
                own *= *(const lanes *)(weights + place);
                if (sums) *(lanes *)(sums + row * to_stride + place) = own;
                else NAME(save)(to + row * to_stride + place, &own);
            }
            if (!against->at || (row + 1 < last && (row + 1 - first) % ROWS_AT_A_TIME)) continue;
            for (int v = 0; v < PIECES; v++) {
                ((exact_lanes *)(dots + at))[v] += __builtin_convertvector(products[v], exact_lanes);
                products[v] = (lanes){0};
            }
        }
    }
}

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
    int64_t n, n_columns, padded, block, degree, nested;
    const int32_t *offsets, *columns;
    const float *values, *weights;
    const STORED *x, *against;
    const double *steps;
    STORED *total;
    double *dots;
    const int64_t *cuts;
} NAME(Walk);

/* Walk with the columns from `at` to at + block; those that fill no vector do so in arrays of
   their own. */
static void NAME(walk_block)(const NAME(Walk) *w, int64_t at, STORED *room, float *sums,
                             Team *team) {
    const int64_t n = w->n, padded = w->padded, all = w->n_columns, degree = w->degree;
    const int64_t width = all - at < w->block ? all - at : w->block;
    const int64_t padding = (COLUMNS - width % COLUMNS) % COLUMNS, stride = width + padding;
    const Matrix m = make_matrix(w->offsets, w->columns, w->values, n, stride * sizeof(STORED));
    STORED *one = room, *two = one + n * stride, *own = two + n * stride, *other = own + n * stride;
    const int nested = w->nested != 0, own_sums = sums != 0;
    NAME(Columns) x = {w->x + at, all}, against = {w->against ? w->against + at : 0, all};
    if (padding) {
        EACH_CHUNK(p, team) {
            const int64_t first = w->cuts[p], last = w->cuts[p + 1];
            NAME(copy_columns)(x.at, all, own, stride, width, padding, first, last);
            if (w->against)
                NAME(copy_columns)(against.at, all, other, stride, width, padding, first, last);
        }
        end_phase(team);
        x = (NAME(Columns)){own, stride};
        if (w->against) against = (NAME(Columns)){other, stride};
    }
    if (!nested && !sums) sums = (float *)w->total + at;
    const int64_t sums_stride = nested || own_sums ? stride : all;
    EACH_CHUNK(p, team)
        NAME(begin_sums)(&x, &against, w->weights + (nested ? degree : 0) * padded + at, two,
                         nested ? 0 : sums, sums_stride,
                         w->dots ? w->dots + p * (degree + 1) * padded + at : 0, stride, w->cuts[p],
                         w->cuts[p + 1]);
    end_phase(team);
    for (int64_t i = 0; i < degree; i++) {
        const int64_t k = nested ? degree - 1 - i : i;
        const NAME(Columns) before = {i % 2 ? one : two, stride}, older = {i % 2 ? two : one, stride};
        NAME(Term) t = {.current = i == 0 && !nested ? x : before,
                        .old = i < 2 && !nested ? x : older,
                        .out = i % 2 ? two : one,
                        .out_stride = stride,
                        .scale = (float)w->steps[3 * k],
                        .skip = (float)w->steps[3 * k + 1]};
        if (nested) {
            /* b_k = w_k x + (scale_k M + skip_k) b_(k+1), which keeps nothing older. */
            t.x = x;
            t.weights = w->weights + k * padded + at;
            if (k == 0 && !padding) t.out = w->total + at, t.out_stride = all;
        } else {
            /* The first of a pair is summed with the second. */
            const int second = PAIRED && k % 2;
            t.keep = (float)w->steps[3 * k + 2];
            if (!PAIRED || second || k == degree - 1) {
                t.x = against;
                t.weights = w->weights + (k + 1) * padded + at;
                t.weights_of_current = second ? w->weights + k * padded + at : 0;
                t.sums = sums;
                t.sums_stride = sums_stride;
            }
        }
        EACH_CHUNK(p, team) {
            if (w->dots) {
                t.dots_of_current = w->dots + (p * (degree + 1) + k) * padded + at;
                t.dots = t.dots_of_current + padded;
            }
            NAME(term_of_rows)(&m, &t, w->cuts[p], w->cuts[p + 1], stride);
        }
        end_phase(team);
    }
    if (nested ? !padding : !own_sums) return;
    EACH_CHUNK(p, team) {
        const int64_t first = w->cuts[p], last = w->cuts[p + 1];
        if (nested)
            NAME(copy_columns)(degree % 2 ? one : two, stride, w->total + at, all, width, 0, first,
                               last);
        else
            NAME(copy_sums)(sums, stride, w->total + at, all, width, first, last);
    }
    end_phase(team);
}

/* Make the terms B_0 x = x, B_1 x, ... of a three-term recurrence and add them up: total = w_0 x + w_1 B_1 x + ...

   Columns do not meet, so `block` of them walk at a time, in arrays of their own unless they are all.
   Each thread walks with blocks of its own where there are `n_rooms` > 1 for them, and nobody waits
   before the end; otherwise all threads walk together and share the rows.

   With `nested` the sum is made from its last term to its first, as Horner has it: of floats, without
   `against`, and where no term has a keep. With one the terms of such a sum can be larger than what it
   comes to, and it would lose digits.

   x, against, total: (n, n_columns); weights: (degree + 1, padded), padded being the next multiple of
   COLUMNS; steps: (degree, 3), the scale, skip and keep of each term; room: (n_rooms, 4, n, block),
   or (n_rooms, 2, n, block) where columns need no padding; sums: (n_rooms, n, block), or nothing
   where those are floats in total itself, or there are none; cuts: (n_chunks + 1), the rows of each chunk;
   dots: (n_chunks, degree + 1, padded), zeros, or nothing where there is no `against`. */
void EXPORT(NAME(graphfilter_walk))(int64_t n_columns, int64_t block, int64_t degree,
                                    const int32_t *offsets, const int32_t *columns,
                                    const float *values, const STORED *x, const STORED *against,
                                    const float *weights, const double *steps, STORED *total,
                                    STORED *room, float *sums, double *dots, int64_t n_chunks,
                                    const int64_t *cuts, int64_t n_threads, int64_t n_rooms,
                                    int64_t nested) {
    const int64_t n = cuts[n_chunks], padded = (n_columns + COLUMNS - 1) / COLUMNS * COLUMNS;
    const NAME(Walk) w = {n, n_columns, padded, block, degree, nested, offsets, columns, values,
                          weights, x, against, steps, total, dots, cuts};
    const int64_t arrays = padded == n_columns ? 2 : 4;
    Shares shares;
    make_shares(&shares, n_rooms > 1 ? (n_columns + block - 1) / block : n_chunks, n_threads);
#pragma omp parallel num_threads(n_threads)
    {
        Team team = {&shares, n_chunks, 0}, alone = {0, n_chunks, 0};
        if (n_rooms > 1) {
            const int64_t thread = omp_get_thread_num();
            EACH_CHUNK(b, &team)
                NAME(walk_block)(&w, b * block, room + thread * arrays * n * block,
                                 sums ? sums + thread * n * block : 0, &alone);
        } else {
            for (int64_t at = 0; at < n_columns; at += block)
                NAME(walk_block)(&w, at, room, sums, &team);
        }
    }
}

INLINE void NAME(product_block)(Matrix m, const STORED *x, STORED *out, int64_t row,
                                int64_t stride, int64_t at, float scale, float keep,
                                const int wide) {
    lanes made[MOST], before;
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

static void NAME(product_of_rows)(const Matrix *matrix, const STORED *x, STORED *out,
                                  int64_t first, int64_t last, int64_t width, int64_t stride,
                                  float scale, float keep) {
    const Matrix m = *matrix;
    for (int64_t row = first; row < last; row++) {
        int64_t at = 0;
        for (; at + 4 * COLUMNS <= width; at += 4 * COLUMNS)
            NAME(product_block)(m, x, out, row, stride, at, scale, keep, 4 * PIECES);
        for (; at + 2 * COLUMNS <= width; at += 2 * COLUMNS)
            NAME(product_block)(m, x, out, row, stride, at, scale, keep, 2 * PIECES);
        for (; at < width; at += COLUMNS)
            NAME(product_block)(m, x, out, row, stride, at, scale, keep, PIECES);
    }
}

/* out <- scale M x + keep out, in `width` columns of rows of `stride`. */
void EXPORT(NAME(graphfilter_multiply))(int64_t width, int64_t stride, const int32_t *offsets,
                                        const int32_t *columns, const float *values,
                                        const STORED *x, STORED *out, double scale, double keep,
                                        int64_t n_chunks, const int64_t *cuts, int64_t n_threads) {
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
