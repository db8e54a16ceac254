private import Dispatch

/// Runs a number of links, each of which begins at the end of the one before.
public final class Chain: @unchecked Sendable {  // because one link is under way at a time
  private var left: Int
  private let begin: @Sendable (_ chain: Chain, _ left: Int) -> Void
  private let done = DispatchSemaphore(value: 0)

  /// Makes a chain of `count` links; each that begins has to call `next()` at its end.
  public init(_ count: Int, begin: @escaping @Sendable (_ chain: Chain, _ left: Int) -> Void) {
    left = count
    self.begin = begin
  }

  /// Begins the first link, and waits for the end of the last.
  public func run() {
    next()
    done.wait()
  }

  /// Begins the next link, or ends the chain.
  public func next() {
    guard left > 0 else {
      done.signal()
      return
    }
    left -= 1
    begin(self, left)
  }
}
