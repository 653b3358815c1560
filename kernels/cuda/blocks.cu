// y = x * w^T for a quantised matrix, on tensor cores. Codes are integers of at most eight bits, exact in f16 and bf16, so
// they are multiplied by x directly; the sum over 32 (or 16) inputs is multiplied by their scale in f32. A block of threads
// has M x 16 outputs and TILES x 8 rows of x, its warps have a share of the inputs each, and their sums are added as a tree.
// The number of warps depends on the matrix alone, so a row's bits do not depend on the other rows.
//
// The matrix is packed (launch/packing.rs): 16 outputs and 64 inputs are a unit, whose bytes lie as a warp loads them. A
// lane with g = lane / 4 and t = lane % 4 has outputs g and g + 8 (o = 0, 1), and of each of the two groups of 32 inputs (i)
// two fours (s): those from 8t on, or, where sixteen inputs have a scale, those from 4t and from 16 + 4t on.
#include "device.cuh"

constexpr uint32_t NIBBLES = 0x0f0f0f0f;
// Bits 0 to 3 as the lowest bits of four bytes.
__device__ __forceinline__ uint32_t spread(uint32_t bits) { return (bits & 15) * 0x00204081 & 0x01010101; }
// The lower half of a word as an f16.
__device__ __forceinline__ float low_half(uint32_t word) {
  const union { uint16_t bits; f16 number; } low = {(uint16_t)word};
  return widen(low.number);
}

// A lane's share of a unit. A weight is `by * (code - OFFSET) + shift`. `load` only loads, so that several units can be
// in flight; `decode` converts the scales; `bytes`, `by` and `shift` read the result. SUPER: 256 inputs have a scale of their
// scales.
template <int BITS, int OFFSET_, bool SHIFTED_, bool SUPER, bool SIXTEENS_> struct Share {
  static constexpr int OFFSET = OFFSET_;
  static constexpr bool SHIFTED = SHIFTED_, SIXTEENS = SIXTEENS_, WIDE = BITS == 8;
  // Bytes of a unit's planes of codes, of the scales of two outputs, of their scales' scales; of four units or of one.
  static constexpr unsigned LOW = WIDE ? 1024 : 512, HIGH = BITS == 5 ? 128 : BITS == 6 ? 256 : 0;
  static constexpr unsigned SCALES = SHIFTED && !SUPER ? 16 : 8, HEAD = !SUPER ? 0 : SIXTEENS ? 4 : 8;
  static constexpr unsigned UNIT = LOW + HIGH + 8 * SCALES, UNITS = SUPER ? 4 : 1, CHUNK = UNITS * UNIT + 8 * HEAD;
  // A lane's second four inputs are STEP behind the first, and the next lane's EVERY.
  static constexpr unsigned EVERY = SIXTEENS ? 4 : 8, STEP = SIXTEENS ? 16 : 4;

  Vector<uint32_t> low[WIDE ? 2 : 1];
  uint32_t high[2], scales[SCALES / 4], head[2];
  float d[2][2], least[2][2];

  __device__ void load(const uint8_t *tile, unsigned unit, unsigned lane) {
    const uint8_t *chunk = tile + unit / UNITS * CHUNK, *at = chunk + unit % UNITS * UNIT, *of_scales = at + LOW + HIGH;
    const unsigned g = lane / 4;
    for (unsigned o = 0; o < LOW / 512; o++) low[o] = *(const Vector<uint32_t> *)(at + 512 * o + 16 * lane);
    if (HIGH == 128) high[0] = *(const uint32_t *)(at + LOW + 4 * lane);
    if (HIGH == 256) {
      const Pairs both = *(const Pairs *)(at + LOW + 8 * lane);
      high[0] = both.x[0], high[1] = both.x[1];
    }
    for (unsigned i = 0; i < SCALES / 8; i++) {
      const Pairs both = *(const Pairs *)(of_scales + SCALES * g + 8 * i);
      scales[2 * i] = both.x[0], scales[2 * i + 1] = both.x[1];
    }
    if (HEAD == 4) head[0] = *(const uint32_t *)(chunk + UNITS * UNIT + 4 * g);
    if (HEAD == 8) {
      const Pairs both = *(const Pairs *)(chunk + UNITS * UNIT + 8 * g);
      head[0] = both.x[0], head[1] = both.x[1];
    }
  }

  __device__ void decode() {
    for (int o = 0; o < 2; o++)
      for (int i = 0; i < 2; i++) {
        if (SIXTEENS) {
          d[o][i] = low_half(head[0] >> 16 * o);
        } else if (SUPER) {
          d[o][i] = low_half(head[o]) * (float)(scales[o] >> 16 * i & 255);
          least[o][i] = -low_half(head[o] >> 16) * (float)(scales[o] >> (16 * i + 8) & 255);
        } else if (SHIFTED) {
          d[o][i] = low_half(scales[2 * o + i]), least[o][i] = low_half(scales[2 * o + i] >> 16);
        } else {
          d[o][i] = low_half(scales[o] >> 16 * i);
        }
      }
  }

  // The codes of four inputs.
  __device__ uint32_t bytes(int o, int i, int s) const {
    if (WIDE) return low[WIDE ? o : 0].x[2 * i + s];
    const uint32_t lower = low[0].x[2 * o + s] >> 4 * i & NIBBLES;
    if (BITS == 5) return lower | spread(high[0] >> ((2 * o + s) * 8 + 4 * i)) << 4;
    if (BITS == 6) return lower | (high[o] >> 2 * (2 * s + i) & 0x03030303) << 4;
    return lower;
  }
  __device__ float by(int o, int i, int s) const {
    return SIXTEENS ? d[o][i] * (float)(int8_t)(scales[o] >> 8 * (2 * i + s) & 255) : d[o][i];
  }
  __device__ float shift(int o, int i) const { return least[o][i]; }
};
typedef Share<4, 8, false, false, false> q4_0;
typedef Share<4, 0, true, false, false> q4_1;
typedef Share<5, 16, false, false, false> q5_0;
typedef Share<5, 0, true, false, false> q5_1;
typedef Share<8, 128, false, false, false> q8_0;
typedef Share<4, 0, true, true, false> q4_k;
typedef Share<5, 0, true, true, false> q5_k;
typedef Share<6, 32, false, true, true> q6_k;

