// The kernels as a library for the host: one function that launches any of them by name, with its arguments as
// cuLaunchKernel takes them.
#include "device.cuh"
#include "kernels.hpp"

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

}  // namespace

// 0, or 1 where no kernel has that name.
extern "C" int host_launch(const char *name, const unsigned *grid, unsigned threads, void **arguments) {
  const auto found = kernels.find(name);
  if (found == kernels.end()) return 1;
  const Dim3 blocks{grid[0], grid[1], grid[2]}, block{threads, 1, 1};
  launch(blocks, block, seed_of(name, blocks, block), [&] { found->second.call(arguments); });
  return 0;
}
