/* All layers of a residual network on a CPU, forward and backward; part of native.c.

   native_residual.py calls these functions; it checks every size before, and nothing is checked here.
   A layer makes H <- H + drop(relu([N, P N] W + b)) of the normed rows N of H. It is one pass over the
   rows: neighbours are added up, multiplied, added to H and normed for the next layer while they are
   in a core's own cache. Rows of R runs, each with its own W, lie side by side: (n, R, width). */

typedef int16_t short_lanes __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
typedef int8_t byte_lanes __attribute__((vector_size(LANES), aligned(1), may_alias));

/* Arrays on the stack: a vector that crosses a line of the cache is read twice. */
#define IN_LINES __attribute__((aligned(LINE)))

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

/* Apply dropout to LANES numbers, given as the random numbers themselves, 16 bits per entry: an entry
   is kept where its number lies below `below`. Without draws they stay as they are. */
INLINE void drop_lanes(lanes *x, const int16_t *draws, int32_t below, float scale) {
    if (!draws) return;
    const whole_lanes numbers = __builtin_convertvector(*(const short_lanes *)draws, whole_lanes);
    *x = (lanes)((whole_lanes)(*x * scale) & (numbers - below) >> 31);
}

/* Rows that are multiplied together, and rows that are made before they are multiplied. */
#define TILE 4
#define ROWS_IN_BLOCK 32
#define WIDEST_LAYER 256
/* As in torch's layer_norm. */
#define NORM_EPSILON 1e-5f

typedef struct {
    Matrix m;
    int64_t n, n_runs, width, n_layers, n_chunks;
    const int64_t *cuts;
    float scale;
} Layers;

/* Columns of a row that are multiplied together: as many as there are registers for. */
#define TOGETHER (LANES == 16 ? 4 * COLUMNS : COLUMNS)

/* made <- made + rows W, of TILE rows and `wide` vectors of W's rows, which have `width` floats. */
INLINE void multiply_tile(const float *rows, int64_t stride, int64_t depth, const float *weight,
                          int64_t width, const int wide, lanes made[TILE][MOST]) {
    for (int64_t k = 0; k < depth; k++) {
        const lanes *own = (const lanes *)(weight + k * width);
        for (int v = 0; v < wide; v++)
            for (int r = 0; r < TILE; r++) made[r][v] += rows[r * stride + k] * own[v];
    }
}

INLINE void multiply_into(const float *rows, int64_t stride, int64_t depth, const float *weight,
                          const float *bias, int64_t width, float *out, const int wide) {
    lanes made[TILE][MOST];
    for (int v = 0; v < wide; v++)
        for (int r = 0; r < TILE; r++)
            made[r][v] = bias ? ((const lanes *)bias)[v] : (lanes){0};
    multiply_tile(rows, stride, depth, weight, width, wide, made);
    for (int r = 0; r < TILE; r++)
        for (int v = 0; v < wide; v++) ((lanes *)(out + r * width))[v] = made[r][v];
}

/* out <- rows W + b of TILE rows: (TILE, depth) give (TILE, width). */
INLINE void multiply_rows(const Layers *l, const float *rows, int64_t depth, const float *weight,
                          const float *bias, float *out) {
    const int64_t width = l->width;
    int64_t at = 0;
    for (; at + TOGETHER <= width; at += TOGETHER)
        multiply_into(rows, depth, depth, weight + at, bias ? bias + at : 0, width, out + at,
                      TOGETHER / LANES);
    for (; at < width; at += COLUMNS)
        multiply_into(rows, depth, depth, weight + at, bias ? bias + at : 0, width, out + at,
                      PIECES);
}

/* The sum of COLUMNS numbers, one after the other. */
INLINE float sum_of_lanes(const lanes *x) {
    float total = 0;
    for (int v = 0; v < PIECES; v++)
        for (int i = 0; i < LANES; i++) total += x[v][i];
    return total;
}

