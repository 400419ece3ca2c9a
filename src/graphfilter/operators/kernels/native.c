/* Products with a sparse matrix on a CPU, one row at a time in registers.

   native_kernel.py calls these functions; it checks every size before, and nothing is checked here.
   graphfilter_walk runs a whole three-term recurrence, with the weighted sum of its terms and their
   inner products with another array, in one call: every row is finished (scaled, added up,
   multiplied) while it is in registers, and nothing returns to Python between the terms.

   Rows have `stride` floats, a multiple of LANES. The library is compiled with OpenMP but
   not linked with it: the symbols are those of the library torch has loaded, so that both share one
   pool of threads. Compiled without OpenMP, one thread does the same work, chunk by chunk. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LANES 16

typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef double exact_lanes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef uint32_t bits __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t whole_lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint16_t halves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

/* Only glibc, which <stdint.h> has announced, chooses among clones when a library is loaded.
   -DFOR_EVERY_CPU= compiles one, for the processor that the compiler is told of. */
#if defined(FOR_EVERY_CPU)
#elif defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
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

#include "native_shares.h"

typedef struct {
    const int32_t *offsets, *columns;
    const float *values;
    int64_t n_entries, ahead;
} Matrix;

/* Rows that lie far away are fetched this many entries before they are added, which is more than a
   processor looks ahead by itself: those of arrays of more than FAR bytes. Near ones come in time. */
#define AHEAD 32
#define FAR (6 << 20)
#define LINE 64

INLINE Matrix make_matrix(const int32_t *offsets, const int32_t *columns, const float *values,
                          int64_t n, int64_t row_bytes) {
    return (Matrix){offsets, columns, values, offsets[n], n * row_bytes > FAR ? AHEAD : 0};
}

/* Raised with every change of what the functions below take. */
int graphfilter_interface(void) { return 8; }

/* Sums of products are kept in single precision over this many rows, then in double. */
#define ROWS_AT_A_TIME 64

INLINE void load_float(const float *from, lanes *to) { *to = *(const lanes *)from; }
INLINE void save_float(float *to, const lanes *from) { *(lanes *)to = *from; }

/* bfloat16 is the upper half of a float; rounded to the nearest, to even where two are as near. */
INLINE void load_half(const uint16_t *from, lanes *to) {
    *to = (lanes)(__builtin_convertvector(*(const halves *)from, bits) << 16);
}
INLINE void save_half(uint16_t *to, const lanes *from) {
    const bits all = *(const bits *)from;
    const bits rounded = (all + 0x7fff + ((all >> 16) & 1)) >> 16;
    /* What is not a number stays so, whatever its lower half. */
    const bits strange = (bits)((whole_lanes)(0x7f800000 - (all & 0x7fffffff)) >> 31);
    const bits kept = (rounded & ~strange) | (((all >> 16) | 0x40) & strange);
    *(halves *)to = __builtin_convertvector(kept, halves);
}

#define STORED float
#define NAME(name) name##_float
#include "native_products.h"
#undef STORED
#undef NAME

#define STORED uint16_t
#define NAME(name) name##_half
#include "native_products.h"
#undef STORED
#undef NAME

#include "native_layers.h"
#include "native_residual.h"
#include "native_trees.h"
#include "native_boosting.h"
#include "native_draws.h"
