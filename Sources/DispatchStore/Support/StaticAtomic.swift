import Synchronization

/// An atomic view of a static word, which a literal initializes.
///
/// A static `Atomic` is initialized by `swift_once`, which each access passes, in a debug build always. Under
/// Thread Sanitizer that takes one lock in all threads, each time. A static variable's address is stable.
@inline(__always)
func staticAtomic(_ storage: UnsafeMutablePointer<UInt>) -> UnsafeMutablePointer<Atomic<UInt>> {
  UnsafeMutableRawPointer(storage).assumingMemoryBound(to: Atomic<UInt>.self)
}