/* to <- x with mean 0 and deviation 1; return what it was divided by, inverted. */
INLINE float norm_row(const float *x, int64_t width, float *to) {
    lanes sums[PIECES], squares[PIECES];
    for (int v = 0; v < PIECES; v++) sums[v] = squares[v] = (lanes){0};
    for (int64_t i = 0; i < width; i += COLUMNS)
        for (int v = 0; v < PIECES; v++) sums[v] += ((const lanes *)(x + i))[v];
    const float mean = sum_of_lanes(sums) / width;
    for (int64_t i = 0; i < width; i += COLUMNS)
        for (int v = 0; v < PIECES; v++) {
            const lanes apart = ((const lanes *)(x + i))[v] - mean;
            squares[v] += apart * apart;
        }
    const float inverse = 1 / sqrtf(sum_of_lanes(squares) / width + NORM_EPSILON);
    for (int64_t i = 0; i < width; i += LANES)
        *(lanes *)(to + i) = (*(const lanes *)(x + i) - mean) * inverse;
    return inverse;
}

/* total <- total + the gradient at a row that was normed: `own` is that at `normed`. */
INLINE void norm_gradient(const float *own, const float *normed, float inverse, int64_t width,
                          float *total) {
    lanes sums[PIECES], products[PIECES];
    for (int v = 0; v < PIECES; v++) sums[v] = products[v] = (lanes){0};
    for (int64_t i = 0; i < width; i += COLUMNS)
        for (int v = 0; v < PIECES; v++) {
            const lanes given = ((const lanes *)(own + i))[v];
            sums[v] += given;
            products[v] += given * ((const lanes *)(normed + i))[v];
        }
    const float mean = sum_of_lanes(sums) / width, along = sum_of_lanes(products) / width;
    for (int64_t i = 0; i < width; i += LANES)
        *(lanes *)(total + i) +=
            inverse * (*(const lanes *)(own + i) - mean - *(const lanes *)(normed + i) * along);
}

/* to <- a row of the matrix times x, `width` columns of rows of `stride`. */
INLINE void gather_row(Matrix m, int64_t row, const float *x, int64_t stride, int64_t width,
                       float *to) {
    lanes made[MOST];
    int64_t at = 0;
    for (; at + 4 * COLUMNS <= width; at += 4 * COLUMNS) {
        gather_float(m, row, x + at, stride, 4 * PIECES, made);
        for (int v = 0; v < 4 * PIECES; v++) ((lanes *)(to + at))[v] = made[v];
    }
    for (; at < width; at += COLUMNS) {
        gather_float(m, row, x + at, stride, PIECES, made);
        for (int v = 0; v < PIECES; v++) ((lanes *)(to + at))[v] = made[v];
    }
}

/* Copy rows and what the matrix makes of them side by side: `rows` of (2 * width). The last rows of a
   tile that is not full are those of the one before. */
INLINE void see_rows(const Layers *l, const float *x, int64_t first, int64_t n_rows, int64_t run,
                     float *rows) {
    const int64_t width = l->width, stride = l->n_runs * width;
    const int64_t full = (n_rows + TILE - 1) / TILE * TILE;
    for (int64_t r = 0; r < full; r++) {
        float *to = rows + r * 2 * width;
        if (r >= n_rows) {
            memcpy(to, to - 2 * width, sizeof(float) * 2 * width);
            continue;
        }
        memcpy(to, x + (first + r) * stride + run * width, sizeof(float) * width);
        gather_row(l->m, first + r, x + run * width, stride, width, to + width);
    }
}

/* What a layer reads and writes: normed rows, those of the next layer, H, and with `active` which
   entries were added and by how much rows were divided. */
typedef struct {
    const float *normed, *weight, *bias;
    float *next, *hidden, *inverses;
    int8_t *active;
    const int16_t *draws;
    int64_t draws_of_run;
    int32_t below;
} Forward;

