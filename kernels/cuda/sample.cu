// From logits to a token, a block of 1024 threads a row: the likeliest, or by chance after temperature, top-k and
// top-p, of those that the row's mask allows. Probabilities are whole numbers of 2^-32 of the likeliest one's, so their
// sums do not depend on the order of addition.
#include "device.cuh"

constexpr unsigned THREADS = 1024;
constexpr unsigned NONE = 0xffffffffu;

// How one row is sampled. `temperature` 0 is greedy; `mask` is the row of the masks, or `NONE`; `draw` is in [0, 1).
struct Choice {
  float temperature, top_p, draw;
  unsigned top_k, mask;
};

// A number's rank in the order of floats.
__device__ __forceinline__ unsigned rank_of(float x) {
  const unsigned bits = __float_as_uint(x);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// The sum of `mine` over the block, in every thread.
__device__ uint64_t block_sum(uint64_t mine, uint64_t *scratch) {
  const unsigned thread = threadIdx.x;
  __syncthreads();
  scratch[thread] = mine;
  __syncthreads();
  for (unsigned step = THREADS / 2; step > 0; step /= 2) {
    if (thread < step) scratch[thread] += scratch[thread + step];
    __syncthreads();
  }
  return scratch[0];
}

// The sum of `mine` over the threads before this one.
__device__ uint64_t sum_before(uint64_t mine, uint64_t *scratch) {
  const unsigned thread = threadIdx.x;
  __syncthreads();
  scratch[thread] = mine;
  __syncthreads();
  for (unsigned step = 1; step < THREADS; step *= 2) {
    const uint64_t left = thread >= step ? scratch[thread - step] : 0;
    __syncthreads();
    scratch[thread] += left;
    __syncthreads();
  }
  return scratch[thread] - mine;
}

// The tokens that are left: those of a higher rank than `rank`, and of that rank those up to `last`.
struct Kept {
  unsigned rank, last;
  __device__ bool has(unsigned r, unsigned id) const { return r > rank || (r == rank && id <= last); }
};

struct Row {
  const float *logits;
  const unsigned *mask;
  unsigned vocab, chunk;
  float highest, temperature;

  __device__ bool open(unsigned id) const { return mask == nullptr || (mask[id / 32] >> (id % 32) & 1); }
  // Also false for NaN.
  __device__ bool allowed(unsigned id) const { return open(id) && fabsf(logits[id]) < INFINITY; }
  __device__ uint64_t mass(unsigned id) const {
    return (uint64_t)(expf((logits[id] - highest) / temperature) * 4294967296.0f);
  }
  __device__ uint64_t weight(unsigned id, bool counted) const { return counted ? 1 : mass(id); }
  __device__ unsigned begin() const { return threadIdx.x * chunk; }
  __device__ unsigned end() const { return begin() + chunk < vocab ? begin() + chunk : vocab; }
};

// Sums of weights by eight bits of a rank. Shared memory adds 32 bits in one instruction and 64 in a loop that retries,
// so a sum has three parts of eleven bits of each weight (at most 2^32): 2^21 tokens fit.
struct Bins {
  unsigned parts[3][256];

  __device__ void clear() {
    for (unsigned i = threadIdx.x; i < 3 * 256; i += THREADS) parts[i / 256][i % 256] = 0;
  }
  __device__ void add(unsigned bin, uint64_t weight) {
    // Most tokens are so unlikely that one part is enough.
    for (unsigned part = 0; weight != 0; part++, weight >>= 11)
      if (weight & 2047) atomicAdd(&parts[part][bin], (unsigned)(weight & 2047));
  }
  __device__ uint64_t sum(unsigned bin) const {
    return parts[0][bin] + ((uint64_t)parts[1][bin] << 11) + ((uint64_t)parts[2][bin] << 22);
  }
};

// Of what is kept, the likeliest tokens whose weights together reach `target`: of equals, the lower ids. Eight bits of
// the rank are found at a time.
__device__ Kept cut(const Row &row, const Kept &kept, uint64_t target, bool counted, uint64_t *scratch) {
  __shared__ Bins bins;
  __shared__ unsigned found, last;
  __shared__ uint64_t missing;
  unsigned prefix = 0, known = 0;
  for (int shift = 24; shift >= 0; shift -= 8) {
    __syncthreads();
    bins.clear();
    __syncthreads();
    for (unsigned id = threadIdx.x; id < row.vocab; id += THREADS) {
      if (!row.allowed(id)) continue;
      const unsigned rank = rank_of(row.logits[id]);
      if (kept.has(rank, id) && (rank & known) == prefix) bins.add(rank >> shift & 255, row.weight(id, counted));
    }
    __syncthreads();
    if (threadIdx.x < 256) scratch[threadIdx.x] = bins.sum(threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) {
      unsigned bin = 255;
      uint64_t left = target;
      while (bin > 0 && scratch[bin] < left) left -= scratch[bin--];
      found = bin, missing = left;
    }
    __syncthreads();
    prefix |= found << shift, known |= 255u << shift, target = missing;
  }
  // Of the tokens of this very rank, as many as are still missing.
  uint64_t mine = 0;
  auto equal = [&](unsigned id) { return row.allowed(id) && rank_of(row.logits[id]) == prefix && kept.has(prefix, id); };
  for (unsigned id = row.begin(); id < row.end(); id++)
    if (equal(id)) mine += row.weight(id, counted);
  if (threadIdx.x == 0) last = NONE;
  uint64_t sum = sum_before(mine, scratch);
  for (unsigned id = row.begin(); id < row.end() && sum < target; id++) {
    if (!equal(id)) continue;
    sum += row.weight(id, counted);
    if (sum >= target) last = id;
  }
  __syncthreads();
  return Kept{prefix, last};
}

// The likeliest allowed token, of equals the lowest id; `NONE` where none is allowed.
__device__ unsigned likeliest(const Row &row) {
  __shared__ unsigned ranks[THREADS], ids[THREADS];
  const unsigned thread = threadIdx.x;
  unsigned best = NONE, best_rank = 0;
  // Loads of several logits are in flight at a time. Indices past the vocabulary are clamped to the last token; comparing it
  // twice changes nothing.
  constexpr unsigned AT_ONCE = 8;
  const float *logits = row.logits;
  for (unsigned first = thread; first < row.vocab; first += AT_ONCE * THREADS) {
    float read[AT_ONCE];
#pragma unroll
    for (unsigned i = 0; i < AT_ONCE; i++) read[i] = load(logits + min(first + i * THREADS, row.vocab - 1));
#pragma unroll
    for (unsigned i = 0; i < AT_ONCE; i++) {
      const unsigned id = min(first + i * THREADS, row.vocab - 1), rank = rank_of(read[i] + 0.0f);
      const bool better = fabsf(read[i]) < INFINITY && (best == NONE || rank > best_rank);
      if (better && row.open(id)) best = id, best_rank = rank;
    }
  }
  ranks[thread] = best_rank, ids[thread] = best;
  __syncthreads();
  for (unsigned step = THREADS / 2; step > 0; step /= 2) {
    if (thread < step) {
      const unsigned other = ids[thread + step], rank = ranks[thread + step];
      const bool better = ids[thread] == NONE || rank > ranks[thread] || (rank == ranks[thread] && other < ids[thread]);
      if (other != NONE && better) ids[thread] = other, ranks[thread] = rank;
    }
    __syncthreads();
  }
  return ids[0];
}

// The token at `draw` of what is kept, in the order of ids.
__device__ unsigned drawn(const Row &row, const Kept &kept, float draw, uint64_t *scratch) {
  __shared__ unsigned token;
  uint64_t mine = 0;
  auto is_kept = [&](unsigned id) { return row.allowed(id) && kept.has(rank_of(row.logits[id]), id); };
  for (unsigned id = row.begin(); id < row.end(); id++)
    if (is_kept(id)) mine += row.mass(id);
  const uint64_t total = block_sum(mine, scratch);
  const uint64_t at = (uint64_t)((double)draw * (double)total);
  uint64_t sum = sum_before(mine, scratch);
  if (sum <= at && at < sum + mine)
    for (unsigned id = row.begin(); id < row.end() && sum <= at; id++) {
      if (!is_kept(id)) continue;
      sum += row.mass(id);
      if (sum > at) token = id;
    }
  __syncthreads();
  return token;
}

// `logits` is `[rows, vocab]`, `masks` `[.., words]` with a bit a token, `choices` and `tokens` `[rows]`.
extern "C" __global__ void __launch_bounds__(1024)
    sample(const float *logits, const unsigned *masks, const Choice *choices, unsigned *tokens, unsigned vocab,
           unsigned stride, unsigned words) {
  __shared__ uint64_t scratch[THREADS];
  const Choice choice = choices[blockIdx.x];
  Row row;
  row.logits = logits + (size_t)blockIdx.x * stride;
  row.mask = choice.mask == NONE ? nullptr : masks + (size_t)choice.mask * words;
  row.vocab = vocab, row.chunk = (vocab + THREADS - 1) / THREADS;
  unsigned token = likeliest(row);
  if (choice.temperature > 0.0f && token != NONE) {
    row.highest = row.logits[token], row.temperature = choice.temperature;
    Kept kept = {0, NONE};
    if (choice.top_k > 0) kept = cut(row, kept, choice.top_k, true, scratch);
    if (choice.top_p < 1.0f) {
      uint64_t mine = 0;
      for (unsigned id = threadIdx.x; id < vocab; id += THREADS)
        if (row.allowed(id) && kept.has(rank_of(row.logits[id]), id)) mine += row.mass(id);
      const uint64_t total = block_sum(mine, scratch);
      const uint64_t target = (uint64_t)((double)choice.top_p * (double)total);
      kept = cut(row, kept, target > 0 ? target : 1, false, scratch);
    }
    token = drawn(row, kept, choice.draw, scratch);
  }
  if (threadIdx.x == 0) tokens[blockIdx.x] = token;
}
