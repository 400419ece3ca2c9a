/* Products with a sparse matrix on a CPU, one row at a time in registers.

   native_kernel.py calls these functions; it checks every size before, and nothing is checked here.
   graphfilter_walk runs a whole three-term recurrence, with the weighted sum of its terms and their
   inner products with another array, in one call: every row is finished (scaled, added up,
   multiplied) while it is in registers, and nothing returns to Python between the terms.

   Rows have `stride` floats, a multiple of COLUMNS. The library is compiled with OpenMP but
   not linked with it: the symbols are those of the library torch has loaded, so that both share one
   pool of threads. Compiled without OpenMP, one thread does the same work, chunk by chunk.

   hatch_build.py compiles this file once for every processor of a kind, and for x86 once more for each
   level of vector instructions, with LEVEL as the ending of names; native_kernel.py chooses. */

#include <math.h>
#include <stdint.h>
#include <string.h>

/* What rows are padded to: one line of a cache. */
#define COLUMNS 16
#define LINE 64

/* The numbers of one vector register. Not more: GCC keeps vectors that are wider in memory, and fills
   some one number at a time: a walk takes 4 to 20 times as long. */
#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif
/* Vectors of COLUMNS, and the most that are computed together. */
#define PIECES (COLUMNS / LANES)
#define MOST (4 * PIECES)

typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef double exact_lanes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef uint32_t bits __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t whole_lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint16_t halves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

#define WITH_ENDING(name, ending) name##ending
#define WITH_LEVEL(name, level) WITH_ENDING(name, level)
#ifdef LEVEL
#define EXPORT(name) WITH_LEVEL(name, LEVEL)
#else
#define EXPORT(name) name
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

INLINE Matrix make_matrix(const int32_t *offsets, const int32_t *columns, const float *values,
                          int64_t n, int64_t row_bytes) {
    return (Matrix){offsets, columns, values, offsets[n], n * row_bytes > FAR ? AHEAD : 0};
}

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

#include "native_residual.h"

#ifndef LEVEL
/* Raised with every change of what the functions take. */
int graphfilter_interface(void) { return 9; }

/* The highest level that this processor has, of those in hatch_build.py: 0 is that of all. */
int graphfilter_level(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")
               ? 2
               : 1;
#else
    return 0;
#endif
}
#endif
