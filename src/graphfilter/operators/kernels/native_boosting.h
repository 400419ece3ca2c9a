/* Boosted trees on columns that were put in bins; part of native.c.

   The trees of one round, one per class, grow side by side: a tree splits the leaf that gains most,
   the smaller half's histograms are summed, the other's are the difference, and the best cut of both
   is looked for while they are in the first cache. Sums, comparisons and ties are those of
   scikit-learn's HistGradientBoosting, in its order, and so are the trees. That is why there is
   no other LEVEL of this: a fused multiplication and addition rounds once less. */

#define MOST_LEAVES 31
#define MOST_NODES (2 * MOST_LEAVES - 1)
/* Trees that grow at once, columns of a chunk, and of them those that are summed side by side: a bin
   that most rows have would otherwise wait for its last sum. */
#define MOST_TREES 16
#define BLOCK 8
#define AT_ONCE 4
#define MISSING 255
#define LEAST_ROWS 20
#define LEAST_HESSIAN 1e-3

/* A gradient and a hessian. */
typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef struct {
    pair sum;
    int64_t count;
} Bin;
typedef struct {
    double gain, gradient, hessian; /* The sums of the left side. */
    int64_t column, bin, missing_left;
} Cut;
#define NO_CUT {0.0, 0.0, 0.0, 0, 0, 0}
typedef struct {
    int64_t start, stop, slot, left, right;
    double gradient, hessian, value;
    Cut cut;
} Node;
typedef struct {
    /* Those with a cut to be looked for, -1 where there is none; the first has summed histograms. */
    int64_t summed, subtracted, wants[2], n_nodes, n_leaves, n_heap, heap[MOST_LEAVES];
    Node nodes[MOST_NODES];
} Tree;
typedef struct {
    int64_t n, n_columns, n_blocks, n_bins;
    const uint8_t *binned, *has_missing;
    const int64_t *ends; /* Of the bins of each column among those of all. */
    const float *gradients, *hessians;
    double l2, step, *raw;
    Bin *bins;
    uint32_t *rows;
    pair *ordered;
    Cut *cuts;
    Tree *trees;
} Boosting;

INLINE double node_value(double gradient, double hessian, double l2) {
    return -gradient / (hessian + l2 + 1e-15);
}

INLINE void try_cut(const Boosting *b, const Node *node, double gradient, double hessian,
                    int64_t column, int64_t bin, int64_t missing_left, Cut *best) {
    const double other_gradient = node->gradient - gradient, other = node->hessian - hessian;
    double gain = node->gradient * node->value;
    gain -= gradient * node_value(gradient, hessian, b->l2);
    gain -= other_gradient * node_value(other_gradient, other, b->l2);
    if (gain > best->gain) *best = (Cut){gain, gradient, hessian, column, bin, missing_left};
}

/* Try every cut of a column: missing values to the right, and then to the left. */
static void cut_column(const Boosting *b, const Node *node, int64_t column, const Bin *bins,
                       int64_t n_bins, Cut *best) {
    const int64_t n = node->stop - node->start, has_missing = b->has_missing[column];
    pair sum = {0.0, 0.0};
    int64_t count = 0;
    for (int64_t bin = 0; bin < n_bins - 1 + has_missing; bin++) {
        sum += bins[bin].sum;
        count += bins[bin].count;
        if (count < LEAST_ROWS) continue;
        if (n - count < LEAST_ROWS) break;
        if (sum[1] < LEAST_HESSIAN) continue;
        if (node->hessian - sum[1] < LEAST_HESSIAN) break;
        try_cut(b, node, sum[0], sum[1], column, bin, 0, best);
    }
    if (!has_missing) return;
    sum = (pair){0.0, 0.0};
    count = 0;
    for (int64_t bin = n_bins - 2; bin >= 0; bin--) {
        sum += bins[bin + 1].sum;
        count += bins[bin + 1].count;
        if (count < LEAST_ROWS) continue;
        if (n - count < LEAST_ROWS) break;
        if (sum[1] < LEAST_HESSIAN) continue;
        if (node->hessian - sum[1] < LEAST_HESSIAN) break;
        /* The right side is what was summed: its gain is of these sums, not of the difference. */
        const double gradient = node->gradient - sum[0], hessian = node->hessian - sum[1];
        double gain = node->gradient * node->value;
        gain -= gradient * node_value(gradient, hessian, b->l2);
        gain -= sum[0] * node_value(sum[0], sum[1], b->l2);
        if (gain > best->gain) *best = (Cut){gain, gradient, hessian, column, bin, 1};
    }
}

