/// The lines of the keys with pending dispatches or running intervals.
///
/// Under the lock, keys are distinguished by their hashes, as in the table of lanes; they are compared outside.
final class RateTable: Sendable {
  /// The number of shards; a power of two.
  private static let shardCount = 16
  private let shards = (0..<shardCount).map { _ in Locked([Int: [RateLine]]()) }

  var count: Int { shards.reduce(0) { $0 + $1.withLock { $0.values.reduce(0) { $0 + $1.count } } } }

  /// Adds a dispatch of a key.
  func arrive(
    _ delay: DispatchDelay, _ rate: KeyedRate, to dispatcher: Dispatcher
  ) -> RateState<DispatchDelay>.Arrival {
    while true {
      let line = line(of: rate.key, dispatcher)
      let arrival = line.arrive(delay, rate.rule)
      if line.isRetired { remove(line) }
      if let arrival { return arrival }
    }
  }

  private func shard(of key: TypedKey) -> Locked<[Int: [RateLine]]> {
    shards[key.hash & (Self.shardCount - 1)]
  }

  private func line(of key: TypedKey, _ dispatcher: Dispatcher) -> RateLine {
    while true {
      let found = shard(of: key).withLock { $0[key.hash] ?? [] }
      if let present = found.first(where: { $0.key == key }) { return present }
      let made = RateLine(key, in: self, of: dispatcher)
      let isInserted = shard(of: key).withLock { shard in
        // Another thread may have come first with the same key.
        let present = shard[key.hash] ?? []
        guard present.allSatisfy({ new in found.contains { $0 === new } }) else { return false }
        shard[key.hash] = present + [made]
        return true
      }
      if isInserted { return made }
    }
  }

  /// Removes an idle line.
  func remove(_ line: RateLine) {
    shard(of: line.key).withLock { shard in
      shard[line.key.hash]?.removeAll { $0 === line }
      if shard[line.key.hash]?.isEmpty == true { shard[line.key.hash] = nil }
    }
  }
}

/// The rate of the dispatches of a key.
struct KeyedRate: Sendable {
  let key: TypedKey
  let rule: RateRule

  func admit(_ delay: DispatchDelay, to dispatcher: Dispatcher) throws -> Admission {
    let (tables, callSite) = (dispatcher.controlTables, delay.dispatch.callSite)
    let table = rule.isExtended ? tables.debounces : tables.throttles
    switch table.arrive(delay, self, to: dispatcher) {
    case .begin:
      return .begins
    case .wait(let replaced):
      if let replaced {
        if isPlanted(.keptDelayed) {
          replaced.end()
        } else {
          replaced.dispatch.skip(
            with: .replaced(replaced.dispatch.callSite, by: callSite, key))
        }
      }
      return .waits
    case .skip(let opener):
      throw DispatchError.tooSoon(callSite, after: opener, key)
    case .refuse:
      throw DispatchError.wouldBlockTasks(callSite, key)
    }
  }
}

extension DispatchError {
  fileprivate static func replaced(
    _ callSite: CallSite, by newer: CallSite, _ key: TypedKey
  ) -> DispatchError {
    DispatchError(
      code: .skipped,
      message: """
        The dispatch at \(callSite) was skipped before its time had come: a newer one with the key \(key.description) \
        was made at \(newer).
        """,
      callSites: [callSite, newer])
  }

  fileprivate static func tooSoon(
    _ callSite: CallSite, after opener: CallSite, _ key: TypedKey
  ) -> DispatchError {
    DispatchError(
      code: .skipped,
      message: """
        The dispatch at \(callSite) was skipped: it came within the interval of one with the key \(key.description), \
        made at \(opener).
        """,
      callSites: [callSite, opener])
  }

  fileprivate static func wouldBlockTasks(
    _ callSite: CallSite, _ key: TypedKey
  ) -> DispatchError {
    DispatchError(
      code: .wouldDeadlock,
      message: """
        The dispatch at \(callSite), with the key \(key.description), would block one of the system's threads for tasks \
        until its time has come, for which the clock may need such a thread: send it.
        """,
      callSites: [callSite])
  }
}
