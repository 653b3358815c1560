// Enough of CUDA for a C++ compiler to run the kernels: every thread of a block is a fiber, blocks run one after the
// other, and what a warp does together meets at a barrier of its 32 fibers. Slow and strict: a barrier that not all
// reach ends the program, fibers go on in any order, shared memory is NaN before each block, and a copy to it arrives as
// late as it may, when its thread waits for it. The compiler checks that addresses are as aligned as their types.
#pragma once
#include <link.h>
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
// Thread-local, so that all of it lies in one piece of memory, with nothing else.
#define __shared__ static thread_local
#define __launch_bounds__(...)

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};
inline Dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulation {

// A barrier of `members` fibers; who has ended counts as arrived.
struct Barrier {
  unsigned members = 0, arrived = 0, generation = 0;
  void settle() {
    if (members > 0 && arrived == members) arrived = 0, generation++;
  }
};

struct Copy {
  void *to;
  const void *from;
  bool real;
};

struct Fiber {
  ucontext_t start;
  jmp_buf at;
  std::unique_ptr<char[]> stack;
  bool begun = false, ended = false;
  Barrier *waits = nullptr;
  unsigned generation = 0;
  unsigned exchanges = 0;
  std::vector<Copy> group;
  std::vector<std::vector<Copy>> groups;
};

// What the lanes of a warp show each other: two turns, so that a fast lane cannot overwrite what a slow one still reads.
struct Warp {
  Barrier barrier;
  uint64_t shown[2][32][8];
};

constexpr size_t STACK = 256 << 10;
inline std::vector<Fiber> fibers;
inline std::vector<Warp> warps;
inline Barrier block;
inline unsigned current;
inline jmp_buf scheduler;
inline ucontext_t home;
inline const std::function<void()> *body;

// Fibers go on in this order: ascending where `seed` is 0, else random and new in each round.
inline std::vector<unsigned> order;
inline uint64_t seed;

inline void shuffle() {
  for (uint64_t left = order.size(); left > 1; left--) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    std::swap(order[left - 1], order[(seed >> 32) * left >> 32]);
  }
}

// The shared memory of all kernels, as this system thread has it: the thread-local variables of this library.
struct Shared {
  void *at = nullptr;
  size_t size = 0;
};
inline int find_shared(dl_phdr_info *library, size_t, void *found) {
  const auto here = (uintptr_t)&find_shared;
  bool mine = false;
  for (unsigned i = 0; i < library->dlpi_phnum; i++) {
    const auto &part = library->dlpi_phdr[i];
    const uintptr_t first = library->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && here >= first && here - first < part.p_memsz) mine = true;
    if (part.p_type == PT_TLS) *(Shared *)found = {library->dlpi_tls_data, part.p_memsz};
  }
  return mine;
}
inline Shared shared_memory() {
  // A thread has it from its first use on.
  static thread_local volatile char used;
  used = 1;
  Shared found;
  if (!dl_iterate_phdr(find_shared, &found) || !found.at) {
    fprintf(stderr, "emulation: the kernels' shared memory is not found\n");
    exit(3);
  }
  return found;
}

inline Fiber &self() { return fibers[current]; }
inline Warp &warp() { return warps[current / 32]; }

inline void yield() {
  if (_setjmp(self().at) == 0) _longjmp(scheduler, 1);
}

inline void meet(Barrier &barrier) {
  Fiber &fiber = self();
  fiber.waits = &barrier, fiber.generation = barrier.generation;
  barrier.arrived++;
  barrier.settle();
  if (barrier.generation == fiber.generation) yield();
  fiber.waits = nullptr;
}

inline void run() {
  (*body)();
  self().ended = true;
  for (Barrier *barrier : {&block, &warp().barrier}) barrier->members--, barrier->settle();
  _longjmp(scheduler, 1);
}