/* Sum the histograms of some columns side by side. */
INLINE void sum_columns(int64_t width, int64_t n, const uint32_t *rows, const pair *ordered,
                        const uint8_t *columns, int64_t stride, pair (*sums)[256],
                        int32_t (*counts)[256]) {
    memset(sums, 0, width * sizeof(*sums));
    memset(counts, 0, width * sizeof(*counts));
    for (int64_t i = 0; i < n; i++) {
        const pair own = ordered[i];
        const uint8_t *cell = columns + rows[i];
        for (int64_t c = 0; c < width; c++) {
            const uint8_t bin = cell[c * stride];
            sums[c][bin] += own;
            counts[c][bin]++;
        }
    }
}

/* Make the histograms of a block of columns for the node that a tree has split last, and find the
   best cut of either half among them. */
static void cut_block(const Boosting *b, int64_t t, int64_t block) {
    const Tree *tree = b->trees + t;
    const Node *node = tree->nodes + tree->summed;
    const Node *other = tree->subtracted < 0 ? 0 : tree->nodes + tree->subtracted;
    const int64_t last = (block + 1) * BLOCK < b->n_columns ? (block + 1) * BLOCK : b->n_columns;
    const uint32_t *rows = b->rows + 2 * t * b->n + node->start;
    const pair *ordered = b->ordered + t * b->n;
    Bin *slots = b->bins + t * MOST_LEAVES * b->n_bins;
    Cut *cuts = b->cuts + 2 * (t * b->n_blocks + block);
    pair sums[AT_ONCE][256];
    int32_t counts[AT_ONCE][256];
    cuts[0].gain = cuts[1].gain = 0.0;
    for (int64_t first = block * BLOCK; first < last; first += AT_ONCE) {
        const uint8_t *columns = b->binned + first * b->n;
        const int64_t n = node->stop - node->start;
        const int64_t width = last - first < AT_ONCE ? last - first : AT_ONCE;
        if (width == AT_ONCE)
            sum_columns(AT_ONCE, n, rows, ordered, columns, b->n, sums, counts);
        else
            sum_columns(width, n, rows, ordered, columns, b->n, sums, counts);
        for (int64_t c = 0; c < width; c++) {
            const int64_t column = first + c, from = column ? b->ends[column - 1] : 0;
            const int64_t n_bins = b->ends[column] - from;
            Bin *own = slots + node->slot * b->n_bins + from;
            for (int64_t bin = 0; bin < n_bins; bin++)
                own[bin] = (Bin){sums[c][bin], counts[c][bin]};
            if (tree->wants[0]) cut_column(b, node, column, own, n_bins, cuts);
            if (!other) continue;
            Bin *rest = slots + other->slot * b->n_bins + from;
            for (int64_t bin = 0; bin < n_bins; bin++) {
                rest[bin].sum -= own[bin].sum;
                rest[bin].count -= own[bin].count;
            }
            if (tree->wants[1]) cut_column(b, other, column, rest, n_bins, cuts + 1);
        }
    }
}

/* A heap as Python's heapq has it, so that of equal gains the same comes first. */
INLINE double gain_at(const Tree *tree, int64_t place) {
    return tree->nodes[tree->heap[place]].cut.gain;
}

static void sift_down(Tree *tree, int64_t place) {
    const int64_t node = tree->heap[place];
    const double gain = tree->nodes[node].cut.gain;
    for (int64_t parent; place > 0 && gain > gain_at(tree, parent = (place - 1) / 2); place = parent)
        tree->heap[place] = tree->heap[parent];
    tree->heap[place] = node;
}

static int64_t pop(Tree *tree) {
    const int64_t end = --tree->n_heap, found = tree->heap[0], node = tree->heap[end];
    int64_t place = 0;
    for (int64_t child; (child = 2 * place + 1) < end; place = child) {
        if (child + 1 < end && !(gain_at(tree, child) > gain_at(tree, child + 1))) child++;
        tree->heap[place] = tree->heap[child];
    }
    tree->heap[place] = node;
    if (end) sift_down(tree, place);
    return found;
}

