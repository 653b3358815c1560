// y = x * w^T in an order of summation that does not depend on the number of rows: inputs are cut into four sections of
// equal length, each section is summed by 16 in ascending order from zero, and the four sums are added in ascending
// order. `narrow` gives each section a warp of its own (few rows: the weights' bytes are the limit), `wide` goes
// through them one after the other (many rows). Their bits are the same. cuBLAS chooses its order by the number of
// rows, and is faster.
#include "device.cuh"

constexpr unsigned SECTIONS = 4;
// Inputs that are loaded at once.
constexpr unsigned STEP = 32;

__device__ __forceinline__ unsigned section_length(unsigned inputs) {
  return (inputs + STEP * SECTIONS - 1) / (STEP * SECTIONS) * STEP;
}

// Offset of piece `piece` (16 bytes) of a row of `STEP` numbers, permuted so that eight rows meet eight sets of banks.
__device__ __forceinline__ unsigned offset(unsigned row, unsigned piece) { return row * 4 + (piece ^ (row >> 1 & 3)); }

// Begins to load `ROWS` rows of `STEP` inputs from `from` on, by `THREADS` threads; beyond the matrix there are zeros.
template <class T, unsigned ROWS, unsigned THREADS>
__device__ void load_rows(T *to, const T *matrix, unsigned row, unsigned rows, unsigned from, unsigned end, unsigned inputs,
                          unsigned thread) {
  for (unsigned i = thread; i < ROWS * 4; i += THREADS) {
    const unsigned r = i / 4, at = from + i % 4 * 8;
    const bool real = row + r < rows && at < end;
    copy_async(to + offset(r, i % 4) * 8, real ? matrix + (size_t)(row + r) * inputs + at : matrix, real);
  }
}

// Rows 0 to 15, inputs 16 * half on, as a left factor.
template <class T> __device__ __forceinline__ void left(uint32_t (&a)[4], const T *rows, unsigned half, unsigned lane) {
  load_matrices(a, rows + offset(lane % 16, half * 2 + lane / 16) * 8);
}
// Rows 0 to 15, as two right factors of eight outputs: b[0], b[1] and b[2], b[3].
template <class T> __device__ __forceinline__ void right(uint32_t (&b)[4], const T *rows, unsigned half, unsigned lane) {
  load_matrices(b, rows + offset(lane % 8 + lane / 16 * 8, half * 2 + lane / 8 % 2) * 8);
}

template <class T> __device__ void store(T *y, unsigned row, unsigned output, unsigned rows, unsigned outputs, const float (&sum)[4]) {
  for (int i = 0; i < 4; i++) {
    const unsigned r = row + i / 2 * 8, o = output + i % 2;
    if (r < rows && o < outputs) y[(size_t)r * outputs + o] = narrow<T>(sum[i]);
  }
}

// Sixteen rows and thirty-two outputs a block, a section a warp. Block (o, r).
template <class T>
__device__ void few(const T *x, const T *w, T *y, unsigned rows, unsigned inputs, unsigned outputs) {
  constexpr int STAGES = 4;
  constexpr unsigned TILE = (16 + 32) * STEP;
  alignas(128) __shared__ T tiles[SECTIONS][STAGES][TILE];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned row = blockIdx.y * 16, output = blockIdx.x * 32;
  const unsigned length = section_length(inputs), first = warp * length;
  const unsigned end = first + length < inputs ? first + length : inputs;
  const unsigned steps = first < inputs ? (end - first + STEP - 1) / STEP : 0;
  auto load = [&](unsigned step) {
    T *tile = tiles[warp][step % STAGES];
    load_rows<T, 16, 32>(tile, x, row, rows, first + step * STEP, end, inputs, lane);
    load_rows<T, 32, 32>(tile + 16 * STEP, w, output, outputs, first + step * STEP, end, inputs, lane);
  };
  for (unsigned step = 0; step < STAGES - 1; step++) {
    if (step < steps) load(step);
    copies_end();
  }
  float sums[4][4];
  for (auto &n : sums)
    for (float &s : n) s = 0.0f;
  for (unsigned step = 0; step < steps; step++) {
    copies_done<STAGES - 2>();
    __syncwarp();
    if (step + STAGES - 1 < steps) load(step + STAGES - 1);
    copies_end();
    const T *tile = tiles[warp][step % STAGES];
    for (unsigned half = 0; half < 2; half++) {
      uint32_t a[4];
      left(a, tile, half, lane);
      for (unsigned pair = 0; pair < 2; pair++) {
        uint32_t b[4];
        right(b, tile + (16 + pair * 16) * STEP, half, lane);
        mma<T>(sums[2 * pair], a, b[0], b[1]);
        mma<T>(sums[2 * pair + 1], a, b[2], b[3]);
      }
    }
  }
  copies_done<0>();
  __syncthreads();
  // The sections' sums reuse the tiles' memory.
  float *all = (float *)&tiles[0][0][0];
  for (int n = 0; n < 4; n++)
    for (int i = 0; i < 4; i++) all[(warp * 16 + n * 4 + i) * 32 + lane] = sums[n][i];
  __syncthreads();
  float total[4];
  for (int i = 0; i < 4; i++) {
    auto section = [&](unsigned s) { return all[(s * 16 + warp * 4 + i) * 32 + lane]; };
    total[i] = ((section(0) + section(1)) + section(2)) + section(3);
  }
  store(y, row + lane / 4, output + warp * 8 + lane % 4 * 2, rows, outputs, total);
}