inline void resume(unsigned i) {
  current = i;
  threadIdx = Dim3{i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
  Fiber &fiber = fibers[i];
  if (_setjmp(scheduler) != 0) return;
  if (fiber.begun) _longjmp(fiber.at, 1);
  fiber.begun = true;
  getcontext(&fiber.start);
  fiber.start.uc_stack.ss_sp = fiber.stack.get();
  fiber.start.uc_stack.ss_size = STACK;
  fiber.start.uc_link = &home;
  makecontext(&fiber.start, run, 0);
  setcontext(&fiber.start);
}

inline void one_block(unsigned threads, const Shared &shared) {
  memset(shared.at, 0xff, shared.size);
  fibers.resize(threads);
  order.resize(threads);
  std::iota(order.begin(), order.end(), 0);
  warps.assign((threads + 31) / 32, Warp());
  block = Barrier{threads};
  for (unsigned i = 0; i < threads; i++) {
    Fiber &fiber = fibers[i];
    if (!fiber.stack) fiber.stack.reset(new char[STACK]);
    fiber.begun = fiber.ended = false, fiber.waits = nullptr, fiber.exchanges = 0;
    fiber.group.clear(), fiber.groups.clear();
    warps[i / 32].barrier.members++;
  }
  for (bool left = true; left;) {
    bool moved = false;
    left = false;
    if (seed != 0) shuffle();
    for (const unsigned i : order) {
      Fiber &fiber = fibers[i];
      if (fiber.ended) continue;
      left = true;
      if (fiber.waits && fiber.waits->generation == fiber.generation) continue;
      moved = true;
      resume(i);
    }
    if (left && !moved) {
      fprintf(stderr, "emulation: a barrier that not all threads reach\n");
      exit(3);
    }
  }
}

// Shows `count` words to the warp, and gives what all lanes showed.
inline const uint64_t (*exchange(const uint64_t *words, unsigned count))[8] {
  Warp &mine = warp();
  const unsigned turn = self().exchanges++ % 2;
  memcpy(mine.shown[turn][current % 32], words, count * sizeof *words);
  meet(mine.barrier);
  return mine.shown[turn];
}

template <class V> inline V shuffle(V value, unsigned lane) {
  uint64_t word = 0;
  memcpy(&word, &value, sizeof value);
  memcpy(&value, &exchange(&word, 1)[lane % 32][0], sizeof value);
  return value;
}

inline void copy(const Copy &copy) {
  if (copy.real) memcpy(copy.to, copy.from, 16);
  else memset(copy.to, 0, 16);
}

}  // namespace emulation

// Runs `kernel` as a grid of blocks, whose threads go on in an order by `seed`.
inline void launch(Dim3 grid, Dim3 block, uint64_t seed, const std::function<void()> &kernel) {
  const auto shared = emulation::shared_memory();
  emulation::body = &kernel, emulation::seed = seed;
  gridDim = grid, blockDim = block;
  const unsigned threads = block.x * block.y * block.z;
  for (unsigned z = 0; z < grid.z; z++)
    for (unsigned y = 0; y < grid.y; y++)
      for (unsigned x = 0; x < grid.x; x++) {
        blockIdx = Dim3{x, y, z};
        emulation::one_block(threads, shared);
      }
}