static void push_best(const Boosting *b, int64_t t, int64_t which) {
    Tree *tree = b->trees + t;
    const int64_t number = which ? tree->subtracted : tree->summed;
    if (number < 0 || !tree->wants[which]) return;
    Cut *best = &tree->nodes[number].cut;
    best->gain = 0.0;
    for (int64_t block = 0; block < b->n_blocks; block++) {
        const Cut *cut = b->cuts + 2 * (t * b->n_blocks + block) + which;
        if (cut->gain > best->gain) *best = *cut;
    }
    if (best->gain <= 0.0) return;
    tree->heap[tree->n_heap] = number;
    sift_down(tree, tree->n_heap++);
}

/* Divide the rows of a node as its cut says, in their order. */
static void split_node(const Boosting *b, int64_t t, Node *node) {
    Tree *tree = b->trees + t;
    const Cut cut = node->cut;
    const uint8_t *column = b->binned + cut.column * b->n;
    uint32_t *rows = b->rows + 2 * t * b->n, *aside = rows + b->n;
    int64_t n_left = 0, n_right = 0, n = node->stop - node->start;
    for (int64_t i = node->start; i < node->stop; i++) {
        const uint8_t bin = column[rows[i]];
        if (bin <= cut.bin || (cut.missing_left && bin == MISSING))
            rows[node->start + n_left++] = rows[i];
        else
            aside[n_right++] = rows[i];
    }
    memcpy(rows + node->start + n_left, aside, n_right * sizeof(*rows));
    if (!b->has_missing[cut.column]) node->cut.missing_left = n_left > n_right;
    node->left = tree->n_nodes++;
    node->right = tree->n_nodes++;
    Node *left = tree->nodes + node->left, *right = tree->nodes + node->right;
    const double gradient = node->gradient - cut.gradient, hessian = node->hessian - cut.hessian;
    *left = (Node){node->start, node->start + n_left, 0, -1, -1, cut.gradient, cut.hessian,
                   node_value(cut.gradient, cut.hessian, b->l2), NO_CUT};
    *right = (Node){node->start + n_left, node->stop, 0, -1, -1, gradient, hessian,
                    node_value(gradient, hessian, b->l2), NO_CUT};
    /* The larger half takes the place of both. */
    const int64_t left_is_less = n_left < n - n_left;
    tree->summed = left_is_less ? node->left : node->right;
    tree->subtracted = left_is_less ? node->right : node->left;
    tree->nodes[tree->summed].slot = tree->n_leaves;
    tree->nodes[tree->subtracted].slot = node->slot;
    tree->n_leaves++;
}

/* Take the cuts that were found, and split nodes until there are histograms to make. */
static void grow_on(const Boosting *b, int64_t t) {
    Tree *tree = b->trees + t;
    const int64_t left_first = tree->subtracted < 0 || tree->summed < tree->subtracted;
    push_best(b, t, left_first ? 0 : 1);
    push_best(b, t, left_first ? 1 : 0);
    tree->wants[0] = tree->wants[1] = 0;
    while (tree->n_heap && tree->n_leaves < MOST_LEAVES) {
        split_node(b, t, tree->nodes + pop(tree));
        if (tree->n_leaves == MOST_LEAVES) return;
        const Node *node = tree->nodes + tree->summed, *other = tree->nodes + tree->subtracted;
        tree->wants[0] = node->stop - node->start >= 2 * LEAST_ROWS;
        tree->wants[1] = other->stop - other->start >= 2 * LEAST_ROWS;
        if (!tree->wants[0] && !tree->wants[1]) continue;
        const uint32_t *rows = b->rows + 2 * t * b->n + node->start;
        pair *ordered = b->ordered + t * b->n;
        for (int64_t i = 0; i < node->stop - node->start; i++)
            ordered[i] = (pair){b->gradients[t * b->n + rows[i]], b->hessians[t * b->n + rows[i]]};
        return;
    }
}

