/* The linear layers of a network and its loss on a CPU, each in one pass; part of native.c.

   native_layers.py calls these functions; it checks every size before, and nothing is checked here.
   Dropout is given as the random numbers themselves, 16 bits per entry: an entry is kept where its
   number lies below `below`, and multiplied by `scale`. */

typedef int16_t short_lanes __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

/* Return all bits where a number is below zero, or -0; what is not a number is not below. By whole
   numbers: a comparison of vectors this wide is taken apart by GCC, one number at a time. */
INLINE void find_negative(const lanes *x, whole_lanes *found) {
    const bits own = *(const bits *)x;
    *found = (whole_lanes)(own & (own + 0x7fffff)) >> 31;
}

/* Return all bits where a number has any: of what relu makes, all but zero. */
INLINE void find_nonzero(const lanes *x, whole_lanes *found) {
    const whole_lanes own = *(const whole_lanes *)x;
    *found = ~(~own & (own - 1)) >> 31;
}

/* Arrays on the stack: a vector that crosses a line of the cache is read twice. */
#define IN_LINES __attribute__((aligned(LINE)))

/* Float sums are moved to double ones after this many rows. */
#define ROWS_IN_FLOAT 64

/* A CSR matrix of which `ends[row]` says where the kept entries of a row end. */
typedef struct {
    const int32_t *offsets, *ends, *columns;
    const float *values;
} Kept;

INLINE void encode_block(Kept k, int64_t row, const float *weight, int64_t width, const float *bias,
                         float *out, int64_t at, int relu, const int wide) {
    lanes total[MOST];
    for (int v = 0; v < wide; v++) total[v] = (lanes){0};
    for (int32_t e = k.offsets[row]; e < k.ends[row]; e++) {
        const lanes *from = (const lanes *)(weight + k.columns[e] * width + at);
        for (int v = 0; v < wide; v++) total[v] += k.values[e] * from[v];
    }
    for (int v = 0; v < wide; v++) {
        total[v] += ((const lanes *)(bias + at))[v];
        if (relu) {
            whole_lanes negative;
            find_negative(total + v, &negative);
            total[v] = (lanes)((whole_lanes)total[v] & ~negative);
        }
        ((lanes *)(out + at))[v] = total[v];
    }
}

static void encode_rows(const Kept *kept, int64_t first, int64_t last, const float *weight,
                        int64_t width, const float *bias, int relu, float *out, int64_t stride) {
    const Kept k = *kept;
    for (int64_t row = first; row < last; row++) {
        float *to = out + row * stride;
        int64_t at = 0;
        for (; at + 4 * COLUMNS <= width; at += 4 * COLUMNS)
            encode_block(k, row, weight, width, bias, to, at, relu, 4 * PIECES);
        for (; at < width; at += COLUMNS)
            encode_block(k, row, weight, width, bias, to, at, relu, PIECES);
    }
}

/* Copy the entries that dropout keeps to the start of their row's place. */
static void keep_entries(int64_t first, int64_t last, const int32_t *offsets,
                         const int32_t *columns, const float *values, const int16_t *draws,
                         int64_t d, int32_t below, float scale, int32_t *ends,
                         int32_t *kept_columns, float *kept_values) {
    for (int64_t row = first; row < last; row++) {
        const int16_t *cells = draws + row * d;
        int32_t to = offsets[row];
        for (int32_t e = offsets[row]; e < offsets[row + 1]; e++) {
            /* Written in any case, within the row: a branch would be guessed wrongly. */
            kept_columns[to] = columns[e];
            kept_values[to] = values[e] * scale;
            to += (d ? cells[columns[e]] : draws[e]) < below;
        }
        ends[row] = to;
    }
}

/* out <- (X W + b) of rows of `stride`, set to zero below zero where `relu`.

   With `draws`, one number per entry or, where X has d > 0 columns, per cell, dropout is on X: what it
   keeps is written to ends, kept_columns and kept_values, which the gradient reads. */