constexpr unsigned MOST_WARPS = 16;

// What the warps of a block add up.
template <int TILES> struct Sums { float of[MOST_WARPS / 2][TILES * 4][32]; };

// `x` is `[rows, inputs]`, `w` the packed matrix, `y` `[rows, outputs]`, its rows `stride` apart. `column` counts the
// blocks of threads over outputs, blockIdx.y those over rows. Where the matrix is `gated`, outputs g are a gate's and
// outputs g + 8 what it is multiplied with: `y` is `silu(gate) * up`, `[rows, outputs / 2]`.
template <class T, class B, int TILES, int M>
__device__ void product(Sums<TILES> &shared, unsigned column, const T *__restrict__ x, const uint8_t *__restrict__ w,
                        T *__restrict__ y, unsigned rows, unsigned inputs, unsigned outputs, unsigned stride,
                        bool gated) {
  constexpr int SUMS = TILES * 4;
  auto &others = shared.of;
  // Units in flight while one is multiplied.
  constexpr int AHEAD = TILES == 1 ? 4 : TILES == 2 ? 3 : 1;
  const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const unsigned units = inputs / 64, tiles = (outputs + 15) / 16, row = blockIdx.y * (8 * TILES);
  // Beyond the matrices the last rows are read, and their sums are not stored.
  const uint8_t *of_tile[M];
  for (int m = 0; m < M; m++) of_tile[m] = w + (size_t)min(column * M + m, tiles - 1) * (units / B::UNITS * B::CHUNK);
  unsigned of_row[TILES];
  for (int n = 0; n < TILES; n++) of_row[n] = min(row + 8 * n + g, rows - 1) * inputs + B::EVERY * t;
  float sums[M][TILES][4];
#pragma unroll
  for (int j = 0; j < M * SUMS; j++) sums[j / SUMS][j % SUMS / 4][j % 4] = 0.0f;
  const uint32_t ones[4] = {pack<T>(1.0f, 1.0f), pack<T>(1.0f, 1.0f), pack<T>(1.0f, 1.0f), pack<T>(1.0f, 1.0f)};

  const unsigned first = warp * units / warps, end = (warp + 1) * units / warps;
  B ahead[AHEAD][M];
  auto load = [&](B(&to)[M], unsigned unit) {
    for (int m = 0; m < M; m++) to[m].load(of_tile[m], unit, lane);
  };
  auto multiply = [&](B(&of)[M], unsigned unit) {
    for (int m = 0; m < M; m++) of[m].decode();
#pragma unroll
    for (int i = 0; i < 2; i++) {
      uint32_t a[M][2][4];
      for (int m = 0; m < M; m++)
        for (int s = 0; s < 2; s++)
          for (int o = 0; o < 2; o++) {
            uint32_t pairs[2];
            codes_to_pairs<T, B::OFFSET, B::WIDE>(of[m].bytes(o, i, s), pairs);
            a[m][s][o] = pairs[0], a[m][s][o + 2] = pairs[1];
          }
#pragma unroll
      for (int n = 0; n < TILES; n++) {
        const T *at = x + of_row[n] + unit * 64 + i * 32;
        uint32_t b[2][2];
        if constexpr (B::STEP == 4) {
          const Vector<uint32_t> both = *(const Vector<uint32_t> *)at;
          b[0][0] = both.x[0], b[0][1] = both.x[1], b[1][0] = both.x[2], b[1][1] = both.x[3];
        } else {
          const Pairs one = *(const Pairs *)at, other = *(const Pairs *)(at + B::STEP);
          b[0][0] = one.x[0], b[0][1] = one.x[1], b[1][0] = other.x[0], b[1][1] = other.x[1];
        }
        float of_x[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        if (B::SHIFTED)
          for (int s = 0; s < 2; s++) mma<T>(of_x, ones, b[s][0], b[s][1]);
        for (int m = 0; m < M; m++) {
          float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
          for (int s = 0; s < 2; s++) {
            mma<T>(part, a[m][s], b[s][0], b[s][1]);
            if (!B::SIXTEENS && s == 0) continue;
            for (int j = 0; j < 4; j++) {
              sums[m][n][j] = fmaf(of[m].by(j / 2, i, s), part[j], sums[m][n][j]);
              if (B::SHIFTED) sums[m][n][j] = fmaf(of[m].shift(j / 2, i), of_x[j % 2], sums[m][n][j]);
              part[j] = 0.0f;
            }
          }
        }
      }
    }
  };
#pragma unroll
  for (int i = 0; i < AHEAD; i++)
    if (first + i < end) load(ahead[i], first + i);
  for (unsigned next = first; next < end; next += AHEAD) {
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
      if (next + i >= end) break;
      B of[M];
      for (int m = 0; m < M; m++) of[m] = ahead[i][m];
      if (next + i + AHEAD < end) load(ahead[i], next + i + AHEAD);
      multiply(of, next + i);
    }
  }

#pragma unroll
  for (int m = 0; m < M; m++)
    for (unsigned half = warps / 2; half > 0; half /= 2) {
      if (warp >= half && warp < 2 * half)
#pragma unroll
        for (int j = 0; j < SUMS; j++) others[warp - half][j][lane] = sums[m][j / 4][j % 4];
      __syncthreads();
      if (warp < half)
#pragma unroll
        for (int j = 0; j < SUMS; j++) sums[m][j / 4][j % 4] = sums[m][j / 4][j % 4] + others[warp][j][lane];
      __syncthreads();
    }
  if (warp > 0) return;
#pragma unroll
  for (int m = 0; m < M; m++)
#pragma unroll
    for (int j = 0; j < SUMS; j++) {
      const unsigned r = row + 8 * (j / 4) + 2 * t + j % 2, tile = column * M + m;
      if (gated) {
        const float gate = sums[m][j / 4][j % 2], up = sums[m][j / 4][j % 2 + 2];
        if (j % 4 < 2 && r < rows && tile < tiles)
          y[(size_t)r * stride + tile * 8 + g] = narrow<T>(gate / (1.0f + expf(-gate)) * up);
        continue;
      }
      const unsigned o = tile * 16 + g + j % 4 / 2 * 8;
      if (r < rows && o < outputs) y[(size_t)r * stride + o] = narrow<T>(sums[m][j / 4][j % 4]);
    }
}

