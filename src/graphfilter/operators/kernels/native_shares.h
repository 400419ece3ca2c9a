/* Chunks of work that threads share; part of native.c.

   Every thread begins with a range of its own and then takes from the others' what is left, so that
   one that the system has stopped holds up one chunk, not its whole share. How work is cut into chunks
   never depends on the threads, and what is added up is added chunk by chunk: neither do the bits. */

#define MOST_THREADS 256

/* The next chunk of each range, one line of the cache apart, in this phase and the two before. */
typedef struct {
    int64_t n_chunks, n_ranges, next[3][MOST_THREADS][8];
} Shares;

INLINE int64_t start_of_range(const Shares *s, int64_t range) {
    return s->n_chunks * range / s->n_ranges;
}

INLINE void reset_shares(Shares *s, int64_t phase) {
    for (int64_t r = 0; r < s->n_ranges; r++) s->next[phase % 3][r][0] = start_of_range(s, r);
}

static void make_shares(Shares *s, int64_t n_chunks, int64_t n_threads) {
    s->n_chunks = n_chunks;
    s->n_ranges = n_threads < MOST_THREADS ? n_threads : MOST_THREADS;
    for (int64_t phase = 0; phase < 3; phase++) reset_shares(s, phase);
}

/* Those who work through the same chunks, phase by phase: all threads, or without shares one alone. */
typedef struct {
    Shares *shares;
    int64_t n_chunks, phase;
} Team;

/* Return the next chunk of this phase, or -1; `tried`, which starts at 0, counts what was used up. */
INLINE int64_t take_chunk(const Team *team, int64_t *tried) {
    Shares *s = team->shares;
    if (!s) return *tried < team->n_chunks ? (*tried)++ : -1;
    for (; *tried < s->n_ranges; ++*tried) {
        const int64_t range = (omp_get_thread_num() + *tried) % s->n_ranges;
        const int64_t chunk =
            __atomic_fetch_add(&s->next[team->phase % 3][range][0], 1, __ATOMIC_RELAXED);
        if (chunk < start_of_range(s, range + 1)) return chunk;
    }
    return -1;
}

#define EACH_CHUNK(chunk, team) \
    for (int64_t tried = 0, chunk; (chunk = take_chunk(team, &tried)) >= 0;)

/* Wait until every chunk of this phase is done. */
INLINE void end_phase(Team *team) {
    if (!team->shares) return;
#pragma omp barrier
    team->phase++;
    /* Nobody is left in the phase before, whose place the one after the next takes. */
    if (omp_get_thread_num() == 0) reset_shares(team->shares, team->phase + 2);
}