// 128 rows and 128 outputs a block of eight warps, each 64 x 32. Block (o, r).
template <class T>
__device__ void many(const T *x, const T *w, T *y, unsigned rows, unsigned inputs, unsigned outputs) {
  constexpr int STAGES = 3;
  alignas(128) __shared__ T tiles[STAGES][256 * STEP];
  const unsigned thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  const unsigned row = blockIdx.y * 128, output = blockIdx.x * 128;
  const unsigned my_row = warp / 4 * 64, my_output = warp % 4 * 32;
  const unsigned length = section_length(inputs), steps = (inputs + STEP - 1) / STEP;
  auto load = [&](unsigned step) {
    T *tile = tiles[step % STAGES];
    load_rows<T, 128, 256>(tile, x, row, rows, step * STEP, inputs, inputs, thread);
    load_rows<T, 128, 256>(tile + 128 * STEP, w, output, outputs, step * STEP, inputs, inputs, thread);
  };
  for (unsigned step = 0; step < STAGES - 1; step++) {
    if (step < steps) load(step);
    copies_end();
  }
  float sums[4][4][4], totals[4][4][4];
  for (int m = 0; m < 4; m++)
    for (int n = 0; n < 4; n++)
      for (int i = 0; i < 4; i++) sums[m][n][i] = 0.0f, totals[m][n][i] = 0.0f;
  for (unsigned step = 0; step < steps; step++) {
    copies_done<STAGES - 2>();
    __syncthreads();
    if (step + STAGES - 1 < steps) load(step + STAGES - 1);
    copies_end();
    const T *tile = tiles[step % STAGES];
    for (unsigned half = 0; half < 2; half++) {
      uint32_t b[2][4];
      for (unsigned pair = 0; pair < 2; pair++) right(b[pair], tile + (128 + my_output + pair * 16) * STEP, half, lane);
      for (unsigned m = 0; m < 4; m++) {
        uint32_t a[4];
        left(a, tile + (my_row + m * 16) * STEP, half, lane);
        for (unsigned n = 0; n < 4; n++) mma<T>(sums[m][n], a, b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
      }
    }
    if ((step + 1) * STEP % length == 0 || step + 1 == steps)
      for (int m = 0; m < 4; m++)
        for (int n = 0; n < 4; n++)
          for (int i = 0; i < 4; i++) totals[m][n][i] = totals[m][n][i] + sums[m][n][i], sums[m][n][i] = 0.0f;
  }
  for (int m = 0; m < 4; m++)
    for (int n = 0; n < 4; n++)
      store(y, row + my_row + m * 16 + lane / 4, output + my_output + n * 8 + lane % 4 * 2, rows, outputs, totals[m][n]);
}

#define LINEAR(T)                                                                                                     \
  extern "C" __global__ void __launch_bounds__(128)                                                                   \
      linear_few_##T(const T *x, const T *w, T *y, unsigned rows, unsigned inputs, unsigned outputs) {                \
    few<T>(x, w, y, rows, inputs, outputs);                                                                           \
  }                                                                                                                   \
  extern "C" __global__ void __launch_bounds__(256)                                                                   \
      linear_many_##T(const T *x, const T *w, T *y, unsigned rows, unsigned inputs, unsigned outputs) {               \
    many<T>(x, w, y, rows, inputs, outputs);                                                                          \
  }
LINEAR(f16)
LINEAR(bf16)
