// CUDA's driver, as far as moot calls it, where there is no GPU: kernels are those that the stand-in for nvcc compiled
// for the host. Strict where a driver may be lenient:
//
// - What a stream is given runs late, at times that are drawn at random, and streams take turns at random.
//   MOOT_STAND_IN_SEED names another order; a program of one thread has the same one in every run.
// - Memory holds NaN until it is written. Up to 255 bytes behind it hold a huge number, and what is written there is
//   found when the memory is freed; what lies further cannot be touched. Addresses are not used again.
// - A launch, an allocation or a free fails where another device's context is current. A launch that is given another
//   device's memory ends the program. A wait breaks a capture, as does one of another thread for the whole context.
// - Memory of the host that a device writes holds 0xff until the stream does it, which may be late.
//
// Not checked: __launch_bounds__ and the size of shared memory.
//
// MOOT_STAND_IN_GPUS devices (1) of compute capability 9.0 and MOOT_STAND_IN_MEMORY bytes (8 GiB) each.
#include "device.hpp"
#include "kernels.hpp"

#include <dlfcn.h>

namespace {

struct Loaded {
  Context *context;
  void *library;
  bool unloaded = false;
};

struct Function {
  const Loaded *loaded;
  std::string name;
  const Kernel *kernel;
  void (*launch)(const Kernel *, const char *, Dim3, Dim3, void **);
};

}  // namespace

// ---- Devices and contexts

CALL cuInit(unsigned) {
  BEGIN;
  if (!contexts.empty()) return OK;
  for (uint64_t i = 0; i < setting("MOOT_STAND_IN_GPUS", 1); i++) contexts.emplace_back(new Context{(int)i});
  struct sigaction action = {};
  action.sa_sigaction = fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
  return OK;
}
CALL cuDriverGetVersion(int *version) { return *version = 13000, OK; }
CALL cuDeviceGetCount(int *count) { return *count = (int)contexts.size(), OK; }
CALL cuDeviceGet(int *device, int ordinal) {
  if (ordinal < 0 || (size_t)ordinal >= contexts.size()) return INVALID_DEVICE;
  return *device = ordinal, OK;
}
CALL cuDeviceGetName(char *name, int length, int) { return snprintf(name, (size_t)length, "stand-in"), OK; }
CALL cuDeviceGetUuid(char *uuid, int device) { return memset(uuid, device, 16), OK; }
CALL cuDeviceGetUuid_v2(char *uuid, int device) { return cuDeviceGetUuid(uuid, device); }
CALL cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = total(), OK; }
CALL cuDeviceGetAttribute(int *value, int attribute, int) {
  switch (attribute) {
    case 1: case 2: *value = 1024; break;  // threads a block, and along x
    case 8: *value = 48 << 10; break;      // bytes of shared memory a block
    case 10: *value = 32; break;           // threads a warp
    case 16: *value = 4; break;            // multiprocessors
    case 75: *value = 9; break;            // compute capability, before the point
    case 76: *value = 0; break;
    case 115: *value = 1; break;           // memory pools
    default: *value = 0;
  }
  return OK;
}
CALL cuDevicePrimaryCtxRetain(Context **context, int device) { return *context = contexts[(size_t)device].get(), OK; }
CALL cuDevicePrimaryCtxRelease_v2(int) { return OK; }
// cudarc links with these; moot uses primary contexts and modules in memory.
CALL cuCtxDestroy_v2(Context *) { fail("cuCtxDestroy is not emulated"); }
CALL cuModuleLoad(void **, const char *) { fail("cuModuleLoad is not emulated"); }
CALL cuCtxSetCurrent(Context *context) { return current = context, OK; }
CALL cuCtxGetCurrent(Context **context) { return *context = current, OK; }
CALL cuCtxSynchronize() {
  BEGIN;
  return wait_for_all(current);
}
CALL cuGetErrorName(int error, const char **name) {
  static thread_local char text[40];
  snprintf(text, sizeof text, "CUDA_ERROR_%d", error);
  return *name = text, OK;
}
CALL cuGetErrorString(int error, const char **text) { return cuGetErrorName(error, text); }

