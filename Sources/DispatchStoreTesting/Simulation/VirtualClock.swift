package import DispatchStore
public import Foundation

/// A clock whose time passes only when a test advances it.
///
/// It wakes sleepers in the order of their deadlines. With equal deadlines, they wake in the order in which they
/// began to sleep. You can use it from any thread. In a simulation, time passes when no thread can run.
///
/// A dispatcher with this clock fires its timers on the thread that advances it, before that returns: delays, schedules,
/// time limits, rates. What they begin runs where it always does.
/// The dispatcher takes the date from the clock, too: `jump(by:)` sets that, as somebody sets a machine's clock.
public final class VirtualClock: Clock, @unchecked Sendable {  // because `lock` guards its state
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

  private struct Sleeper {
    let number: Int
    let deadline: Instant
    let wake: @Sendable () -> Void
  }

  private let lock = NSLock()
  private var time = Instant(offset: .zero)
  /// The date at the creation of the clock, moved by all jumps.
  private var start: Int64
  private var count = 0
  /// The sleepers, in the reverse order in which they will be woken.
  private var sleepers: [Sleeper] = []
  private var waiters: [Waiter] = []
  private var observers: [Observer] = []

  private struct Observer {
    weak var object: (any DateObserver)?
  }

  /// The observers that still exist, which the caller releases outside of the lock.
  private var presentObservers: [any DateObserver] { observers.compactMap { $0.object } }

  private struct Waiter {
    let number: Int
    let count: Int
    let continuation: UnsafeContinuation<Void, Never>
  }

  /// Makes a clock at zero, with the date 2026-01-01T00:00:00Z.
  public convenience init() {
    self.init(date: Date(timeIntervalSince1970: 1_767_225_600))
  }

  /// Makes a clock at zero, with this date.
  public init(date: Date) {
    start = date.unixNanoseconds
  }

  /// The current date, which advances with the time.
  public var date: Date { Date(unixNanoseconds: unixNanoseconds) }

  /// Moves the date, forwards or back, without any time passing.
  ///
  /// Wakes no sleeper. Outside of simulations, dispatchers begin before it returns what was scheduled at dates that have
  /// come with it.
  public func jump(by duration: Duration) {
    let observers = lock.withLock {
      start = start.addingClamped(duration.wholeNanoseconds)
      return presentObservers
    }
    for observer in observers { observer.dateJumped() }
  }

  /// The current time.
  public var now: Instant { lock.withLock { time } }

  /// A nanosecond.
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// The number of sleepers.
  package var sleeperCount: Int { lock.withLock { sleepers.count } }

  /// Sleeps until the clock is set to that time or past it.
  ///
  /// Throws if the task is cancelled.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let sleep = VirtualSleep()
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        guard sleep.begin(continuation) else { return }
        let number = call(at: deadline) { sleep.end(.success(())) }
        sleep.whenCancelled { self.forget(number) }
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
  private func call(at deadline: Instant, _ body: @escaping @Sendable () -> Void) -> Int? {
    let number = add(at: deadline, body)
    if number == nil { body() }
    return number
  }

  /// Adds a sleeper; returns nil if its deadline has passed.
  private func add(at deadline: Instant, _ body: @escaping @Sendable () -> Void) -> Int? {
    var resumed: [UnsafeContinuation<Void, Never>] = []
    let number = lock.withLock { () -> Int? in
      guard deadline > time else { return nil }
      count += 1
      let index = sleepers.firstIndex { $0.deadline <= deadline } ?? sleepers.endIndex
      sleepers.insert(Sleeper(number: count, deadline: deadline, wake: body), at: index)
      resumed = takeWaiters()
      return count
    }
    for waiter in resumed { waiter.resume() }
    return number
  }

  private func forget(_ number: Int?) {
    let forgotten = lock.withLock { () -> Sleeper? in
      sleepers.firstIndex { $0.number == number }.map { sleepers.remove(at: $0) }
    }
    withExtendedLifetime(forgotten) {}
  }

