public import Foundation

extension DispatchOptions {
  /// Begins the dispatch after a time.
  ///
  ///     shop.dispatch(Remind(order), options: .delayed(by: .seconds(3_600), name: "reminder \(order)"))
  ///
  /// Until then the dispatch has no place in its lane, and calls no middleware. When its time has come, it is taken to
  /// the stores that are registered then. You can cancel it by its handle, by its name and by `named`; `send` cancels
  /// it with the task. If you close, drain or shut down the dispatcher before, it ends as cancelled, or with
  /// `leftToAnotherProcess` if it is saved.
  ///
  /// The dispatch is in flight from the call on: its time limit counts, and so does a `DispatchLimit` that it names. It
  /// has none of the dispatcher's default limits and bounds. With `.sync` the caller's thread waits, with `send` the
  /// task. In a task whose thread `.sync` would block, it ends with `wouldDeadlock`.
  ///
  /// Made in a block, it is cancelled with that block's dispatch and inherits its deadline. Add `detached` to outlive
  /// them.
  ///
  /// If you give it a name, and the dispatcher has a persistence whose `ActionCoder` knows the action, the dispatch is
  /// saved: after a restart, `resumeWork()` goes on with it. Its row is removed in the action's own commit. A step of a
  /// group is not saved. See `ScheduledAction.isSaved`.
  ///
  /// While the dispatcher is closed or drains, a dispatch under way may still make one. If it can be saved, it is, and
  /// then ends with `leftToAnotherProcess`: the next process runs it. If not, it never runs, and ends with
  /// `dispatcherClosed`.
  ///
  /// An action for a store that is not registered at the call is refused at once with `unknownStore`.
  ///
  /// With a time of zero or less it begins at once. With the end of time, such as `.seconds(Int64.max)`, it stays
  /// pending until you cancel it. It does not add up with `scheduled`, `debounced` and `throttled`: the last one of
  /// them counts. An action group ignores it. Cost: a few microseconds, and about 1.5 KB until it has ended. All pending
  /// dispatches share one timer.
  ///
  /// - Parameters:
  ///   - time: The time from the call on, by the dispatcher's clock. Setting the machine's date does not change it.
  ///   - name: The name in `Dispatcher.scheduled`. A pending action of that name is replaced: a dispatch ends with a
  ///     `DispatchError` of the code `skipped`, a repeating schedule stops.
  ///   - missed: Whether the action runs after a restart if its time came before. With `skip` it does not, even if it
  ///     was still waiting in its lane, or was running, when the process died.
  public static func delayed(
    by time: Duration, name: String? = nil, missed: MissedRuns = .once
  ) -> DispatchOptions {
    scheduled(ScheduleRule(begin: .after(time.wholeNanoseconds), name: name, missed: missed))
  }

  /// Begins the dispatch at a date.
  ///
  ///     shop.dispatch(EndSale(sale), options: .scheduled(at: sale.end, name: "end of sale"))
  ///
  /// The date is compared with the machine's clock, to the microsecond. If somebody sets that clock forward, the
  /// dispatch begins within 30 seconds; if back, it waits until the date has come. A dispatcher with a clock of its own
  /// counts from the date at which it was made; a `VirtualClock` has a date that a test can set, and that
  /// is noticed at once.
  ///
  /// A date in the past begins at once. `Date.distantFuture`, and a date that is not a number, stay pending until you
  /// cancel them.
  ///
  /// Everything else is as with `delayed(by:name:missed:)`.
  public static func scheduled(
    at date: Date, name: String? = nil, missed: MissedRuns = .once
  ) -> DispatchOptions {
    scheduled(
      ScheduleRule(begin: .at(.date(date.unixNanoseconds)), name: name, missed: missed))
  }

  private static func scheduled(_ rule: ScheduleRule) -> DispatchOptions {
    DispatchOptions().controlled { $0.start = .schedule(rule) }
  }
}