// ---- Memory

CALL cuMemGetInfo_v2(size_t *free, size_t *all) {
  BEGIN;
  if (!current) return INVALID_CONTEXT;
  return *all = total(), *free = total() - current->used, OK;
}
CALL cuDeviceGetMemPool(void **pool, int device) { return *pool = contexts[(size_t)device].get(), OK; }
CALL cuDeviceGetDefaultMemPool(void **pool, int device) { return cuDeviceGetMemPool(pool, device); }
CALL cuMemPoolSetAttribute(void *, int, void *) { return OK; }
CALL cuMemPoolGetAttribute(void *pool, int, uint64_t *value) {
  BEGIN;
  return *value = ((Context *)pool)->used, OK;
}
CALL cuMemPoolTrimTo(void *, size_t) { return OK; }
CALL cuDeviceGraphMemTrim(int) { return OK; }

CALL cuMemAlloc_v2(Address *address, size_t bytes) {
  BEGIN;
  return current ? allocate(current, bytes, nullptr, address) : INVALID_CONTEXT;
}
CALL cuMemAllocAsync(Address *address, size_t bytes, Stream *handle) {
  BEGIN;
  Stream &stream = of_handle(handle);
  if (foreign(stream.context, "an allocation in a stream")) return INVALID_CONTEXT;
  Graph *graph = stream.capture.get();
  if (const Status refused = allocate_or_wait(stream, bytes, graph, address)) return refused;
  if (!graph) return OK;
  graph->memory.push_back(*address);
  // A launch has it anew.
  const Address at = *address;
  return give(stream, {"an allocation", [=] { memset((void *)at, 0xff, bytes); }, nullptr});
}
CALL cuMemFreeAsync(Address address, Stream *handle) {
  BEGIN;
  Stream &stream = of_handle(handle);
  if (!pieces.count(address)) return INVALID_VALUE;
  const Piece &piece = pieces[address];
  if (foreign(piece.context, "memory that is freed")) return INVALID_CONTEXT;
  // A graph keeps its memory; nothing is to be read there until the next launch.
  if (piece.graph) {
    const size_t size = piece.size;
    // In its own capture the graph holds itself.
    const auto graph = stream.capture.get() == piece.graph ? nullptr : piece.graph->shared_from_this();
    return give(stream, {"memory that is freed", [=] { (void)graph, memset((void *)address, 0xff, size); }, nullptr});
  }
  if (stream.capture) return stream.broken = true, INVALID_VALUE;
  return give(stream, {"memory that is freed", [=] { give_back(address); }, nullptr});
}
CALL cuMemFree_v2(Address address) {
  BEGIN;
  if (!pieces.count(address)) fail("memory is freed twice, or was never allocated");
  if (foreign(pieces[address].context, "memory that is freed")) return INVALID_CONTEXT;
  const int waited = cuCtxSynchronize();
  return waited ? waited : (give_back(address), OK);
}
CALL cuMemHostAlloc(void **, size_t, unsigned) { fail("pinned memory is not emulated"); }
CALL cuMemFreeHost(void *) { fail("pinned memory is not emulated"); }

