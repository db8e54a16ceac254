import DispatchStore
import Foundation

/// The runs of simulations that go on, so that one that takes very long is named on standard error.
///
/// The usual reason is a scenario that blocks the only running thread of its world.
final class RunWatch: Sendable {
  private static let limit = Duration.seconds(20)
  /// The caller, for messages.
  private let name: String
  private let state = Locked(State())

  private struct State {
    /// By seed: the begin of its present run.
    var begins: [UInt64: ContinuousClock.Instant] = [:]
    var hasNoticed = false
  }

  init(_ name: String) { self.name = name }

  /// Runs a simulation with this seed.
  func run<Value>(_ seed: UInt64, _ body: () -> Value) -> Value {
    state.withLockOfProcess { $0.begins[seed] = .now }
    defer { state.withLockOfProcess { $0.begins[seed] = nil } }
    return body()
  }

  /// Returns the notice of runs that take very long, once.
  func notice(at now: ContinuousClock.Instant) -> String? {
    let seeds = state.withLockOfProcess { state -> [UInt64] in
      if state.hasNoticed { return [] }
      let late = state.begins.filter { now - $0.value > Self.limit }.keys.sorted()
      state.hasNoticed = !late.isEmpty
      return late
    }
    if seeds.isEmpty { return nil }
    return """
      \(name): no end after \(Self.limit) with seed \(seeds.map(String.init).joined(separator: " and ")). Does the \
      program block its thread, for instance by calling the library while it holds a lock?

      """
  }

  /// Calls a closure on a thread of its own, and writes the notice meanwhile.
  ///
  /// Blocks the calling thread.
  ///
  /// - Parameter onProgress: Called about ten times a second.
  func wait<Value: Sendable>(
    onProgress: () -> Void = {}, for body: @escaping @Sendable () -> Value
  ) -> Value {
    let (value, ended) = (Locked<Value?>(nil), DispatchSemaphore(value: 0))
    Thread.detachNewThread {
      let result = body()
      value.withLockOfProcess { $0 = result }
      ended.signal()
    }
    while ended.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
      onProgress()
      guard let notice = self.notice(at: .now) else { continue }
      try? FileHandle.standardError.write(contentsOf: Data(notice.utf8))
    }
    onProgress()
    return value.withLockOfProcess { $0! }
  }
}
