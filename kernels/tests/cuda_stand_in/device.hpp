// Devices, their memory, and what their streams have been given: the state behind driver.cpp and libraries.cpp.
#pragma once
#include "emulation.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <string>

typedef uint64_t Address;

enum Status {
  OK = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  NO_BINARY = 209,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  NOT_READY = 600,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901,
  CAPTURE_UNMATCHED = 903,
};

[[noreturn]] inline void fail(const std::string &what) {
  fprintf(stderr, "stand-in for CUDA: %s\n", what.c_str());
  _exit(3);
}

inline uint64_t setting(const char *name, uint64_t otherwise) {
  const char *typed = getenv(name);
  return typed ? strtoull(typed, nullptr, 10) : otherwise;
}

// Held in every call that uses what threads share: there is one emulation.
inline std::recursive_mutex turn;
typedef std::lock_guard<std::recursive_mutex> Turn;

struct Context {
  int device;
  uint64_t used = 0;
};
inline std::vector<std::unique_ptr<Context>> contexts;
inline thread_local Context *current = nullptr;

inline uint64_t total() { return setting("MOOT_STAND_IN_MEMORY", 8ull << 30); }

// ---- Work that streams have been given

struct Graph;

struct Work {
  const char *what;
  std::function<void()> run;
  // Another stream's work that this one waits for.
  std::shared_ptr<bool> until;
};

struct Stream {
  Context *context = nullptr;
  std::deque<Work> queue;
  std::shared_ptr<Graph> capture;
  bool broken = false;
};
// In the order in which they were made, so that the same calls are served in the same order.
inline std::vector<Stream *> streams;
inline const char *running = "no work";

inline std::mt19937_64 &chance() {
  static std::mt19937_64 chance(setting("MOOT_STAND_IN_SEED", 1));
  return chance;
}

inline bool step(Stream &stream) {
  if (stream.queue.empty() || (stream.queue.front().until && !*stream.queue.front().until)) return false;
  const Work work = std::move(stream.queue.front());
  stream.queue.pop_front();
  running = work.what;
  if (work.run) work.run();
  running = "no work";
  return true;
}

// Runs some of what waits, of any stream.
inline void go_on() {
  while (!streams.empty() && chance()() % 3 == 0) step(*streams[chance()() % streams.size()]);
}

inline void wait(const std::function<bool()> &done) {
  while (!done()) {
    std::vector<Stream *> waiting;
    for (Stream *stream : streams)
      if (!stream->queue.empty()) waiting.push_back(stream);
    std::shuffle(waiting.begin(), waiting.end(), chance());
    if (std::none_of(waiting.begin(), waiting.end(), [](Stream *stream) { return step(*stream); }))
      fail("a wait for what never happens");
  }
}

inline void wait(Stream &stream) {
  wait([&] { return stream.queue.empty(); });
}

// ---- Memory

struct Piece {
  char *begin, *end;  // pages
  char *at;
  size_t size;
  Context *context;
  Graph *graph;
};
inline std::map<Address, Piece> pieces;
constexpr size_t PAGE_BYTES = 4096, ARENA = 1ull << 40, ALIGNED = 256;
// NaN in f16, and a huge number in the other types.
constexpr unsigned char CANARY = 0xfe;
inline char *arena, *unused;

struct Graph : std::enable_shared_from_this<Graph> {
  std::vector<Work> works;
  std::vector<Address> memory;
  ~Graph();
};

// Where a kernel touches what it must not.
inline void fault(int, siginfo_t *info, void *) {
  char line[200];
  const char *at = (char *)info->si_addr;
  snprintf(line, sizeof line, "stand-in for CUDA: %s touches %p, %s\n", running, (void *)at,
           at >= arena && at < unused ? "which is freed or outside of its memory" : "which is no memory of a device");
  (void)!write(2, line, strlen(line));
  _exit(3);
}

