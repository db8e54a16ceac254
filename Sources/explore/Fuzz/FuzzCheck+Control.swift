import DispatchStore

// The controls of dispatches, and the ends to which they lead.
extension FuzzCheck {
  /// Whether a control of a dispatch satisfies a condition, or one of those in whose blocks it was made.
  private func isControlled(
    _ number: Int, _ condition: (FuzzProgram.Control) -> Bool
  ) -> Bool {
    if program.dispatches[number].controls.contains(where: condition) { return true }
    if madeInTasks.contains(number) {
      return program.dispatches.contains { $0.controls.contains(where: condition) }
    }
    return makers[number].map { isControlled($0, condition) } ?? false
  }

  /// Whether it may time out, and so have a result before its stores have ended.
  func hasTimeLimit(_ number: Int) -> Bool {
    isControlled(number) { if case .timeLimit = $0 { true } else { false } }
  }

  /// Whether something that controls it may cancel it.
  func mayBeCancelledByControl(_ number: Int) -> Bool {
    isControlled(number) { _ in true }
  }

  /// Whether it may begin later than what was dispatched after it.
  func mayBeDelayed(_ number: Int) -> Bool {
    program.dispatches[number].controls.contains {
      switch $0 {
      case .debounced, .throttled: true
      default: false
      }
    }
  }

  /// Whether what controls a dispatch may end it with an error.
  func mayEnd(_ number: Int, with code: DispatchError.Code) -> Bool {
    switch code {
    case .timedOut: return hasTimeLimit(number)
    case .limitExceeded: return limits(of: number).contains { $0.overflow == .reject }
    case .dropped:
      return limits(of: number).contains {
        $0.overflow == .dropNewest || $0.overflow == .dropOldest
      }
    case .skipped:
      return mayBeDelayed(number)
        || program.dispatches[number].controls.contains {
          if case .skippedIfInFlight = $0 { true } else { false }
        }
    case .rateLimitExceeded: return program.rates.contains(.reject)
    case .circuitOpen: return program.dispatches[number].controls.contains(.guarded)
    case .dispatcherClosed: return program.hasClosing
    default: return false
    }
  }

  private func limits(of number: Int) -> [FuzzProgram.LimitPlan] {
    program.dispatches[number].controls.compactMap {
      if case .limit(let place) = $0 { program.limits[place] } else { nil }
    }
  }

  /// Keys exclude, and limits bound, what runs at once.
  func checkControls() {
    var groups: [Group: [Int]] = [:]
    for (number, plan) in program.dispatches.enumerated() {
      for control in Set(plan.controls) {
        switch control {
        case .exclusive, .skippedIfInFlight:
          groups[Group(dispatcher: plan.dispatcher, control: control), default: []].append(number)
        case .limit:
          groups[Group(dispatcher: nil, control: control), default: []].append(number)
        default: break
        }
      }
    }
    for (group, numbers) in groups {
      var bound = 1
      if case .limit(let place) = group.control { bound = program.limits[place].bound }
      check(numbers, "\(group.control)", atMost: bound)
    }
    for (place, limit) in run.present.now.limits.enumerated() {
      check(limit.statistics.inFlight == 0, "limit \(place) has \(limit.statistics) at the end")
    }
    for (place, rate) in run.present.now.rates.enumerated() {
      check(rate.statistics.waiting == 0, "rate \(place) has \(rate.statistics) at the end")
    }
    let breaker = run.present.now.breaker.statistics
    check(breaker.trialsInFlight == 0, "the breaker has \(breaker) at the end")
  }

  private struct Group: Hashable {
    var dispatcher: Int?
    var control: FuzzProgram.Control
  }

  func check(_ numbers: [Int], _ name: String, atMost bound: Int) {
    var changes: [(time: Int, change: Int, number: Int)] = []
    for number in numbers {
      let parts = parts(of: number)
      guard let first = parts.compactMap(\.began.first).min(),
        let last = parts.compactMap(\.last).max()
      else { continue }
      changes += [(first, 1, number), (last, -1, number)]
    }
    var count = 0
    for change in changes.sorted(by: { $0.time < $1.time }) {
      count += change.change
      check(count <= bound, "#\(change.number) began as one more than \(name) allows")
    }
  }
}