void EXPORT(graphfilter_encode)(int64_t width, const int32_t *offsets, const int32_t *columns,
                                const float *values, const int16_t *draws, int64_t d, int64_t below,
                                double scale, int32_t *ends, int32_t *kept_columns,
                                float *kept_values, const float *weight, const float *bias,
                                int64_t relu, float *out, int64_t stride, int64_t n_chunks,
                                const int64_t *cuts, int64_t n_threads) {
    const Kept k = draws ? (Kept){offsets, ends, kept_columns, kept_values}
                         : (Kept){offsets, offsets + 1, columns, values};
    Shares shares;
    make_shares(&shares, n_chunks, n_threads);
#pragma omp parallel num_threads(n_threads)
    {
        const Team team = {&shares, n_chunks, 0};
        EACH_CHUNK(p, &team) {
            if (draws)
                keep_entries(cuts[p], cuts[p + 1], offsets, columns, values, draws, d,
                             (int32_t)below, (float)scale, ends, kept_columns, kept_values);
            encode_rows(&k, cuts[p], cuts[p + 1], weight, width, bias, (int)relu, out, stride);
        }
    }
}

INLINE void spread_block(Kept k, int64_t n, const float *grad, const float *out, int64_t stride,
                         float *weight_grad, int64_t width, float *bias_grad, int64_t at,
                         const int wide) {
    lanes sums[MOST];
    double totals[MOST * LANES] = {0};
    for (int v = 0; v < wide; v++) sums[v] = (lanes){0};
    for (int64_t row = 0; row < n; row++) {
        lanes own[MOST];
        for (int v = 0; v < wide; v++) {
            own[v] = ((const lanes *)(grad + row * stride + at))[v];
            if (out) {
                whole_lanes passed;
                find_nonzero((const lanes *)(out + row * stride + at) + v, &passed);
                own[v] = (lanes)((whole_lanes)own[v] & passed);
            }
            sums[v] += own[v];
        }
        for (int32_t e = k.offsets[row]; e < k.ends[row]; e++) {
            lanes *to = (lanes *)(weight_grad + k.columns[e] * width + at);
            for (int v = 0; v < wide; v++) to[v] += k.values[e] * own[v];
        }
        if (row % ROWS_IN_FLOAT == ROWS_IN_FLOAT - 1 || row == n - 1)
            for (int v = 0; v < wide; v++) {
                for (int i = 0; i < LANES; i++) totals[v * LANES + i] += sums[v][i];
                sums[v] = (lanes){0};
            }
    }
    for (int i = 0; i < wide * LANES; i++) bias_grad[at + i] = (float)totals[i];
}

static void spread_columns(const Kept *kept, int64_t n, const float *grad, const float *out,
                           int64_t stride, float *weight_grad, int64_t width, float *bias_grad,
                           int64_t first, int64_t last) {
    int64_t at = first;
    for (; at + 4 * COLUMNS <= last; at += 4 * COLUMNS)
        spread_block(*kept, n, grad, out, stride, weight_grad, width, bias_grad, at, 4 * PIECES);
    for (; at + 2 * COLUMNS <= last; at += 2 * COLUMNS)
        spread_block(*kept, n, grad, out, stride, weight_grad, width, bias_grad, at, 2 * PIECES);
    for (; at < last; at += COLUMNS)
        spread_block(*kept, n, grad, out, stride, weight_grad, width, bias_grad, at, PIECES);
}

/* The gradient of graphfilter_encode at W, which starts as zeros, and at b.

   Threads divide the columns, and each adds up rows in their order: the bits do not depend on them. */
void EXPORT(graphfilter_encode_gradient)(int64_t n, int64_t width, const int32_t *offsets,
                                         const int32_t *ends, const int32_t *columns,
                                         const float *values, const float *grad, const float *out,
                                         int64_t stride, float *weight_grad, float *bias_grad,
                                         int64_t n_threads) {
    const Kept k = {offsets, ends, columns, values};
    const int64_t blocks = width / COLUMNS;
#pragma omp parallel num_threads(n_threads)
    for (int64_t p = omp_get_thread_num(); p < n_threads; p += omp_get_num_threads())
        spread_columns(&k, n, grad, out, stride, weight_grad, width, bias_grad,
                       blocks * p / n_threads * COLUMNS, blocks * (p + 1) / n_threads * COLUMNS);
}

/* The widest rows that a head takes, and the most columns that it makes. */
#define WIDEST_ROW 512
#define MOST_OUTPUTS COLUMNS

/* Apply dropout to LANES numbers; without draws they stay as they are. */
INLINE void drop_lanes(lanes *x, const int16_t *draws, int32_t below, float scale) {
    if (!draws) return;
    const whole_lanes numbers = __builtin_convertvector(*(const short_lanes *)draws, whole_lanes);
    *x = (lanes)((whole_lanes)(*x * scale) & (numbers - below) >> 31);
}

