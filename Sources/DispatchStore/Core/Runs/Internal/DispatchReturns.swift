import Synchronization

/// Dispatches on their way back from the threads that ran them to those that dispatch.
///
/// Memory that one thread allocates and another one frees is slow: so it goes around. Stacks are put on
/// top, and all that there is is taken at once, so that no link is read by two threads.
final class DispatchReturns: Sendable {
  private let top = Atomic<UInt>(0)
  /// The stacks put since all was taken; a hint.
  private let stackCount = Atomic<Int>(0)
  private static let limit = 64

  deinit {
    var left = DispatchStack()
    left.takeOver(takeAll())
    left.removeAll()
  }

  /// Takes in the dispatches of a thread that has more than it needs; releases them where there are enough.
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

  /// All that there is, linked.
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
