extension DispatchOptions {
  /// Lets the dispatch begin once no newer one of its key has come for a time: of a burst the last one begins.
  ///
  /// A newer one ends it at once with a `DispatchError` of the code `skipped`; so each has its handle, one result and one
  /// completion. While it is delayed it has no place in its lane, and calls no middleware. When its time has come, on the
  /// concurrent queue, it is taken to the stores that are registered then, hooks are called, and it is scheduled; what
  /// `after` names is waited for then. It is in flight from the call on: it is found by name and cancelled, its time
  /// limit counts, a `DispatchLimit` counts it, and a drain waits for it. With `.sync` the caller's thread waits, with
  /// `send` the task. In a task whose thread `.sync` would block it ends with `wouldDeadlock`.
  ///
  /// The dispatch that comes first opens an **interval**, which each newer one extends: it ends a period after the last
  /// one. One that comes at its end, or later, does not belong to it. Once a dispatch has begun at the end, a new interval
  /// begins there. With `.leading` the first one of an interval begins at once, and the others are skipped; with `.both`
  /// the last one begins at the end, besides.
  ///
  /// Keys compare by type and value, and are independent of names and of those of `throttled`. A dispatch has one rate;
  /// the last one counts. With a period of zero or less it begins at once. Cost: an entry in a table and a timer for a
  /// key, until its interval has passed.
  ///
  /// - Parameters:
  ///   - key: Of the dispatches that are debounced together.
  ///   - period: For so long no newer one has come.
  ///   - longest: So long an interval is at most, so that an endless burst has its turn; nil for no limit.
  ///   - edges: Which dispatches of a burst begin.
  public static func debounced(
    _ key: some Hashable & Sendable, for period: Duration, atMost longest: Duration? = nil,
    edges: RateEdges = .trailing
  ) -> DispatchOptions {
    DispatchOptions().debounced(key, for: period, atMost: longest, edges: edges)
  }

  /// The same options for a dispatch that is debounced, as `DispatchOptions.debounced(_:for:atMost:edges:)`.
  public func debounced(
    _ key: some Hashable & Sendable, for period: Duration, atMost longest: Duration? = nil,
    edges: RateEdges = .trailing
  ) -> DispatchOptions {
    rated(
      key,
      RateRule(
        period: period.wholeNanoseconds, edges: edges, isExtended: true,
        longest: longest?.wholeNanoseconds))
  }

  /// Lets dispatches of a key begin no closer to each other than a period.
  ///
  /// The first one begins at once, and opens an **interval** of the period. Those that come within it are skipped, as
  /// `debounced` skips; one that comes at its end, or later, opens the next one. With `.trailing` the last one that comes
  /// within the interval (also the one that opens it) begins at its end, where a new interval begins; newer ones skip it
  /// until then. With `.both` the first one begins at once, and the last one of the others at the end.
  ///
  /// As `debounced(_:for:atMost:edges:)` in all else.
  ///
  /// - Parameters:
  ///   - key: Of the dispatches that are throttled together.
  ///   - period: The length of the interval.
  ///   - edges: Which dispatches of an interval begin.
  public static func throttled(
    _ key: some Hashable & Sendable, per period: Duration, edges: RateEdges = .leading
  ) -> DispatchOptions {
    DispatchOptions().throttled(key, per: period, edges: edges)
  }

  /// The same options for a dispatch that is throttled, as `DispatchOptions.throttled(_:per:edges:)`.
  public func throttled(
    _ key: some Hashable & Sendable, per period: Duration, edges: RateEdges = .leading
  ) -> DispatchOptions {
    rated(
      key,
      RateRule(period: period.wholeNanoseconds, edges: edges, isExtended: false, longest: nil))
  }

  private func rated(_ key: some Hashable & Sendable, _ rule: RateRule) -> DispatchOptions {
    controlled { $0.rate = rule.period > 0 ? KeyedRate(key: TypedKey(key), rule: rule) : nil }
  }
}
