/// The time at which a dispatch times out.
struct Deadline {
  /// The time in nanoseconds of the dispatcher's clock.
  let time: Int64
  /// The nanoseconds from the dispatch to the deadline.
  let nanoseconds: Int64

  /// The time from the dispatch to the deadline.
  var duration: Duration { .nanoseconds(nanoseconds) }
}

extension Deadline {
  /// Creates a deadline this many nanoseconds after a time of the clock.
  init(after nanoseconds: Int64, by now: Int64) {
    self.init(time: now.addingClamped(nanoseconds), nanoseconds: nanoseconds)
  }
}

/// The deadline of a dispatch, for the dispatches that its blocks make, perhaps by other dispatchers.
struct InheritedDeadline {
  /// The time in nanoseconds of `clock`.
  let time: Int64
  let clock: DispatcherClock

  /// Returns the same time in nanoseconds of another clock.
  ///
  /// - Parameter now: The present time of that clock.
  func time(by other: DispatcherClock, at now: Int64) -> Int64 {
    // Computed only if necessary: it comes earlier by the time between the two readings.
    clock.hasTimes(of: other)
      ? time : now.addingClamped(time.addingClamped(-clock.nanoseconds))
  }
}