inline void __syncthreads() { emulation::meet(emulation::block); }
inline void __syncwarp() { emulation::meet(emulation::warp().barrier); }
template <class V> inline V __shfl_xor_sync(unsigned, V value, int mask) {
  return emulation::shuffle(value, (emulation::current % 32) ^ mask);
}
inline bool __any_sync(unsigned, bool vote) {
  const uint64_t word = vote;
  const auto *all = emulation::exchange(&word, 1);
  return std::any_of(all, all + 32, [](const uint64_t *lane) { return lane[0] != 0; });
}
template <class V> inline V __shfl_sync(unsigned, V value, unsigned lane) { return emulation::shuffle(value, lane); }
inline unsigned __ballot_sync(unsigned, bool vote) {
  const uint64_t word = vote;
  const auto *all = emulation::exchange(&word, 1);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < 32; lane++) votes |= (unsigned)all[lane][0] << lane;
  return votes;
}
inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
// Blocks run one after the other.
inline void __threadfence() {}
template <class V> inline V atomicAdd(V *at, V by) {
  const V before = *at;
  *at = before + by;
  return before;
}
inline unsigned __float_as_uint(float x) {
  unsigned bits;
  memcpy(&bits, &x, 4);
  return bits;
}
inline float load(const float *at) { return *at; }
inline uint32_t load(const uint32_t *at) { return *at; }
inline float load_written(const float *at) { return *at; }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline float exp2_fast(float x) { return exp2f(x); }

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};
inline float of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
inline float widen(float x) { return x; }
inline float widen(bf16 x) { return of_bits((uint32_t)x.bits << 16); }
inline float widen(f16 x) {
  const uint32_t sign = (uint32_t)(x.bits & 0x8000) << 16, exponent = x.bits >> 10 & 31, rest = x.bits & 1023;
  if (exponent == 0) return (sign ? -1.0f : 1.0f) * (float)rest * 0x1p-24f;
  if (exponent == 31) return of_bits(sign | 0x7f800000 | rest << 13);
  return of_bits(sign | (exponent + 112) << 23 | rest << 13);
}
template <class T> inline T narrow(float x);
template <> inline float narrow<float>(float x) { return x; }
template <> inline bf16 narrow<bf16>(float x) {
  const uint32_t bits = __float_as_uint(x);
  if (x != x) return bf16{0x7fff};
  return bf16{(uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
template <> inline f16 narrow<f16>(float x) {
  const uint16_t sign = __float_as_uint(x) >> 16 & 0x8000;
  const float size = fabsf(x);
  if (x != x) return f16{0x7fff};
  if (size >= 65520.0f) return f16{(uint16_t)(sign | 0x7c00)};
  // Below the normal numbers steps are 2^-24; above, eleven bits are kept.
  if (size < 0x1p-14f) return f16{(uint16_t)(sign | (uint16_t)nearbyintf(size * 0x1p24f))};
  const uint32_t bits = __float_as_uint(size), rounded = bits + 0xfff + (bits >> 13 & 1);
  return f16{(uint16_t)(sign | ((rounded >> 13) - (112 << 10)))};
}

template <class T> inline float number(uint64_t word, int which) {
  return widen(T{(uint16_t)(word >> (16 * which))});
}

inline float toward_zero(double x) {
  const float nearest = (float)x;
  return fabs(nearest) > fabs(x) ? nextafterf(nearest, 0.0f) : nearest;
}

// Fragments as the instruction set's manual lays them out (see device.cuh). As a tensor core does, eight products are
// added to the sum at once, exactly, and the result is cut to f32.
template <class T> inline void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  const uint64_t words[6] = {a[0], a[1], a[2], a[3], b0, b1};
  const auto *all = emulation::exchange(words, 6);
  const unsigned g = emulation::current % 32 / 4, t = emulation::current % 4;
  for (unsigned i = 0; i < 4; i++) {
    const unsigned row = g + (i / 2) * 8, column = 2 * t + i % 2;
    double sum = d[i];
    for (unsigned k = 0; k < 16; k++) {
      const unsigned lane = (row % 8) * 4 + k % 8 / 2, of_a = row / 8 + 2 * (k / 8);
      const float x = number<T>(all[lane][of_a], k % 2);
      const float y = number<T>(all[column * 4 + k % 8 / 2][4 + k / 8], k % 2);
      sum += (double)x * y;
      if (k % 8 == 7) sum = toward_zero(sum);
    }
    d[i] = (float)sum;
  }
}

inline uint32_t transposed(uint32_t x) {
  const uint64_t word = x;
  const auto *all = emulation::exchange(&word, 1);
  const unsigned g = emulation::current % 32 / 4, t = emulation::current % 4;
  auto at = [&](unsigned r, unsigned c) { return (uint32_t)(all[r * 4 + c / 2][0] >> 16 * (c % 2)) & 0xffff; };
  return at(2 * t, g) | at(2 * t + 1, g) << 16;
}

inline void matrices(uint32_t (&r)[4], const void *row, bool transposed) {
  if ((uintptr_t)row & 15) {
    fprintf(stderr, "emulation: a row of a matrix at an address that is not a multiple of 16\n");
    exit(3);
  }
  const uint64_t word = (uint64_t)(uintptr_t)row;
  const auto *all = emulation::exchange(&word, 1);
  const unsigned g = emulation::current % 32 / 4, t = emulation::current % 4;
  for (unsigned m = 0; m < 4; m++) {
    auto at = [&](unsigned r, unsigned c) { return (uint32_t)((const uint16_t *)(uintptr_t)all[m * 8 + r][0])[c]; };
    r[m] = transposed ? at(2 * t, g) | at(2 * t + 1, g) << 16 : at(g, 2 * t) | at(g, 2 * t + 1) << 16;
  }
  // What comes next may overwrite the rows.
  emulation::meet(emulation::warp().barrier);
}
inline void load_matrices(uint32_t (&r)[4], const void *row) { matrices(r, row, false); }
inline void load_matrices_transposed(uint32_t (&r)[4], const void *row) { matrices(r, row, true); }

inline void copy_async(void *to, const void *from, bool real) {
  if (((uintptr_t)to | (uintptr_t)from) & 15) {
    fprintf(stderr, "emulation: a copy of 16 bytes at an address that is not a multiple of 16\n");
    exit(3);
  }
  emulation::self().group.push_back({to, from, real});
}
inline void copies_end() {
  emulation::self().groups.push_back(std::move(emulation::self().group));
  emulation::self().group.clear();
}
template <int LATER> inline void copies_done() {
  auto &groups = emulation::self().groups;
  while (groups.size() > (size_t)LATER) {
    for (const auto &copy : groups.front()) emulation::copy(copy);
    groups.erase(groups.begin());
  }
}

template <class T, int OFFSET, bool WIDE> inline void codes_to_pairs(uint32_t codes, uint32_t (&pairs)[2]) {
  for (int i = 0; i < 4; i++) {
    const int code = codes >> 8 * i & 255;
    if (!WIDE && code > 127) {
      fprintf(stderr, "emulation: a code of %d where 127 is the largest\n", code);
      exit(3);
    }
    const uint32_t bits = narrow<T>((float)(code - OFFSET)).bits;
    pairs[i / 2] = i % 2 == 0 ? bits : pairs[i / 2] | bits << 16;
  }
}
