// The kernels as a library for the host: one function that launches any of them by name, with its arguments as
// cuLaunchKernel takes them.
#include "device.cuh"

#include <map>
#include <string>

namespace norms {
#include "norm.cu"
}
namespace rotaries {
#include "rotary.cu"
}
namespace swiglus {
#include "swiglu.cu"
}
namespace attentions {
#include "attention.cu"
}
namespace linears {
#include "linear.cu"
}
namespace samples {
#include "sample.cu"
}
namespace blocks {
#include "blocks.cu"
}
namespace encoders {
#include "encoder.cu"
}

namespace {

typedef std::function<void(void **)> Kernel;

template <class... A, size_t... I> void call(void (*kernel)(A...), void **arguments, std::index_sequence<I...>) {
  kernel(*(A *)arguments[I]...);
}
template <class... A> Kernel erase(void (*kernel)(A...)) {
  return [kernel](void **arguments) { call(kernel, arguments, std::index_sequence_for<A...>()); };
}

#define ALL(SPACE, NAME) {#NAME "_f32", erase(SPACE::NAME##_f32)}, HALVES(SPACE, NAME)
#define HALVES(SPACE, NAME) {#NAME "_f16", erase(SPACE::NAME##_f16)}, {#NAME "_bf16", erase(SPACE::NAME##_bf16)}
#define DIMS(NAME)                                                                                                    \
  HALVES(attentions, NAME##_64), HALVES(attentions, NAME##_96), HALVES(attentions, NAME##_128),                       \
      HALVES(attentions, NAME##_256)
#define PRODUCTS(TYPE)                                                                                                \
  HALVES(blocks, blocks_##TYPE##_1), HALVES(blocks, blocks_##TYPE##_2), HALVES(blocks, blocks_##TYPE##_4)
#define TILES(TYPE) PRODUCTS(TYPE), HALVES(blocks, widen_##TYPE)
const std::map<std::string, Kernel> kernels = {
    ALL(norms, rms_norm), ALL(norms, add_rms_norm), ALL(rotaries, rope), ALL(rotaries, rotate_store),
    ALL(swiglus, swiglu), DIMS(attend_span), DIMS(attend_chunk),
    HALVES(linears, linear_few), HALVES(linears, linear_many), {"sample", erase(samples::sample)},
    {"bidirectional_32", erase(encoders::bidirectional_32)}, {"bidirectional_64", erase(encoders::bidirectional_64)},
    {"add_norm", erase(encoders::add_norm)}, TILES(q4_0), TILES(q4_1), TILES(q5_0), TILES(q5_1), TILES(q8_0),
    TILES(q4_k), TILES(q5_k), TILES(q6_k), PRODUCTS(q4_k_q6_k), PRODUCTS(q5_k_q6_k),
};

// The order of a launch's threads: ascending for one launch in four, else random; the same in every run. The environment
// can name another number, or 0 for ascending everywhere.
uint64_t seed_of(const char *name, const unsigned *grid, unsigned threads) {
  const char *named = getenv("MOOT_THREAD_ORDER");
  uint64_t hash = 0xcbf29ce484222325 ^ (named ? strtoull(named, nullptr, 10) : 1);
  if (named && strtoull(named, nullptr, 10) == 0) return 0;
  const auto take = [&](uint64_t word) { hash = (hash ^ word) * 0x100000001b3; };
  for (; *name; name++) take(*name);
  for (const unsigned size : {grid[0], grid[1], grid[2], threads}) take(size);
  hash ^= hash >> 32;
  return hash % 4 == 0 ? 0 : hash;
}

}  // namespace

// 0, or 1 where no kernel has that name.
extern "C" int host_launch(const char *name, const unsigned *grid, unsigned threads, void **arguments) {
  const auto found = kernels.find(name);
  if (found == kernels.end()) return 1;
  launch(Dim3{grid[0], grid[1], grid[2]}, threads, seed_of(name, grid, threads), [&] { found->second(arguments); });
  return 0;
}
