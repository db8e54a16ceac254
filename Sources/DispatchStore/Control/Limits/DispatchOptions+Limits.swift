extension DispatchOptions {
  /// Counts the dispatch, until its stores have ended, among those that limits bound.
  ///
  /// It gets a unit of each, in the order in which the limits were made. Cost: a lock for each before and after, and the
  /// dispatch's record.
  public static func limited(by limits: DispatchLimit...) -> DispatchOptions {
    limits.reduce(DispatchOptions()) { $0.limited(by: $1) }
  }

  /// The same options with another limit, as `DispatchOptions.limited(by:)`.
  public func limited(by limit: DispatchLimit) -> DispatchOptions {
    controlled { $0.add(limit) }
  }
}

extension ControlOptions.Values {
  /// In the order in which they were made: two dispatches never wait for each other's.
  mutating func add(_ limit: DispatchLimit) {
    if limits.contains(where: { $0 === limit }) { return }
    let index = limits.firstIndex { $0.number > limit.number } ?? limits.endIndex
    limits.insert(limit, at: index)
  }
}