static void layer_of_rows(const Layers *layers, const Forward *forward, int64_t first,
                          int64_t last) {
    float rows[ROWS_IN_BLOCK * 2 * WIDEST_LAYER] IN_LINES, made[TILE * WIDEST_LAYER] IN_LINES;
    const Layers l = *layers;
    const Forward f = *forward;
    const int64_t width = l.width, depth = 2 * width;
    for (int64_t block = first; block < last; block += ROWS_IN_BLOCK) {
        const int64_t n_rows = last - block < ROWS_IN_BLOCK ? last - block : ROWS_IN_BLOCK;
        for (int64_t run = 0; run < l.n_runs; run++) {
            see_rows(&l, f.normed, block, n_rows, run, rows);
            for (int64_t tile = 0; tile < n_rows; tile += TILE) {
                multiply_rows(&l, rows + tile * depth, depth, f.weight + run * depth * width,
                              f.bias + run * width, made);
                for (int64_t r = tile; r < tile + TILE && r < n_rows; r++) {
                    const int64_t row = block + r, place = (row * l.n_runs + run) * width;
                    const int16_t *draws =
                        f.draws ? f.draws + run * f.draws_of_run + row * width : 0;
                    for (int64_t i = 0; i < width; i += LANES) {
                        lanes own = *(const lanes *)(made + (r - tile) * width + i);
                        whole_lanes found;
                        find_negative(&own, &found);
                        own = (lanes)((whole_lanes)own & ~found);
                        drop_lanes(&own, draws ? draws + i : 0, f.below, l.scale);
                        find_nonzero(&own, &found);
                        if (f.active)
                            *(byte_lanes *)(f.active + place + i) =
                                __builtin_convertvector(found, byte_lanes);
                        *(lanes *)(f.hidden + place + i) += own;
                    }
                    const float inverse = norm_row(f.hidden + place, width, f.next + place);
                    if (f.inverses) f.inverses[row * l.n_runs + run] = inverse;
                }
            }
        }
    }
}

static void norm_of_rows(const Layers *l, const float *hidden, float *normed, float *inverses,
                         int64_t first, int64_t last) {
    for (int64_t at = first * l->n_runs; at < last * l->n_runs; at++) {
        const float inverse = norm_row(hidden + at * l->width, l->width, normed + at * l->width);
        if (inverses) inverses[at] = inverse;
    }
}

/* Apply every layer to `hidden` (n, R, width), which changes.

   weights: (n_layers, R, 2 * width, width), biases: (n_layers, R, width); draws: (R, draws_of_run), of
   which the first are (n_layers, n, width), or nothing. With `active` (n_layers, n, R, width) what the
   gradient reads is kept: that, normed (n_layers + 1, n, R, width) and inverses (n_layers + 1, n, R);
   otherwise normed is (2, n, R, width) and layers take turns. The last is the result. */
void EXPORT(graphfilter_residual)(int64_t n_runs, int64_t width, int64_t n_layers,
                                  const int32_t *offsets, const int32_t *columns,
                                  const float *values, const float *weights, const float *biases,
                                  const int16_t *draws, int64_t draws_of_run, int64_t below,
                                  double scale, float *hidden, float *normed, float *inverses,
                                  int8_t *active, int64_t n_chunks, const int64_t *cuts,
                                  int64_t n_threads) {
    const int64_t n = cuts[n_chunks], size = n * n_runs * width;
    const Layers l = {make_matrix(offsets, columns, values, n, n_runs * width * sizeof(float)),
                      n, n_runs, width, n_layers, n_chunks, cuts, (float)scale};
    Shares shares;
    make_shares(&shares, n_chunks, n_threads);
#pragma omp parallel num_threads(n_threads)
    {
        Team team = {&shares, n_chunks, 0};
        EACH_CHUNK(p, &team) norm_of_rows(&l, hidden, normed, inverses, cuts[p], cuts[p + 1]);
        end_phase(&team);
        for (int64_t k = 0; k < n_layers; k++) {
            const int64_t own = active ? k : k % 2, next = active ? k + 1 : (k + 1) % 2;
            const Forward f = {.normed = normed + own * size,
                               .weight = weights + k * n_runs * 2 * width * width,
                               .bias = biases + k * n_runs * width,
                               .next = normed + next * size,
                               .hidden = hidden,
                               .inverses = inverses ? inverses + (k + 1) * n * n_runs : 0,
                               .active = active ? active + k * size : 0,
                               .draws = draws ? draws + k * n * width : 0,
                               .draws_of_run = draws_of_run,
                               .below = (int32_t)below};
            EACH_CHUNK(p, &team) layer_of_rows(&l, &f, cuts[p], cuts[p + 1]);
            end_phase(&team);
        }
    }
}