inline Status allocate(Context *context, size_t size, Graph *graph, Address *address) {
  const size_t padded = (size + ALIGNED - 1) / ALIGNED * ALIGNED;
  const size_t bytes = (padded + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
  if (size == 0) return INVALID_VALUE;
  if (context->used + padded > total()) return OUT_OF_MEMORY;
  if (!arena) {
    arena = unused = (char *)mmap(nullptr, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) fail("no address space");
  }
  char *const begin = unused + PAGE_BYTES, *const end = begin + bytes;
  const Piece piece{begin, end, end - padded, size, context, graph};
  unused = piece.end;
  if (unused > arena + ARENA - PAGE_BYTES || mprotect(piece.begin, bytes, PROT_READ | PROT_WRITE) != 0)
    fail("no more memory on the host");
  memset(piece.begin, CANARY, bytes);
  memset(piece.at, 0xff, size);
  context->used += padded;
  *address = (Address)piece.at;
  pieces[*address] = piece;
  return OK;
}

inline void check(const Piece &piece) {
  for (const char *at = piece.begin; at < piece.end; at++)
    if ((at < piece.at || at >= piece.at + piece.size) && (unsigned char)*at != CANARY)
      fail("something was written beside memory of " + std::to_string(piece.size) + " bytes");
}

inline void give_back(Address address) {
  const auto found = pieces.find(address);
  if (found == pieces.end()) fail("memory is freed twice");
  const Piece &piece = found->second;
  check(piece);
  piece.context->used -= piece.end - piece.at;
  const int untouchable = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(piece.begin, piece.end - piece.begin, PROT_NONE, untouchable, -1, 0) == MAP_FAILED)
    fail("memory of the host is not given back");
  pieces.erase(found);
}

inline Graph::~Graph() {
  for (const Address address : memory) give_back(address);
}

// Once more behind what is freed late, which a pool would use again at once.
inline Status allocate_or_wait(Stream &stream, size_t size, Graph *graph, Address *address) {
  const Status status = allocate(stream.context, size, graph, address);
  if (status != OUT_OF_MEMORY || graph) return status;
  wait(stream);
  return allocate(stream.context, size, graph, address);
}

// The piece that `bytes` at `address` lie in.
inline Piece &piece_of(Address address, size_t bytes, const char *what) {
  auto found = pieces.upper_bound(address);
  if (found == pieces.begin()) fail(std::string(what) + ": no memory of a device");
  Piece &piece = (--found)->second;
  if (address + bytes > (Address)piece.at + piece.size) fail(std::string(what) + ": beyond its memory, or freed");
  return piece;
}

// ---- What calls have in common

// Whether another device's context is current than that of what a call is about, which it then says.
inline bool foreign(const Context *context, const char *what) {
  if (context == current) return false;
  fprintf(stderr, "stand-in for CUDA: %s of device %d, but %s is current\n", what, context ? context->device : -1,
          current ? ("device " + std::to_string(current->device)).c_str() : "none");
  return true;
}

// Copies and waits are permitted in streams of another device than the current one, other work is not.
enum Where { HERE, ANYWHERE };
inline Status give(Stream &stream, Work work, Where where = HERE) {
  if (stream.broken) return CAPTURE_INVALIDATED;
  if (where == HERE && foreign(stream.context, work.what)) return INVALID_CONTEXT;
  if (stream.capture) stream.capture->works.push_back(std::move(work));
  else stream.queue.push_back(std::move(work));
  go_on();
  return OK;
}

// Waiting breaks a capture.
inline Status wait_for(Stream &stream) {
  if (stream.capture) return stream.broken = true, CAPTURE_UNSUPPORTED;
  wait(stream);
  return OK;
}

// Waits for all streams of a context, which breaks captures of any of them.
inline Status wait_for_all(const Context *context) {
  for (Stream *stream : streams)
    if (stream->context == context && stream->capture) return stream->broken = true, CAPTURE_UNSUPPORTED;
  for (Stream *stream : streams)
    if (stream->context == context) wait(*stream);
  return OK;
}

// Whether `address` is in the memory of another device than `context`'s.
inline bool elsewhere(Address address, const Context *context) {
  if (address < (Address)arena || address >= (Address)unused) return false;
  const auto found = pieces.upper_bound(address);
  return found != pieces.begin() && std::prev(found)->second.context != context;
}

struct Event {
  Context *context;
  std::shared_ptr<bool> done = std::make_shared<bool>(true);
};

// The stream behind a handle: 0 and 1 are the legacy stream, 2 is the calling thread's own.
inline Stream &of_handle(Stream *handle) {
  if ((uintptr_t)handle > 2) return *handle;
  static std::map<Context *, Stream> legacy;
  static thread_local std::map<Context *, Stream *> own;
  if (!current) fail("a call without a context");
  if ((uintptr_t)handle < 2) {
    Stream &stream = legacy[current];
    if (!stream.context) streams.push_back(&stream);
    stream.context = current;
    return stream;
  }
  Stream *&stream = own[current];
  if (!stream) streams.push_back(stream = new Stream{current});
  return *stream;
}

#define SHOWN extern "C" __attribute__((visibility("default")))
#define CALL SHOWN int
#define BEGIN Turn in_turn(turn)