static void start_tree(const Boosting *b, int64_t t, const double *sums) {
    Tree *tree = b->trees + t;
    const int64_t grows = b->n >= 2 * LEAST_ROWS && sums[1] >= LEAST_HESSIAN;
    memset(tree, 0, sizeof(*tree));
    tree->subtracted = -1;
    tree->wants[0] = grows;
    tree->n_nodes = tree->n_leaves = 1;
    tree->nodes[0] = (Node){0, b->n, 0, -1, -1, sums[0], sums[1], 0.0, NO_CUT};
    for (int64_t i = 0; i < b->n; i++) {
        b->rows[2 * t * b->n + i] = i;
        b->ordered[t * b->n + i] = (pair){b->gradients[t * b->n + i], b->hessians[t * b->n + i]};
    }
}

/* Add what the leaves say to the rows in them, and write the nodes, parents before children. */
static void end_tree(const Boosting *b, int64_t t, int64_t *nodes, double *values, int64_t *size) {
    Tree *tree = b->trees + t;
    int64_t waiting[MOST_NODES], n_waiting = 1, n = 0;
    waiting[0] = 0;
    while (n_waiting) {
        const int64_t at = n++, mine = waiting[--n_waiting];
        /* Beside a right child stands the place of its parent, which is told where it is. */
        Node *node = tree->nodes + mine % MOST_NODES;
        if (mine >= MOST_NODES) nodes[(mine / MOST_NODES - 1) * 5 + 3] = at;
        int64_t *out = nodes + at * 5;
        values[at] = 0.0;
        out[0] = out[1] = out[2] = out[3] = -1;
        out[4] = 0;
        if (node->left < 0) {
            values[at] = node->value * b->step;
            for (int64_t i = node->start; i < node->stop; i++)
                b->raw[t * b->n + b->rows[2 * t * b->n + i]] += values[at];
            continue;
        }
        out[0] = node->cut.column;
        out[1] = node->cut.bin;
        out[2] = at + 1;
        out[4] = node->cut.missing_left;
        waiting[n_waiting++] = node->right + MOST_NODES * (at + 1);
        waiting[n_waiting++] = node->left;
    }
    *size = n;
}

/* Grow one tree per row of gradients and hessians (n_trees, n), at most MOST_TREES, and add its
   answers to `raw` (n_trees, n). `sums` are those of gradients and hessians of each. Nodes (n_trees,
   MOST_NODES, 5) have a column, bin, left and right child, -1 of a leaf, and the way of missing
   values. `rows` holds 2 n_trees n numbers, `bins` n_trees MOST_LEAVES times those of all columns,
   `cuts` two per tree and block of columns. */
void graphfilter_grow(int64_t n, int64_t n_columns, int64_t n_trees, const uint8_t *binned,
                      const uint8_t *has_missing, const int64_t *ends, const float *gradients,
                      const float *hessians, const double *sums, double l2, double step,
                      double *raw, void *bins, uint32_t *rows, void *ordered, void *cuts,
                      int64_t *nodes, double *values, int64_t *sizes, int64_t n_threads) {
    Tree trees[MOST_TREES];
    const int64_t n_blocks = (n_columns + BLOCK - 1) / BLOCK;
    const Boosting b = {n, n_columns, n_blocks, ends[n_columns - 1], binned, has_missing, ends,
                        gradients, hessians, l2, step, raw, bins, rows, ordered, cuts, trees};
    Shares of_trees, of_blocks;
    make_shares(&of_trees, n_trees, n_threads);
    make_shares(&of_blocks, n_trees * n_blocks, n_threads);
#pragma omp parallel num_threads(n_threads)
    {
        Team team = {&of_trees, n_trees, 0}, blocks = {&of_blocks, n_trees * n_blocks, 0};
        EACH_CHUNK(t, &team) start_tree(&b, t, sums + 2 * t);
        end_phase(&team);
        for (;;) {
            int64_t growing = 0;
            for (int64_t t = 0; t < n_trees; t++) growing += trees[t].wants[0] | trees[t].wants[1];
            if (!growing) break;
            EACH_CHUNK(p, &blocks) {
                const Tree *tree = trees + p / n_blocks;
                if (tree->wants[0] | tree->wants[1]) cut_block(&b, p / n_blocks, p % n_blocks);
            }
            end_phase(&blocks);
            EACH_CHUNK(t, &team) if (trees[t].wants[0] | trees[t].wants[1]) grow_on(&b, t);
            end_phase(&team);
        }
        EACH_CHUNK(t, &team)
            end_tree(&b, t, nodes + t * MOST_NODES * 5, values + t * MOST_NODES, sizes + t);
    }
}
