/// The time at which a scheduled action begins; `Int64.max` never comes.
enum ScheduleTime: Equatable {
  /// Nanoseconds of the dispatcher's clock.
  case elapsed(Int64)
  /// Nanoseconds since 1970.
  case date(Int64)

  func hasCome(at moment: Moment) -> Bool {
    switch self {
    case .elapsed(let time): time <= moment.elapsed
    case .date(let time): time <= moment.unix
    }
  }

  /// Returns the expected time in nanoseconds since 1970.
  func unix(at moment: Moment) -> Int64 {
    switch self {
    case .elapsed(.max): .max
    case .elapsed(let time): moment.unix.addingClamped(time - moment.elapsed)
    case .date(let time): time
    }
  }
}

/// A reading of a dispatcher's clock and of its date.
struct Moment {
  let elapsed: Int64
  let unix: Int64
}

extension DispatcherClock {
  var moment: Moment { Moment(elapsed: nanoseconds, unix: unixNanoseconds) }
}

/// The times of a repeating schedule.
struct Repetition: Sendable {
  let interval: Int64
  let missed: MissedRuns

  /// Returns the time until a first run at a date; a date that has passed is made up for at once, or skipped.
  ///
  /// A date that is further away than an interval was saved before somebody set the clock back, and counts as one.
  func left(until due: Int64, at now: Int64) -> Int64 {
    if due > now { return due == .max ? interval : min(due - now, interval) }
    // Negative, so that later runs keep their times.
    return missed == .once ? due - now : interval - (now - due) % interval
  }

  /// Advances from a time that has come to the next one in the future; `runs` is false if the time was missed.
  func advance(from due: Int64, at now: Int64) -> (runs: Bool, next: Int64) {
    let missedCount = (now - due) / interval
    // Counted from the former time, not from now: a late run delays no other.
    let former = isPlanted(.driftingSchedule) ? now : due + missedCount * interval
    return (missedCount == 0 || missed == .once, former.addingClamped(interval))
  }
}
