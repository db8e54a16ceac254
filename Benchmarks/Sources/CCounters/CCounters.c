// Counts the Swift runtime's allocations and retains by interposing its functions.
//
// The dynamic linker finds the executable's definitions of these functions first, also for the libraries that
// it loads. Each adds one while counting is on, and jumps to the runtime's. They are in assembly because the
// runtime's callers rely on registers that a C function may change. The runtime's own hooks are not
// used: in Swift 6.3 they crash (https://github.com/ordo-one/benchmark/issues/349).

#define _GNU_SOURCE
#include "CCounters.h"

#include <stdlib.h>

#if defined(__linux__) && defined(__GLIBC__) && defined(__x86_64__)

#include <dlfcn.h>

#define HIDDEN __attribute__((visibility("hidden"), used))

HIDDEN volatile bool counters_on;
HIDDEN size_t counters_allocations;
HIDDEN size_t counters_retains;

#define COUNTED(function, counter)                                                                 \
  HIDDEN void *counters_real_##function;                                                           \
  __asm__(".text\n"                                                                                \
          ".p2align 4\n"                                                                           \
          ".globl " #function "\n"                                                                 \
          ".type " #function ", @function\n"                                                       \
          #function ":\n"                                                                          \
          "  cmpb $0, counters_on(%rip)\n"                                                         \
          "  je 1f\n"                                                                              \
          "  lock incq " #counter "(%rip)\n"                                                       \
          "1:\n"                                                                                   \
          "  jmp *counters_real_" #function "(%rip)\n"                                             \
          ".size " #function ", .-" #function "\n")

COUNTED(swift_allocObject, counters_allocations);
COUNTED(swift_retain, counters_retains);
COUNTED(swift_retain_n, counters_retains);
COUNTED(swift_bridgeObjectRetain, counters_retains);

static void *find(const char *function) {
  void *found = dlsym(RTLD_NEXT, function);
  if (!found) abort();
  return found;
}

static void find_runtime(void) {
  counters_real_swift_allocObject = find("swift_allocObject");
  counters_real_swift_retain = find("swift_retain");
  counters_real_swift_retain_n = find("swift_retain_n");
  counters_real_swift_bridgeObjectRetain = find("swift_bridgeObjectRetain");
}

// Before any library's initializers, which may retain.
__attribute__((section(".preinit_array"), used)) static void (*const at_start)(void) = find_runtime;

bool can_count(void) { return true; }
void set_counting(bool counts) { counters_on = counts; }
size_t counted_allocations(void) { return __atomic_load_n(&counters_allocations, __ATOMIC_RELAXED); }
size_t counted_retains(void) { return __atomic_load_n(&counters_retains, __ATOMIC_RELAXED); }

#else

bool can_count(void) { return false; }
void set_counting(bool counts) {}
size_t counted_allocations(void) { return 0; }
size_t counted_retains(void) { return 0; }

#endif
