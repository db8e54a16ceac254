import Synchronization

/// An atomic view of a static word that a literal initializes, for debug builds.
///
/// A static `Atomic` is initialized by `swift_once`, which a debug build calls at each access. Under Thread
/// Sanitizer, each call takes one lock of the process. A static variable's address is stable.
@inline(__always)
func staticAtomic(_ storage: UnsafeMutablePointer<UInt>) -> UnsafeMutablePointer<Atomic<UInt>> {
  UnsafeMutableRawPointer(storage).assumingMemoryBound(to: Atomic<UInt>.self)
}
