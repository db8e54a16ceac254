extension DispatchOptions {
  /// Counts the dispatch against limits until its stores have ended.
  ///
  /// The dispatch gets a unit of each limit, in the order in which the limits were made, but `.dropOldest` ones last.
  /// They replace the dispatcher's default limits. Cost: a lock for each before and after, and the dispatch's record.
  public static func limited(by limits: DispatchLimit...) -> DispatchOptions {
    DispatchOptions().controlled { values in
      values.namesLimits = true
      for limit in limits { values.add(limit) }
    }
  }

  /// Whether others wait for the units of a dispatch with these options.
  var limitsMakeOthersWait: Bool {
    (control as? ControlOptions)?.values.limits.contains { $0.overflow == .wait } == true
  }
}

extension ControlOptions.Values {
  /// Adds a limit, in one order for all dispatches, so that no two wait for each other's units.
  mutating func add(_ limit: DispatchLimit) {
    if limits.contains(where: { $0 === limit }) { return }
    let index = limits.firstIndex { $0.rank > limit.rank } ?? limits.endIndex
    limits.insert(limit, at: index)
  }
}