static void head_rows(int64_t first, int64_t last, int64_t width, int64_t n_out, const float *x,
                      int64_t x_stride, const int16_t *draws, int32_t below, float scale,
                      const float *weight, const float *bias, float *out, int64_t out_stride) {
    float wide_weight[WIDEST_ROW * COLUMNS] IN_LINES, rows[4][WIDEST_ROW] IN_LINES;
    float wide_bias[COLUMNS] IN_LINES = {0};
    memset(wide_weight, 0, sizeof(float) * width * COLUMNS);
    for (int64_t i = 0; i < width; i++)
        memcpy(wide_weight + i * COLUMNS, weight + i * n_out, sizeof(float) * n_out);
    memcpy(wide_bias, bias, sizeof(float) * n_out);
    for (int64_t row = first; row < last; row += 4) {
        const int64_t n = last - row < 4 ? last - row : 4;
        for (int64_t r = 0; r < 4; r++)
            for (int64_t i = 0; i < width; i += LANES) {
                /* The last rows may be fewer than four: the first stands in. */
                const int64_t from = row + (r < n ? r : 0);
                lanes *own = (lanes *)(rows[r] + i);
                *own = *(const lanes *)(x + from * x_stride + i);
                drop_lanes(own, draws ? draws + from * width + i : 0, below, scale);
            }
        lanes made[4][PIECES];
        for (int r = 0; r < 4; r++)
            for (int v = 0; v < PIECES; v++) made[r][v] = (lanes){0};
        for (int64_t i = 0; i < width; i++) {
            const lanes *own = (const lanes *)(wide_weight + i * COLUMNS);
            for (int v = 0; v < PIECES; v++)
                for (int r = 0; r < 4; r++) made[r][v] += rows[r][i] * own[v];
        }
        for (int r = 0; r < 4; r++) {
            if (r >= n) break;
            for (int v = 0; v < PIECES; v++) made[r][v] += ((const lanes *)wide_bias)[v];
            memcpy(out + (row + r) * out_stride, made[r], sizeof(float) * n_out);
        }
    }
}

/* out <- x W + b with dropout on x: rows of `width` (a multiple of COLUMNS) give rows of n_out. */
void EXPORT(graphfilter_head)(int64_t width, int64_t n_out, const float *x, int64_t x_stride,
                              const int16_t *draws, int64_t below, double scale,
                              const float *weight, const float *bias, float *out,
                              int64_t out_stride, int64_t n_chunks, const int64_t *cuts,
                              int64_t n_threads) {
    Shares shares;
    make_shares(&shares, n_chunks, n_threads);
#pragma omp parallel num_threads(n_threads)
    {
        const Team team = {&shares, n_chunks, 0};
        EACH_CHUNK(p, &team)
            head_rows(cuts[p], cuts[p + 1], width, n_out, x, x_stride, draws, (int32_t)below,
                      (float)scale, weight, bias, out, out_stride);
    }
}

static void head_gradient_rows(int64_t first, int64_t last, int64_t width, int64_t n_out,
                               const float *x, int64_t x_stride, const int16_t *draws,
                               int32_t below, float scale, const float *weight, const float *grad,
                               int64_t grad_stride, float *x_grad, double *sums) {
    float mirror[MOST_OUTPUTS * WIDEST_ROW] IN_LINES, parts[MOST_OUTPUTS * WIDEST_ROW] IN_LINES;
    memset(parts, 0, sizeof(float) * n_out * width);
    for (int64_t i = 0; i < width; i++)
        for (int64_t c = 0; c < n_out; c++) mirror[c * width + i] = weight[i * n_out + c];
    for (int64_t row = first; row < last; row++) {
        const float *own = grad + row * grad_stride;
        int any = 0;
        for (int64_t c = 0; c < n_out; c++) {
            any |= own[c] != 0;
            sums[n_out * width + c] += own[c];
        }
        if (!any) memset(x_grad + row * x_stride, 0, sizeof(float) * width);
        for (int64_t i = 0; any && i < width; i += LANES) {
            const int16_t *numbers = draws ? draws + row * width + i : 0;
            lanes kept = *(const lanes *)(x + row * x_stride + i), made = {0};
            drop_lanes(&kept, numbers, below, scale);
            for (int64_t c = 0; c < n_out; c++) {
                made += own[c] * *(const lanes *)(mirror + c * width + i);
                *(lanes *)(parts + c * width + i) += own[c] * kept;
            }
            drop_lanes(&made, numbers, below, scale);
            *(lanes *)(x_grad + row * x_stride + i) = made;
        }
        if (row % ROWS_IN_FLOAT == ROWS_IN_FLOAT - 1 || row == last - 1)
            for (int64_t i = 0; i < n_out * width; i++) {
                sums[i] += parts[i];
                parts[i] = 0;
            }
    }
}

