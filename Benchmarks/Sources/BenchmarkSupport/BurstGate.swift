private import Dispatch

/// Lets a producer run at most two bursts ahead of its consumer.
///
/// At most 1,000 actions are in flight then, no thread waits for a single one, and the next burst is pending
/// while the consumer runs the one before it.
public final class BurstGate: Sendable {
  /// The actions of a burst.
  public static let size = 500
  private static let ahead = 2

  private let permits = DispatchSemaphore(value: 0)

  /// Makes a gate that is open for the first two bursts.
  public init() {
    for _ in 0..<Self.ahead { permits.signal() }
  }

  /// To be called when a burst has run: lets the producer begin another one.
  public func open() {
    permits.signal()
  }

  /// Produces at least `count` actions, in whole bursts, and waits until all have run.
  @inlinable
  public func produce(_ count: Int, _ action: (_ index: Int) -> Void) {
    var index = 0
    while index < count {
      wait()
      for _ in 0..<Self.size {
        action(index)
        index += 1
      }
    }
    waitForRest()
  }

  /// Waits until `count` actions, whole bursts, have run that were produced without this gate.
  public func wait(forAll count: Int) {
    for _ in 0..<(count / Self.size) { wait() }
    waitForRest()
  }

  /// Waits until the next burst may begin.
  @usableFromInline
  func wait() {
    permits.wait()
  }

  @usableFromInline
  func waitForRest() {
    for _ in 0..<Self.ahead { permits.wait() }
    for _ in 0..<Self.ahead { permits.signal() }
  }
}
