import Synchronization

/// Spare dispatches on their way back from the threads that ran them to the threads that dispatch.
///
/// Memory that one thread allocates and another frees is slow, so it circulates. Stacks are pushed on top, and
/// everything is popped at once, so that no two threads read the same link.
final class DispatchReturns: Sendable {
  private let top = Atomic<UInt>(0)
  /// The number of stacks pushed since the last `takeAll()`; a hint.
  private let stackCount = Atomic<Int>(0)
  private static let limit = 64

  deinit {
    var left = DispatchStack()
    left.takeOver(takeAll())
    left.removeAll()
  }

  /// Takes the surplus dispatches of a thread.
  ///
  /// Releases them if there are enough.
  @inline(never)
  func put(_ stack: inout DispatchStack) {
    guard stackCount.load(ordering: .relaxed) < Self.limit else { return stack.removeAll() }
    stackCount.wrappingAdd(1, ordering: .relaxed)
    guard let first = stack.giveUp() else { return }
    var last = first
    while let next = last._withUnsafeGuaranteedRef({ $0.next }) { last = next }
    var present = top.load(ordering: .relaxed)
    while true {
      last._withUnsafeGuaranteedRef { $0.next = Self.dispatch(at: present) }
      let (isDone, original) = top.weakCompareExchange(
        expected: present, desired: UInt(bitPattern: first.toOpaque()),
        ordering: .acquiringAndReleasing)
      if isDone { return }
      present = original
    }
  }

  /// Takes all dispatches, linked.
  @inline(__always)
  func takeAll() -> Unmanaged<Dispatch>? {
    guard top.load(ordering: .relaxed) != 0 else { return nil }
    stackCount.store(0, ordering: .relaxed)
    return Self.dispatch(at: top.exchange(0, ordering: .acquiringAndReleasing))
  }

  private static func dispatch(at bits: UInt) -> Unmanaged<Dispatch>? {
    UnsafeRawPointer(bitPattern: bits).map(Unmanaged.fromOpaque)
  }
}