// The matrix as numbers, `[outputs, inputs]`, a unit a warp. Block (u, o) has eight units of the `o`-th sixteen outputs.
// Where it is `gated`, all gates come first.
template <class T, class B>
__device__ void widened(const uint8_t *__restrict__ w, T *__restrict__ y, unsigned inputs, unsigned outputs,
                        bool gated) {
  const unsigned lane = threadIdx.x % 32, units = inputs / 64, unit = blockIdx.x * 8 + threadIdx.x / 32;
  if (unit >= units) return;
  B of;
  of.load(w + (size_t)blockIdx.y * (units / B::UNITS * B::CHUNK), unit, lane);
  of.decode();
  for (int o = 0; o < 2; o++) {
    const unsigned output = gated ? o * (outputs / 2) + blockIdx.y * 8 + lane / 4 : blockIdx.y * 16 + lane / 4 + 8 * o;
    if (output >= outputs) return;
    T *to = y + (size_t)output * inputs + unit * 64 + B::EVERY * (lane % 4);
    for (int i = 0; i < 2; i++) {
      uint32_t numbers[2][2];
      for (int s = 0; s < 2; s++) {
        const uint32_t codes = of.bytes(o, i, s);
        float values[4];
        for (int j = 0; j < 4; j++) {
          const float product = of.by(o, i, s) * (float)((int)(codes >> 8 * j & 255) - B::OFFSET);
          values[j] = B::SHIFTED ? product + of.shift(o, i) : product;
        }
        numbers[s][0] = pack<T>(values[0], values[1]), numbers[s][1] = pack<T>(values[2], values[3]);
      }
      if constexpr (B::STEP == 4) {
        *(Vector<uint32_t> *)(to + i * 32) = Vector<uint32_t>{{numbers[0][0], numbers[0][1], numbers[1][0], numbers[1][1]}};
      } else {
        for (int s = 0; s < 2; s++) *(Pairs *)(to + i * 32 + s * B::STEP) = Pairs{{numbers[s][0], numbers[s][1]}};
      }
    }
  }
}

