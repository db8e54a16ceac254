package import DispatchStore
public import Foundation

/// A clock whose time passes only when a test advances it.
///
/// It wakes sleepers in the order of their deadlines. With equal deadlines, they wake in the order in which they
/// began to sleep. You can use it from any thread. In a simulation, time passes when no thread can run.
///
/// A dispatcher with this clock fires its timers on the thread that advances it, before that returns: delays, schedules,
/// time limits, rates. Actions that they begin run where they always do. The dispatcher takes the date from the clock,
/// too: `jump(by:)` sets that, as somebody sets a machine's clock.
public final class VirtualClock: Clock, Sendable {
  /// A time, counted from the creation of the clock.
  public struct Instant: InstantProtocol, Hashable, Sendable {
    /// The time since the creation of the clock.
    public let offset: Duration

    /// Makes the time at this offset from the creation of the clock.
    public init(offset: Duration) {
      self.offset = offset
    }

    /// Returns the time that is later by a duration.
    public func advanced(by duration: Duration) -> Instant {
      Instant(offset: offset + duration)
    }

    /// Returns the duration from this time to another.
    public func duration(to other: Instant) -> Duration {
      other.offset - offset
    }

    /// Orders times.
    public static func < (lhs: Instant, rhs: Instant) -> Bool {
      lhs.offset < rhs.offset
    }
  }

  /// Wakes a sleeper, and returns whether there was anything to wake.
  private typealias Sleeper = @Sendable () -> Bool

  private struct Observer {
    weak let object: (any DateObserver)?
  }

  private struct State: Sendable {
    var time = Instant(offset: .zero)
    /// The date at the creation of the clock, moved by all jumps.
    var start: Int64
    var sleepers = TimerHeap<Instant, Sleeper>()
    var observers: [Observer] = []

    /// The observers that still exist, which the caller releases outside of the lock.
    var presentObservers: [any DateObserver] { observers.compactMap { $0.object } }
  }

  private let state: Awaited<State>

  /// Makes a clock at zero, with the date 2026-01-01T00:00:00Z.
  public convenience init() {
    self.init(date: Date(timeIntervalSince1970: 1_767_225_600))
  }

  /// Makes a clock at zero, with this date.
  public init(date: Date) {
    state = Awaited(State(start: date.unixNanoseconds))
  }

  /// The current date, which advances with the time.
  public var date: Date { Date(unixNanoseconds: unixNanoseconds) }

  /// Moves the date, forwards or back, without any time passing.
  ///
  /// Wakes no sleeper. Outside of simulations, dispatchers begin before it returns what was scheduled at dates that have
  /// come with it.
  public func jump(by duration: Duration) {
    let observers = state.change { state in
      state.start = state.start.addingClamped(duration.wholeNanoseconds)
      return state.presentObservers
    }
    for observer in observers { observer.dateJumped() }
  }

  /// The current time.
  public var now: Instant { state.read(\.time) }

  /// A nanosecond.
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// The number of sleepers.
  package var sleeperCount: Int { state.read(\.sleepers.count) }