  /// Advances the time, and wakes all sleepers whose deadline has passed, in order.
  ///
  /// A sleeper that sleeps again does so from the new time, so a loop of sleeps is woken only once. If that matters,
  /// use `advance(by:settling:)`.
  public func advance(by duration: Duration) {
    wake { $0.advanced(by: duration) }
  }

  /// Advances the time from deadline to deadline, so that sleepers that sleep again are woken again.
  ///
  ///     await clock.advance(by: .seconds(3)) { await ticks.next() }
  ///
  /// Let one task at a time call it.
  ///
  /// - Parameters:
  ///   - duration: The total time.
  ///   - settle: Called at each deadline, once its sleepers have been woken. It must return when those have come to
  ///     rest. Await an event of their work: `waitForSleepers(atLeast:)` alone may see another sleeper, and waits for
  ///     ever once a loop of sleeps has ended.
  nonisolated(nonsending) public func advance(
    by duration: Duration, settling settle: () async -> Void
  ) async {
    let end = now.advanced(by: duration)
    while wake(until: { [self] _ in sleepers.last.map(\.deadline).flatMap { $0 <= end ? $0 : nil } }
    ) {
      await settle()
    }
    wake { max($0, end) }
  }

  /// Advances the time to the next deadline, and wakes all sleepers with that deadline.
  ///
  /// - Returns: Whether there was a sleeper.
  func advanceToNextSleeper() -> Bool {
    wake { [self] _ in sleepers.last?.deadline }
  }

  /// Sets the time, and wakes all sleepers whose deadline has passed.
  ///
  /// - Parameter end: Returns the new time, given the current one. Called under the lock.
  @discardableResult
  private func wake(until end: (Instant) -> Instant?) -> Bool {
    let woken = lock.withLock { () -> [Sleeper] in
      guard let end = end(time) else { return [] }
      time = max(time, end)
      let first = sleepers.firstIndex { $0.deadline <= time } ?? sleepers.endIndex
      defer { sleepers.removeSubrange(first...) }
      return sleepers[first...].reversed()
    }
    for sleeper in woken { sleeper.wake() }
    return !woken.isEmpty
  }

  /// Waits until there are at least this many sleepers.
  ///
  /// For a test that is about to advance the time. Returns early if the task is cancelled.
  public func waitForSleepers(atLeast count: Int) async {
    let number = lock.withLock {
      self.count += 1
      return self.count
    }
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let waits = lock.withLock {
          let waits = sleepers.count < count && !Task.isCancelled
          if waits {
            waiters.append(Waiter(number: number, count: count, continuation: continuation))
          }
          return waits
        }
        if !waits { continuation.resume() }
      }
    } onCancel: {
      // A task that has not stored its waiter yet sees `Task.isCancelled` under the lock.
      let waiter = lock.withLock {
        waiters.firstIndex { $0.number == number }.map { waiters.remove(at: $0) }
      }
      waiter?.continuation.resume()
    }
  }

  /// Removes and returns the tasks that wait for at most the current number of sleepers.
  ///
  /// Called under the lock.
  private func takeWaiters() -> [UnsafeContinuation<Void, Never>] {
    defer { waiters.removeAll { $0.count <= sleepers.count } }
    return waiters.filter { $0.count <= sleepers.count }.map(\.continuation)
  }
}

extension VirtualClock: DatedClock {
  package var unixNanoseconds: Int64 {
    lock.withLock { start.addingClamped(time.offset.wholeNanoseconds) }
  }

  package var elapsedNanoseconds: Int64 { now.offset.wholeNanoseconds }

  package func add(_ observer: any DateObserver) {
    let present = lock.withLock {
      let present = presentObservers
      observers = (present + [observer]).map { Observer(object: $0) }
      return present
    }
    withExtendedLifetime(present) {}
  }

  package func alarm(
    at time: Int64, _ body: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    let number = add(at: Instant(offset: .nanoseconds(time)), body)
    // The caller holds a lock that the body takes.
    if number == nil { DispatchQueue.global().async(execute: body) }
    return { [weak self] in self?.forget(number) }
  }
}
