extension DispatchOptions {
  /// Begins only the last dispatch of a burst: the one after which no newer one of its key came for a period.
  ///
  /// A newer dispatch ends the pending one at once with a `DispatchError` of the code `skipped`. Each dispatch still
  /// has its own handle, one result and one completion.
  ///
  /// While it is delayed, the dispatch has no place in its lane, and calls no middleware. When its time has come, on
  /// the concurrent queue, it is taken to the stores that are registered then. Hooks are called, and it is scheduled.
  /// The wait for the dispatches that `after` names begins then.
  ///
  /// A delayed dispatch is in flight from the call on. It is found by name and cancelled, its time limit counts, a
  /// `DispatchLimit` counts it, and a drain waits for it. With `.sync` the caller's thread waits, with `send` the
  /// task. In a task whose thread `.sync` would block, it ends with `wouldDeadlock`.
  ///
  /// The first dispatch opens an **interval**, which each newer one extends: it ends a period after the last one. A
  /// dispatch at or after the end does not belong to it. Once a dispatch has begun at the end, a new interval begins
  /// there. With `.leading` the first dispatch of an interval begins at once, and the others are skipped. With
  /// `.both` the last one also begins at the end.
  ///
  /// Keys compare by type and value, and are independent of names and of the keys of `throttled`. A dispatch has one
  /// rate; the last one counts. With a period of zero or less it begins at once. Cost: an entry in a table and a
  /// timer for each key, until its interval has passed.
  ///
  /// - Parameters:
  ///   - key: The key of the dispatches that are debounced together.
  ///   - period: The time without a newer dispatch after which the last one begins.
  ///   - longest: The longest time that an interval lasts, so that an endless burst gets its turn; nil for no limit.
  ///   - edges: Which dispatches of a burst begin.
  public static func debounced(
    _ key: some Hashable & Sendable, for period: Duration, atMost longest: Duration? = nil,
    edges: RateEdges = .trailing
  ) -> DispatchOptions {
    rated(
      key,
      RateRule(
        period: period.wholeNanoseconds, edges: edges, isExtended: true,
        longest: longest?.wholeNanoseconds))
  }

  /// Lets dispatches of a key begin no closer together than a period.
  ///
  /// The first dispatch begins at once, and opens an **interval** of the period. Dispatches within it are skipped, as
  /// with `debounced`; one at or after its end opens the next interval. With `.trailing` the last dispatch within the
  /// interval (even the one that opens it) begins at its end. A new interval begins there. Until then, newer ones
  /// skip it. With `.both` the first one begins at once, and the last of the others at the end.
  ///
  /// Everything else is as with `debounced(_:for:atMost:edges:)`.
  ///
  /// - Parameters:
  ///   - key: The key of the dispatches that are throttled together.
  ///   - period: The length of the interval.
  ///   - edges: Which dispatches of an interval begin.
  public static func throttled(
    _ key: some Hashable & Sendable, per period: Duration, edges: RateEdges = .leading
  ) -> DispatchOptions {
    rated(
      key,
      RateRule(period: period.wholeNanoseconds, edges: edges, isExtended: false, longest: nil))
  }

  private static func rated(_ key: some Hashable & Sendable, _ rule: RateRule) -> DispatchOptions {
    // Without a period it begins at once, whatever an option before this one says.
    let start = rule.period <= 0 ? nil : LaterStart.rate(KeyedRate(key: TypedKey(key), rule: rule))
    return DispatchOptions().controlled { $0.start = start }
  }
}
