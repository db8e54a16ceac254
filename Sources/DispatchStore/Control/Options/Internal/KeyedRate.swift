/// The rate of the dispatches of a key.
struct KeyedRate: Sendable {
  let key: TypedKey
  let rule: RateRule

  /// Whether a dispatch made now begins at once; throws if it is skipped, however it is admitted.
  func check(at callSite: CallSite, of dispatcher: Dispatcher) throws(DispatchError) -> Bool {
    guard let line = lines(of: dispatcher).present(key) else { return rule.edges.isLeading }
    if let opener = line.skip(rule) { throw .tooSoon(callSite, after: opener, key) }
    return rule.edges.isLeading && line.isBetweenIntervals
  }

  private func lines(of dispatcher: Dispatcher) -> KeyedTable<RateLine> {
    let tables = dispatcher.controlTables
    return rule.isExtended ? tables.debounces : tables.throttles
  }

  func admit(_ delay: DispatchDelay, to dispatcher: Dispatcher) throws -> Admission {
    let (lines, callSite) = (lines(of: dispatcher), delay.dispatch.callSite)
    let line = lines.member(of: key) { RateLine($0, of: dispatcher) }
    switch line.arrive(delay, rule) {
    case .begin:
      return .begins
    case .wait(let replaced):
      if let replaced {
        if isPlanted(.keptDelayed) {
          replaced.end()
        } else {
          let reason =
            " before its time had come: a newer one with the key \(key.description) was made at \(callSite)"
          replaced.dispatch.drop(
            with: .skipped(replaced.dispatch.callSite, for: callSite, reason))
        }
      }
      return .waits(delay)
    case .skip(let opener):
      throw DispatchError.tooSoon(callSite, after: opener, key)
    case .refuse:
      throw DispatchError.wouldBlockTasks(
        callSite, until: "its time by the key \(key.description) has come")
    }
  }

  /// Gives back the interval of a dispatch that was to begin at once, and that another option refuses.
  func withdraw(_ delay: DispatchDelay, from dispatcher: Dispatcher) {
    lines(of: dispatcher).present(key)?.withdraw(delay)
  }
}

extension DispatchError {
  fileprivate static func tooSoon(
    _ callSite: CallSite, after opener: CallSite, _ key: TypedKey
  ) -> DispatchError {
    skipped(
      callSite, for: opener,
      ": it came within the interval of one with the key \(key.description), made at \(opener)")
  }
}
