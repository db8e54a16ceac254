#include <stdbool.h>
#include <stddef.h>

/// Whether this platform can count.
bool can_count(void);

/// Starts, or stops, counting in all threads.
void set_counting(bool counts);

/// The objects allocated while counting.
size_t counted_allocations(void);

/// The retains while counting.
size_t counted_retains(void);