/* The gradient of graphfilter_head at x, in rows like those of x, and at W and b.

   sums: (n_chunks, n_out * width + n_out), zeros; those of Wᵀ, then of b, of each chunk of rows. */
void EXPORT(graphfilter_head_gradient)(int64_t width, int64_t n_out, const float *x,
                                       int64_t x_stride, const int16_t *draws, int64_t below,
                                       double scale, const float *weight, const float *grad,
                                       int64_t grad_stride, float *x_grad, double *sums,
                                       int64_t n_chunks, const int64_t *cuts, int64_t n_threads) {
    Shares shares;
    make_shares(&shares, n_chunks, n_threads);
#pragma omp parallel num_threads(n_threads)
    {
        const Team team = {&shares, n_chunks, 0};
        EACH_CHUNK(p, &team)
            head_gradient_rows(cuts[p], cuts[p + 1], width, n_out, x, x_stride, draws,
                               (int32_t)below, (float)scale, weight, grad, grad_stride, x_grad,
                               sums + p * n_out * (width + 1));
    }
}

/* The most classes of one vertex, a multiple of LANES. */
#define MOST_CLASSES 256

/* x <- e^(x - most), where that is not above 1, to a few units of the last place; 0 below e^-87. */
INLINE void exponentials(lanes *numbers, float most) {
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number. */
    lanes x = *numbers - most;
    const lanes above = x + 87.0f;
    whole_lanes low;
    find_negative(&above, &low);
    x = (lanes)((whole_lanes)x & ~low);
    const lanes turns = (x * 1.44269504f + magic) - magic;
    const lanes rest = (x - turns * 0.693359375f) + turns * 2.12194440e-4f;
    lanes p = rest * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * rest + 8.3334519073e-3f;
    p = p * rest + 4.1665795894e-2f;
    p = p * rest + 1.6666665459e-1f;
    p = p * rest + 5.0000001201e-1f;
    p = p * rest * rest + rest + 1.0f;
    const whole_lanes power = (__builtin_convertvector(turns, whole_lanes) + 127) << 23;
    *numbers = (lanes)((whole_lanes)(p * (lanes)power) & ~low);
}

/* Losses and answers of these rows of logits (n, n_runs, n_classes), weighed and added up.

   rows, classes: (m,); weights: (n_sets, m, n_runs); sums: (n_sets, 2, n_runs), zeros: of losses, and
   of the weights of right answers. With `grad` (n, n_runs, n_classes), zeros, the gradient of each
   run's sum of the first set, multiplied by factors[run], is written there. */
void EXPORT(graphfilter_cross_entropy)(int64_t m, int64_t n_runs, int64_t n_classes, int64_t n_sets,
                                       const int64_t *rows, const int64_t *classes,
                                       const float *logits, const float *weights, double *sums,
                                       const float *factors, float *grad) {
    float own[MOST_CLASSES] IN_LINES;
    const int64_t padded = (n_classes + LANES - 1) / LANES * LANES;
    for (int64_t j = 0; j < m; j++)
        for (int64_t r = 0; r < n_runs; r++) {
            const float *from = logits + (rows[j] * n_runs + r) * n_classes;
            float most = from[0], sum = 0;
            int64_t answer = 0;
            for (int64_t c = 1; c < n_classes; c++) {
                const int more = from[c] > most;
                most = more ? from[c] : most;
                answer = more ? c : answer;
            }
            memcpy(own, from, sizeof(float) * n_classes);
            for (int64_t i = n_classes; i < padded; i++) own[i] = most;
            for (int64_t i = 0; i < padded; i += LANES) exponentials((lanes *)(own + i), most);
            for (int64_t c = 0; c < n_classes; c++) sum += own[c];
            const float loss = most - from[classes[j]] + logf(sum);
            for (int64_t s = 0; s < n_sets; s++) {
                const float weight = weights[(s * m + j) * n_runs + r];
                sums[2 * s * n_runs + r] += weight * loss;
                sums[(2 * s + 1) * n_runs + r] += answer == classes[j] ? weight : 0;
            }
            if (!grad) continue;
            const float factor = weights[j * n_runs + r] * factors[r], share = factor / sum;
            float *to = grad + (rows[j] * n_runs + r) * n_classes;
            for (int64_t c = 0; c < n_classes; c++) to[c] = share * own[c];
            to[classes[j]] -= factor;
        }
}
