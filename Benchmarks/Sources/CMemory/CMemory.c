#include "CMemory.h"

#include <stdlib.h>

#if defined(__GLIBC__)
#include <malloc.h>
size_t allocated_bytes(void) {
  struct mallinfo2 info = mallinfo2();
  // Large blocks are mapped on their own, and counted on their own.
  return info.uordblks + info.hblkhd;
}
#elif defined(__APPLE__)
#include <malloc/malloc.h>
size_t allocated_bytes(void) { return mstats().bytes_used; }
#else
size_t allocated_bytes(void) { return 0; }
#endif
