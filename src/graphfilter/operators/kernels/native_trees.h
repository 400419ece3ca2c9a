/* Rows that go down decision trees; part of native.c.

   A node asks whether a column is at most its threshold; a missing value goes the way that
   missing_left says. A leaf is its own child on both sides, and children come after their parents,
   so that every path ends: native_trees.py is given trees for which that was checked. */

/* Rows whose columns stay in the first cache while each tree is read once. */
#define ROWS_DOWN_A_TREE 64

static void leaves_of_rows(int64_t first, int64_t last, int64_t width, int64_t n_trees,
                           const float *columns, const int64_t *roots, const double *threshold,
                           const int64_t *feature, const int64_t *left, const int64_t *right,
                           const uint8_t *missing_left, int64_t *leaves) {
    for (int64_t tree = 0; tree < n_trees; tree++)
        for (int64_t row = first; row < last; row++) {
            int64_t node = -1, next = roots[tree];
            while (next != node) {
                node = next;
                const float cell = columns[row * width + feature[node]];
                const int to_left = cell <= threshold[node] || (missing_left[node] && isnan(cell));
                next = to_left ? left[node] : right[node];
            }
            leaves[row * n_trees + tree] = node;
        }
}

/* leaves: (n_rows, n_trees), the node at which each row ends. */
void graphfilter_leaves(int64_t n_rows, int64_t width, int64_t n_trees, const float *columns,
                        const int64_t *roots, const double *threshold, const int64_t *feature,
                        const int64_t *left, const int64_t *right, const uint8_t *missing_left,
                        int64_t *leaves, int64_t n_threads) {
    const int64_t n_chunks = (n_rows + ROWS_DOWN_A_TREE - 1) / ROWS_DOWN_A_TREE;
    Shares shares;
    make_shares(&shares, n_chunks, n_threads);
#pragma omp parallel num_threads(n_threads)
    {
        const Team team = {&shares, n_chunks, 0};
        EACH_CHUNK(p, &team) {
            const int64_t first = p * ROWS_DOWN_A_TREE, last = first + ROWS_DOWN_A_TREE;
            leaves_of_rows(first, last < n_rows ? last : n_rows, width, n_trees, columns, roots,
                           threshold, feature, left, right, missing_left, leaves);
        }
    }
}
