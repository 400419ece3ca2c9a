/* Random numbers of torch's generator on a CPU, many at a time; part of native.c.

   The Mersenne twister: Matsumoto, Nishimura (1998), in the layout in which torch gives its state. */

#define N_STATE 624
#define SHIFT 397

typedef struct {
    uint64_t seed;
    int32_t left, seeded;
    uint64_t next, state[N_STATE];
} Twister;

INLINE uint32_t twisted(uint32_t one, uint32_t two, uint32_t other) {
    const uint32_t mixed = (one & 0x80000000u) | (two & 0x7fffffffu);
    return other ^ (mixed >> 1) ^ (-(two & 1) & 0x9908b0dfu);
}

static void twist(uint32_t *s) {
    for (int i = 0; i < N_STATE - SHIFT; i++) s[i] = twisted(s[i], s[i + 1], s[i + SHIFT]);
    for (int i = N_STATE - SHIFT; i < N_STATE - 1; i++)
        s[i] = twisted(s[i], s[i + 1], s[i + SHIFT - N_STATE]);
    s[N_STATE - 1] = twisted(s[N_STATE - 1], s[0], s[SHIFT - 1]);
}

static void temper(const uint32_t *s, uint32_t *made) {
    for (int i = 0; i < N_STATE; i++) {
        uint32_t y = s[i];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        made[i] = y ^ (y >> 18);
    }
}

/* Fill n words as torch's random_ does with all 64 bits, and move the generator's state on. */
void EXPORT(graphfilter_draw)(Twister *twister, int64_t n, uint64_t *words) {
    uint32_t s[N_STATE], made[N_STATE];
    int64_t next = (int64_t)twister->next, left = twister->left - 1;
    for (int i = 0; i < N_STATE; i++) s[i] = (uint32_t)twister->state[i];
    temper(s, made);
    while (n > 0) {
        const int64_t pairs = left / 2 < n ? left / 2 : n;
        for (int64_t i = 0; i < pairs; i++)
            words[i] = (uint64_t)made[next + 2 * i] << 32 | made[next + 2 * i + 1];
        words += pairs, n -= pairs, next += 2 * pairs, left -= 2 * pairs;
        if (n == 0) break;
        const uint64_t first = left ? made[next] : 0;
        twist(s);
        temper(s, made);
        next = left;
        if (left) *words++ = first << 32 | made[0], n--;
        left = N_STATE - next;
    }
    for (int i = 0; i < N_STATE; i++) twister->state[i] = s[i];
    twister->next = (uint64_t)next;
    twister->left = (int32_t)left + 1;
}
