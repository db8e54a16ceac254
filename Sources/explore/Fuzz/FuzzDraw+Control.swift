import DispatchStore

// Limits, keys, names and time limits.
extension FuzzDraw {
  mutating func drawLimits() {
    for _ in 0..<below(3) {
      // A dispatch that has to wait may be refused if its thread is not its own.
      let overflows = DispatchLimit.Overflow.allCases.filter { $0 != .wait || !program.isTame }
      let limit = FuzzProgram.LimitPlan(bound: below(2) + 1, overflow: pick(overflows))
      program.limits.append(limit)
    }
    if program.isExtended {
      let overflows: [RateLimit.Overflow] = program.isTame ? [.reject] : [.reject, .wait]
      program.rates = (0...below(2)).map { _ in pick(overflows) }
    }
  }

  /// - Parameters:
  ///   - isWaitedFor: Whether its maker waits for it in a program without rings: then it waits for nothing.
  ///   - holdsQueue: Whether its maker may wait for nothing that is queued.
  mutating func controls(isWaitedFor: Bool, holdsQueue: Bool) -> [FuzzProgram.Control] {
    guard program.isControlled, !isWaitedFor, chance(1, in: 2) else { return [] }
    var controls: [FuzzProgram.Control] = []
    for _ in 0...below(2) {
      // The last one of several such keys counts.
      if let control = control(), controls.allSatisfy({ !$0.isReplaced(by: control) }),
        !holdsQueue || !mayBlock(control)
      {
        controls.append(control)
      }
    }
    return controls
  }

  /// Whether a thread that dispatches with it may have to wait.
  private func mayBlock(_ control: FuzzProgram.Control) -> Bool {
    if case .limit(let place) = control { program.limits[place].overflow == .wait } else { false }
  }

  private mutating func control() -> FuzzProgram.Control? {
    if program.isExtended, chance(1, in: 4) {
      return [.guarded, .detached, .rate(below(program.rates.count))][below(3)]
    }
    return switch below(program.isTame ? 9 : 12) {
    case 0, 1: program.hasGroups ? nil : .timeLimit(milliseconds: [0, 1, 3, 40][below(4)])
    case 2: .name(below(2))
    case 3: .exclusive(below(2))
    case 4: chance(1, in: 2) ? .cancelsPrevious(below(2)) : .skippedIfInFlight(below(2))
    case 5: program.limits.isEmpty ? nil : .limit(below(program.limits.count))
    case 6: .isUrgent
    case 7: .retry(attempts: below(3) + 1, failures: below(3) + 1)
    case 8: condition()
    // A dispatch that waits for one that comes later to its lane closes a ring.
    case 9: .debounced(below(2))
    case 10: .idempotencyKey(below(2))
    default: .throttled(below(2))
    }
  }
}

extension FuzzDraw {
  /// Draws a condition on a store that does not go.
  private mutating func condition() -> FuzzProgram.Control? {
    let store = below(program.stores.count)
    return program.stores[store].isWeak
      ? nil : .when(store: store, count: below(FuzzRun.mostCommitsForConditions + 1))
  }
}

extension FuzzProgram.Control {
  fileprivate func isReplaced(by other: FuzzProgram.Control) -> Bool {
    switch (self, other) {
    case (.cancelsPrevious, .cancelsPrevious), (.skippedIfInFlight, .skippedIfInFlight): true
    case (.retry, .retry), (.idempotencyKey, .idempotencyKey): true
    case (.debounced, .debounced), (.debounced, .throttled): true
    case (.throttled, .throttled), (.throttled, .debounced): true
    default: false
    }
  }
}
