#include <stddef.h>

/// The bytes that malloc has handed out and not got back, in all arenas, its own headers included;
/// 0 where the C library does not report it.
size_t allocated_bytes(void);
