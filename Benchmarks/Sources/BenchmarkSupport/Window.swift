private import Dispatch
private import Synchronization

/// Keeps at most 64 actions in flight: two bursts of 32, whose ends are counted one by one.
///
/// The producer waits for the end of a burst at most, as one does that reads so many requests at a time.
public final class Window: Sendable {
  private static let size = 32
  private let bursts = (Burst(), Burst())

  private final class Burst: Sendable {
    let left = Atomic(0)
    let hasEnded = DispatchSemaphore(value: 1)
  }

  /// Makes a window.
  public init() {}

  /// Produces `count` actions, each of which has to call `ended` once, on any thread; waits until all have.
  public func produce(
    _ count: Int, _ action: (_ turn: Int, _ ended: @escaping @Sendable () -> Void) -> Void
  ) {
    var turn = 0
    while turn < count {
      let burst = turn / Self.size % 2 == 0 ? bursts.0 : bursts.1
      let size = min(Self.size, count - turn)
      burst.hasEnded.wait()
      burst.left.store(size, ordering: .relaxed)
      for _ in 0..<size {
        action(turn) {
          let left = burst.left.subtract(1, ordering: .acquiringAndReleasing).newValue
          if left == 0 { burst.hasEnded.signal() }
        }
        turn += 1
      }
    }
    for burst in [bursts.0, bursts.1] {
      burst.hasEnded.wait()
      burst.hasEnded.signal()
    }
  }
}