// A matrix whose first outputs have blocks of type A and the others of type B.
template <class T, class A, class B, int TILES, int M>
__device__ void product_of_two(Sums<TILES> &shared, const T *x, const uint8_t *a, const uint8_t *b, T *y, unsigned rows,
                               unsigned inputs, unsigned outputs_a, unsigned outputs_b) {
  const unsigned of_a = (outputs_a + 16 * M - 1) / (16 * M), stride = outputs_a + outputs_b;
  if (blockIdx.x < of_a) product<T, A, TILES, M>(shared, blockIdx.x, x, a, y, rows, inputs, outputs_a, stride, false);
  else product<T, B, TILES, M>(shared, blockIdx.x - of_a, x, b, y + outputs_a, rows, inputs, outputs_b, stride, false);
}

#define PRODUCT(B, T, TILES, M)                                                                                       \
  extern "C" __global__ void __launch_bounds__(512)                                                                   \
      blocks_##B##_##TILES##_##T(const T *x, const uint8_t *w, T *y, unsigned rows, unsigned inputs,                  \
                                 unsigned outputs, unsigned stride, unsigned gated) {                                 \
    __shared__ Sums<TILES> shared;                                                                                    \
    product<T, B, TILES, M>(shared, blockIdx.x, x, w, y, rows, inputs, outputs, stride, gated);                       \
  }
#define PRODUCTS(B, T) PRODUCT(B, T, 1, 1) PRODUCT(B, T, 2, 1) PRODUCT(B, T, 4, 2)
#define BLOCKS(B, T)                                                                                                  \
  PRODUCTS(B, T)                                                                                                      \
  extern "C" __global__ void __launch_bounds__(256)                                                                   \
      widen_##B##_##T(const uint8_t *w, T *y, unsigned inputs, unsigned outputs, unsigned gated) {                    \
    widened<T, B>(w, y, inputs, outputs, gated);                                                                      \
  }
#define TYPE(B) BLOCKS(B, f16) BLOCKS(B, bf16)
TYPE(q4_0)
TYPE(q4_1)
TYPE(q5_0)
TYPE(q5_1)
TYPE(q8_0)
TYPE(q4_k)
TYPE(q5_k)
TYPE(q6_k)

// Queries and keys beside values, in the files that have more bits for values.
#define PRODUCT_OF_TWO(A, B, T, TILES, M)                                                                             \
  extern "C" __global__ void __launch_bounds__(512)                                                                   \
      blocks_##A##_##B##_##TILES##_##T(const T *x, const uint8_t *a, const uint8_t *b, T *y, unsigned rows,           \
                                       unsigned inputs, unsigned outputs_a, unsigned outputs_b) {                     \
    __shared__ Sums<TILES> shared;                                                                                    \
    product_of_two<T, A, B, TILES, M>(shared, x, a, b, y, rows, inputs, outputs_a, outputs_b);                        \
  }
#define PRODUCTS_OF_TWO(A, B, T)                                                                                      \
  PRODUCT_OF_TWO(A, B, T, 1, 1) PRODUCT_OF_TWO(A, B, T, 2, 1) PRODUCT_OF_TWO(A, B, T, 4, 2)
PRODUCTS_OF_TWO(q4_k, q6_k, f16)
PRODUCTS_OF_TWO(q4_k, q6_k, bf16)
PRODUCTS_OF_TWO(q5_k, q6_k, f16)
PRODUCTS_OF_TWO(q5_k, q6_k, bf16)
