// Kernels with their types erased: they are launched with their arguments as cuLaunchKernel takes them.
#pragma once
#include "emulation.hpp"

struct Kernel {
  std::function<void(void **)> call;
  // Bytes of each argument.
  std::vector<size_t> sizes;
};

template <class... A, size_t... I> void call(void (*kernel)(A...), void **arguments, std::index_sequence<I...>) {
  kernel(*(A *)arguments[I]...);
}
template <class... A> Kernel erase(void (*kernel)(A...)) {
  return {[kernel](void **arguments) { call(kernel, arguments, std::index_sequence_for<A...>()); }, {sizeof(A)...}};
}

// The order of a launch's threads: ascending for one launch in four, else random; the same in every run. The
// environment can name another number, or 0 for ascending everywhere.
inline uint64_t seed_of(const char *name, Dim3 grid, Dim3 block) {
  const char *named = getenv("MOOT_THREAD_ORDER");
  uint64_t hash = 0xcbf29ce484222325 ^ (named ? strtoull(named, nullptr, 10) : 1);
  if (named && strtoull(named, nullptr, 10) == 0) return 0;
  const auto take = [&](uint64_t word) { hash = (hash ^ word) * 0x100000001b3; };
  for (; *name; name++) take(*name);
  for (const unsigned size : {grid.x, grid.y, grid.z, block.x * block.y * block.z}) take(size);
  hash ^= hash >> 32;
  return hash % 4 == 0 ? 0 : hash;
}