/* What the gradient of a layer reads and writes. `spread` is the gradient at [N, P N] W + b. */
typedef struct {
    const float *normed, *inverses, *mirror, *spread;
    const int8_t *active_before;
    float *grad, *spread_before;
} Backward;

/* spread <- the gradient at what the layer before added to H. */
INLINE void spread_row(const float *grad, const int8_t *active, float scale, int64_t width,
                       float *spread) {
    for (int64_t i = 0; i < width; i += LANES) {
        const whole_lanes kept =
            __builtin_convertvector(*(const byte_lanes *)(active + i), whole_lanes);
        *(lanes *)(spread + i) = (lanes)((whole_lanes)(scale * *(const lanes *)(grad + i)) & kept);
    }
}

/* sums <- sums + Nᵀ rows, TILE rows of it and `wide` vectors. */
INLINE void add_products(const float *normed, int64_t stride, const float *rows, int64_t depth,
                         int64_t n_rows, float *sums, const int wide) {
    lanes made[TILE][MOST];
    for (int i = 0; i < TILE; i++)
        for (int v = 0; v < wide; v++) made[i][v] = ((const lanes *)(sums + i * depth))[v];
    for (int64_t r = 0; r < n_rows; r++) {
        const lanes *own = (const lanes *)(rows + r * depth);
        for (int v = 0; v < wide; v++)
            for (int i = 0; i < TILE; i++) made[i][v] += normed[r * stride + i] * own[v];
    }
    for (int i = 0; i < TILE; i++)
        for (int v = 0; v < wide; v++) ((lanes *)(sums + i * depth))[v] = made[i][v];
}

static void gradient_of_rows(const Layers *layers, const Backward *backward, int64_t first,
                             int64_t last, float *sums) {
    float rows[ROWS_IN_BLOCK * 2 * WIDEST_LAYER] IN_LINES, made[TILE * WIDEST_LAYER] IN_LINES;
    const Layers l = *layers;
    const Backward b = *backward;
    const int64_t width = l.width, depth = 2 * width, stride = l.n_runs * width;
    memset(sums, 0, sizeof(float) * l.n_runs * (width + 1) * depth);
    for (int64_t block = first; block < last; block += ROWS_IN_BLOCK) {
        const int64_t n_rows = last - block < ROWS_IN_BLOCK ? last - block : ROWS_IN_BLOCK;
        for (int64_t run = 0; run < l.n_runs; run++) {
            const float *normed = b.normed + block * stride + run * width;
            float *own_sums = sums + run * (width + 1) * depth;
            see_rows(&l, b.spread, block, n_rows, run, rows);
            for (int64_t i = 0; i < width; i += TILE) {
                int64_t at = 0;
                for (; at + TOGETHER <= depth; at += TOGETHER)
                    add_products(normed + i, stride, rows + at, depth, n_rows,
                                 own_sums + i * depth + at, TOGETHER / LANES);
                for (; at < depth; at += COLUMNS)
                    add_products(normed + i, stride, rows + at, depth, n_rows,
                                 own_sums + i * depth + at, PIECES);
            }
            for (int64_t r = 0; r < n_rows; r++)
                for (int64_t i = 0; i < width; i += LANES)
                    *(lanes *)(own_sums + width * depth + i) +=
                        *(const lanes *)(rows + r * depth + i);
            for (int64_t tile = 0; tile < n_rows; tile += TILE) {
                multiply_rows(&l, rows + tile * depth, depth, b.mirror + run * depth * width, 0,
                              made);
                for (int64_t r = tile; r < tile + TILE && r < n_rows; r++) {
                    const int64_t at = (block + r) * l.n_runs + run, place = at * width;
                    norm_gradient(made + (r - tile) * width, b.normed + place, b.inverses[at],
                                  width, b.grad + place);
                    if (b.active_before)
                        spread_row(b.grad + place, b.active_before + place, l.scale, width,
                                   b.spread_before + place);
                }
            }
        }
    }
}