  /// Sleeps until the clock is set to that time or past it.
  ///
  /// Throws if the task is cancelled.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let sleep = VirtualSleep()
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        guard sleep.begin(continuation) else { return }
        let token = call(at: deadline) { sleep.end(.success(())) }
        if let token { sleep.whenCancelled { self.forget(token) } }
        sleep.hasBegun()
      }
    } onCancel: {
      sleep.end(.failure(CancellationError()))
    }
  }

  /// Calls a closure after a delay.
  ///
  /// If the delay is not positive, calls it at once.
  func call(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
    call(at: now.advanced(by: delay), body)
  }

  @discardableResult
  private func call(at deadline: Instant, _ body: @escaping @Sendable () -> Void) -> TimerToken? {
    let token = add(at: deadline) {
      body()
      return true
    }
    if token == nil { body() }
    return token
  }

  /// Adds a sleeper; returns nil if its deadline has passed.
  ///
  /// - Parameter former: A sleeper that is removed in the same step: those that await a number of sleepers must not count
  ///   both.
  private func add(
    at deadline: Instant, inPlaceOf former: TimerToken? = nil,
    _ body: @escaping @Sendable () -> Bool
  ) -> TimerToken? {
    let (token, removed) = state.change { state -> (TimerToken?, Sleeper?) in
      let removed = former.flatMap { state.sleepers.remove($0) }
      let isAhead = deadline > state.time
      return (isAhead ? state.sleepers.insert(body, at: deadline) : nil, removed)
    }
    withExtendedLifetime(removed) {}
    return token
  }

  private func forget(_ token: TimerToken) {
    let forgotten = state.change { $0.sleepers.remove(token) }
    withExtendedLifetime(forgotten) {}
  }

  /// Advances the time, and wakes all sleepers whose deadline has passed, in order.
  ///
  /// A sleeper that sleeps again does so from the new time, so a loop of sleeps is woken only once. If that matters,
  /// use `advance(by:settling:)`.
  public func advance(by duration: Duration) {
    wake { $0.time.advanced(by: duration) }
  }

  /// Advances the time from deadline to deadline, so that sleepers that sleep again are woken again.
  ///
  ///     await clock.advance(by: .seconds(3)) { await ticks.next() }
  ///
  /// Let one task at a time call it.
  ///
  /// - Parameters:
  ///   - duration: The total time.
  ///   - settle: Called at each deadline, once its sleepers have been woken. If only a dispatcher's timer comes, and
  ///     finds nothing due, as after the end of a dispatch with a timeout, it is not called. It must return when those
  ///     that were woken have come to rest. Await an event of their work: `waitForSleepers(atLeast:)` alone may see
  ///     another sleeper, and waits for ever once a loop of sleeps has ended.
  nonisolated(nonsending) public func advance(
    by duration: Duration, settling settle: () async -> Void
  ) async {
    let end = now.advanced(by: duration)
    while let hasWoken = wake(until: {
      $0.sleepers.earliest().flatMap { $0 <= end ? $0 : nil }
    }) {
      if hasWoken { await settle() }
    }
    wake { max($0.time, end) }
  }

  /// Advances the time to the next deadline, and wakes all sleepers with that deadline.
  ///
  /// - Returns: Whether there was a sleeper.
  func advanceToNextSleeper() -> Bool {
    wake { $0.sleepers.earliest() } != nil
  }

  /// Sets the time, and wakes all sleepers whose deadline has passed.
  ///
  /// - Parameter end: Returns the new time. Called under the lock.
  /// - Returns: Whether those sleepers had anything to wake; nil if there was none.
  @discardableResult
  private func wake(until end: (inout State) -> Instant?) -> Bool? {
    let woken = state.change { state -> [Sleeper] in
      guard let end = end(&state) else { return [] }
      state.time = max(state.time, end)
      return state.sleepers.takeDue(at: state.time)
    }
    if woken.isEmpty { return nil }
    var hasWoken = false
    for wake in woken where wake() { hasWoken = true }
    return hasWoken
  }

  /// Waits until there are at least this many sleepers.
  ///
  /// For a test that is about to advance the time. Returns early if the task is cancelled, with a note in the test.
  ///
  /// - Parameters:
  ///   - count: The number of sleepers.
  ///   - fileID: The file to show the note in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  public func waitForSleepers(
    atLeast count: Int,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) async {
    guard await state.first({ $0.sleepers.count >= count ? true : nil }) == nil else { return }
    FailureReporter().noteCancellation(
      "\(count) sleepers, of which there are \(sleeperCount)",
      at: SourcePlace(fileID, filePath, line, column))
  }
}

extension VirtualClock: DatedClock {
  package var unixNanoseconds: Int64 {
    state.read { $0.start.addingClamped($0.time.offset.wholeNanoseconds) }
  }

  package var elapsedNanoseconds: Int64 { now.offset.wholeNanoseconds }

  package func add(_ observer: any DateObserver) {
    let present = state.change { state in
      let present = state.presentObservers
      state.observers = (present + [observer]).map { Observer(object: $0) }
      return present
    }
    withExtendedLifetime(present) {}
  }

  package func alarm(
    at time: Int64, inPlaceOf former: TimerToken?, _ body: @escaping @Sendable () -> Bool
  ) -> TimerToken? {
    let token = add(at: Instant(offset: .nanoseconds(time)), inPlaceOf: former, body)
    // The caller holds a lock that the body takes.
    if token == nil { DispatchQueue.global().async { _ = body() } }
    return token
  }

  package func giveUp(_ alarm: TimerToken) { forget(alarm) }
}
