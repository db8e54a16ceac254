import Synchronization

/// An atomic view of a static word that a literal initializes, for debug builds.
///
/// There each access to a static `Atomic` passes `swift_once`, which under Thread Sanitizer takes a lock each
/// time, in all threads the same. A static variable's address is stable.
@inline(__always)
func staticAtomic(_ storage: UnsafeMutablePointer<UInt>) -> UnsafeMutablePointer<Atomic<UInt>> {
  UnsafeMutableRawPointer(storage).assumingMemoryBound(to: Atomic<UInt>.self)
}