/* The gradient at the last normed rows becomes that at H, and what the last layer added. */
static void gradient_of_last(const Layers *l, const float *given, const float *normed,
                             const float *inverses, const int8_t *active, float *grad,
                             float *spread, int64_t first, int64_t last) {
    for (int64_t at = first * l->n_runs; at < last * l->n_runs; at++) {
        const int64_t place = at * l->width;
        memset(grad + place, 0, sizeof(float) * l->width);
        norm_gradient(given + place, normed + place, inverses[at], l->width, grad + place);
        spread_row(grad + place, active + place, l->scale, l->width, spread + place);
    }
}

/* Add up one of n_chunks parts of what the chunks found of a layer. */
static void add_chunks(const Layers *l, const float *sums, float *total, int64_t part) {
    const int64_t size = l->n_runs * (l->width + 1) * 2 * l->width, blocks = size / LANES;
    const int64_t last = blocks * (part + 1) / l->n_chunks;
    for (int64_t at = blocks * part / l->n_chunks; at < last; at++) {
        lanes made = {0};
        for (int64_t p = 0; p < l->n_chunks; p++)
            made += *(const lanes *)(sums + p * size + at * LANES);
        *(lanes *)(total + at * LANES) = made;
    }
}

/* The gradient of graphfilter_residual: of `given` (n, R, width) at its result.

   The matrix is the transpose of the one forward; mirrors: (n_layers, R, 2 * width, width), both halves
   of W transposed; normed, inverses and active: as they were kept; grad: (n, R, width), that at
   `hidden`; spread: (2, n, R, width) and sums: (2, n_chunks, R, width + 1, 2 * width), to work in;
   totals: (n_layers, R, width + 1, 2 * width), of Nᵀ times the gradient at the products and times what
   the matrix makes of that, side by side; the last row has the biases'. */
void EXPORT(graphfilter_residual_gradient)(int64_t n_runs, int64_t width, int64_t n_layers,
                                           const int32_t *offsets, const int32_t *columns,
                                           const float *values, const float *mirrors, double scale,
                                           const float *given, const float *normed,
                                           const float *inverses, const int8_t *active, float *grad,
                                           float *spread, float *sums, float *totals,
                                           int64_t n_chunks, const int64_t *cuts,
                                           int64_t n_threads) {
    const int64_t n = cuts[n_chunks], size = n * n_runs * width;
    const int64_t found = n_runs * (width + 1) * 2 * width;
    const Layers l = {make_matrix(offsets, columns, values, n, n_runs * width * sizeof(float)),
                      n, n_runs, width, n_layers, n_chunks, cuts, (float)scale};
    Shares shares;
    make_shares(&shares, n_chunks, n_threads);
#pragma omp parallel num_threads(n_threads)
    {
        Team team = {&shares, n_chunks, 0};
        int64_t k = n_layers - 1;
        EACH_CHUNK(p, &team)
            gradient_of_last(&l, given, normed + n_layers * size, inverses + n_layers * n * n_runs,
                             active + k * size, grad, spread + k % 2 * size, cuts[p], cuts[p + 1]);
        end_phase(&team);
        for (; k >= 0; k--) {
            const Backward b = {.normed = normed + k * size,
                                .inverses = inverses + k * n * n_runs,
                                .mirror = mirrors + k * n_runs * 2 * width * width,
                                .spread = spread + k % 2 * size,
                                .active_before = k ? active + (k - 1) * size : 0,
                                .grad = grad,
                                .spread_before = spread + (k + 1) % 2 * size};
            EACH_CHUNK(p, &team) {
                /* The layer after, whose chunks are all done; with this one nobody waits for it. */
                if (k + 1 < n_layers)
                    add_chunks(&l, sums + (k + 1) % 2 * n_chunks * found,
                               totals + (k + 1) * found, p);
                gradient_of_rows(&l, &b, cuts[p], cuts[p + 1],
                                 sums + (k % 2 * n_chunks + p) * found);
            }
            end_phase(&team);
        }
        EACH_CHUNK(p, &team) add_chunks(&l, sums, totals, p);
    }
}