// The host's memory is pageable. A driver may have read it when the call returns, on which Candle relies.
CALL cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, Stream *handle) {
  BEGIN;
  Stream &stream = of_handle(handle);
  if (stream.capture) return stream.broken = true, CAPTURE_UNSUPPORTED;
  piece_of(to, bytes, "a copy to a device");
  const auto held = std::make_shared<std::vector<char>>((const char *)from, (const char *)from + bytes);
  const auto copy = [=] { memcpy((void *)to, held->data(), held->size()); };
  return give(stream, {"a copy to a device", copy, nullptr}, ANYWHERE);
}
CALL cuMemcpyHtoD_v2(Address to, const void *from, size_t bytes) {
  BEGIN;
  piece_of(to, bytes, "a copy to a device");
  wait(of_handle(nullptr));
  return memcpy((void *)to, from, bytes), OK;
}
CALL cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Stream *handle) {
  BEGIN;
  Stream &stream = of_handle(handle);
  if (stream.capture) return stream.broken = true, CAPTURE_UNSUPPORTED;
  piece_of(from, bytes, "a copy to the host");
  memset(to, 0xff, bytes);
  return give(stream, {"a copy to the host", [=] { memcpy(to, (void *)from, bytes); }, nullptr}, ANYWHERE);
}
CALL cuMemcpyDtoH_v2(void *to, Address from, size_t bytes) {
  BEGIN;
  piece_of(from, bytes, "a copy to the host");
  wait(of_handle(nullptr));
  return memcpy(to, (void *)from, bytes), OK;
}
CALL cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream *handle) {
  BEGIN;
  piece_of(from, bytes, "a copy on a device"), piece_of(to, bytes, "a copy on a device");
  const auto copy = [=] { memmove((void *)to, (void *)from, bytes); };
  return give(of_handle(handle), {"a copy on a device", copy, nullptr}, ANYWHERE);
}
CALL cuMemcpyPeerAsync(Address to, Context *, Address from, Context *, size_t bytes, Stream *handle) {
  return cuMemcpyDtoDAsync_v2(to, from, bytes, handle);
}
CALL cuMemsetD8Async(Address at, unsigned char byte, size_t bytes, Stream *handle) {
  BEGIN;
  piece_of(at, bytes, "bytes that are set");
  return give(of_handle(handle), {"bytes that are set", [=] { memset((void *)at, byte, bytes); }, nullptr});
}
CALL cuMemsetD8_v2(Address at, unsigned char byte, size_t bytes) {
  BEGIN;
  piece_of(at, bytes, "bytes that are set");
  wait(of_handle(nullptr));
  return memset((void *)at, byte, bytes), OK;
}

// ---- Streams, events and graphs

CALL cuStreamCreate(Stream **stream, unsigned) {
  BEGIN;
  if (!current) return INVALID_CONTEXT;
  streams.push_back(*stream = new Stream{current});
  return OK;
}
CALL cuStreamCreateWithPriority(Stream **stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
CALL cuStreamDestroy_v2(Stream *stream) {
  BEGIN;
  wait(*stream);
  streams.erase(std::find(streams.begin(), streams.end(), stream));
  delete stream;
  return OK;
}
CALL cuStreamSynchronize(Stream *handle) {
  BEGIN;
  return wait_for(of_handle(handle));
}
CALL cuStreamWaitEvent(Stream *handle, Event *event, unsigned) {
  BEGIN;
  return give(of_handle(handle), {"a wait", nullptr, event->done}, ANYWHERE);
}
CALL cuEventCreate(Event **event, unsigned) { return *event = new Event{current}, OK; }
CALL cuEventDestroy_v2(Event *event) { return delete event, OK; }
CALL cuEventRecord(Event *event, Stream *handle) {
  BEGIN;
  Stream &stream = of_handle(handle);
  if (event->context != stream.context) return INVALID_HANDLE;
  const auto done = std::make_shared<bool>(false);
  if (const Status refused = give(stream, {"an event", [=] { *done = true; }, nullptr}, ANYWHERE)) return refused;
  return event->done = done, OK;
}
CALL cuEventQuery(Event *event) {
  BEGIN;
  go_on();
  return *event->done ? OK : NOT_READY;
}
CALL cuEventSynchronize(Event *event) {
  BEGIN;
  wait([&] { return *event->done; });
  return OK;
}
CALL cuEventElapsedTime_v2(float *ms, Event *, Event *) { return *ms = 1, OK; }
CALL cuEventElapsedTime(float *ms, Event *, Event *) { return *ms = 1, OK; }

CALL cuStreamIsCapturing(Stream *handle, int *status) {
  BEGIN;
  const Stream &stream = of_handle(handle);
  return *status = stream.capture ? stream.broken ? 2 : 1 : 0, OK;
}
CALL cuStreamBeginCapture_v2(Stream *handle, int) {
  BEGIN;
  Stream &stream = of_handle(handle);
  if (stream.capture) return INVALID_VALUE;
  stream.capture = std::make_shared<Graph>();
  return OK;
}
typedef std::shared_ptr<Graph> Held;
CALL cuStreamEndCapture(Stream *handle, Held **graph) {
  BEGIN;
  Stream &stream = of_handle(handle);
  if (!stream.capture) return CAPTURE_UNMATCHED;
  const bool broken = stream.broken;
  *graph = broken ? nullptr : new Held(stream.capture);
  stream.capture = nullptr, stream.broken = false;
  return broken ? CAPTURE_INVALIDATED : OK;
}
CALL cuGraphInstantiateWithFlags(Held **launched, Held *graph, uint64_t) { return *launched = new Held(*graph), OK; }
CALL cuGraphDestroy(Held *graph) {
  BEGIN;
  return delete graph, OK;
}
CALL cuGraphExecDestroy(Held *graph) { return cuGraphDestroy(graph); }
CALL cuGraphUpload(Held *, Stream *) { return OK; }
CALL cuGraphLaunch(Held *graph, Stream *handle) {
  BEGIN;
  Stream &stream = of_handle(handle);
  for (const Work &work : (*graph)->works)
    if (const Status refused = give(stream, work)) return refused;
  // Whoever destroys the graph meanwhile takes nothing from this launch.
  return give(stream, {"a graph", [held = *graph] {}, nullptr});
}

// ---- Kernels

CALL cuModuleLoadData(Loaded **loaded, const char *image) {
  BEGIN;
  static const std::string mark = "moot-emulated:";
  if (strncmp(image, mark.c_str(), mark.size()) != 0) return NO_BINARY;
  image += mark.size();
  const std::string path(image, strcspn(image, "\n"));
  if (path.empty()) {
    image += 1;
    fail(std::string(image, strcspn(image, "\n")));
  }
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(dlerror());
  *loaded = new Loaded{current, library};
  return OK;
}
CALL cuModuleUnload(Loaded *loaded) {
  BEGIN;
  if (loaded->context != current) return INVALID_CONTEXT;
  return loaded->unloaded = true, OK;
}
CALL cuModuleGetFunction(Function **function, Loaded *loaded, const char *name) {
  BEGIN;
  const auto find = (const Kernel *(*)(const char *))dlsym(loaded->library, "emulated_kernel");
  const Kernel *kernel = find ? find(name) : nullptr;
  if (!kernel) return NOT_FOUND;
  const auto launch = (decltype(Function::launch))dlsym(loaded->library, "emulated_launch");
  *function = new Function{loaded, name, kernel, launch};
  return OK;
}
CALL cuFuncSetAttribute(Function *, int, int) { return OK; }
CALL cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                    unsigned, Stream *handle, void **arguments, void **) {
  BEGIN;
  const Dim3 grid{gx, gy, gz}, block{bx, by, bz};
  if (gx == 0 || gy == 0 || gz == 0 || gx > 0x7fffffff || gy > 65535 || gz > 65535) return INVALID_VALUE;
  if (bx > 1024 || by > 1024 || bz > 64 || bx * by * bz == 0 || bx * by * bz > 1024) return INVALID_VALUE;
  Stream &stream = of_handle(handle);
  if (function->loaded->context != stream.context || function->loaded->unloaded) return INVALID_HANDLE;
  // Arguments are the caller's only until the call returns.
  auto held = std::make_shared<std::vector<std::vector<char>>>();
  for (const size_t size : function->kernel->sizes) {
    const char *from = (const char *)arguments[held->size()];
    held->emplace_back(from, from + size);
    Address address = 0;
    if (size == sizeof address) memcpy(&address, from, size);
    if (elsewhere(address, stream.context)) fail(function->name + " gets another device's memory");
  }
  return give(stream, {function->name.c_str(), [=] {
    std::vector<void *> pointers;
    for (auto &argument : *held) pointers.push_back(argument.data());
    if (function->loaded->unloaded) fail(function->name + " was unloaded before it ran");
    function->launch(function->kernel, function->name.c_str(), grid, block, pointers.data());
  }, nullptr});
}
