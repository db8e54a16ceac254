import DispatchStore

/// Compares a recorded log with that of its replay, store by store.
struct ReplayComparison {
  /// A commit, or a run without one, with its action.
  private struct Step {
    let run: DispatchLog.StoreRun
    let action: String
    let position: Int
  }

  private let recorded: [String: [Step]]
  private let replayed: [String: [Step]]

  init(_ recorded: DispatchLog, _ replayed: DispatchLog) {
    (self.recorded, self.replayed) = (Self.steps(recorded), Self.steps(replayed))
  }

  private static func steps(_ log: DispatchLog) -> [String: [Step]] {
    var steps: [String: [Step]] = [:]
    for (position, entry) in log.entries.enumerated() {
      for run in entry.stores where run.newVersion > run.oldVersion {
        let action = entry.actions.first?.text ?? "a change"
        steps[run.store, default: []].append(Step(run: run, action: action, position: position))
      }
    }
    return steps.mapValues { $0.sorted { $0.run.oldVersion < $1.run.oldVersion } }
  }

  /// The difference that came first in the recorded log; nil if there is none.
  var first: ReplayDifference? {
    let stores = Set(recorded.keys).union(replayed.keys)
    return stores.compactMap { difference(of: $0) }.min { $0.position < $1.position }?.difference
  }

  private func difference(of store: String) -> (position: Int, difference: ReplayDifference)? {
    let (recorded, replayed) = (recorded[store] ?? [], replayed[store] ?? [])
    for (one, other) in zip(recorded, replayed) {
      if let difference = Self.difference(one, other, in: store) {
        return (one.position, difference)
      }
    }
    guard recorded.count != replayed.count else { return nil }
    let isMissing = recorded.count > replayed.count
    let step = isMissing ? recorded[replayed.count] : replayed[recorded.count]
    return (
      step.position,
      ReplayDifference(
        store: store, version: step.run.newVersion, action: step.action, path: "version",
        recorded: isMissing ? "\(step.run.newVersion)" : nil,
        replayed: isMissing ? nil : "\(step.run.newVersion)")
    )
  }

  private static func difference(
    _ one: Step, _ other: Step, in store: String
  ) -> ReplayDifference? {
    func difference(_ path: String, _ recorded: String?, _ replayed: String?) -> ReplayDifference {
      ReplayDifference(
        store: store, version: one.run.newVersion, action: one.action, path: path,
        recorded: recorded, replayed: replayed)
    }
    let (recorded, replayed) = (values(one.run), values(other.run))
    let masked = one.run.differences.compactMap(maskedPlace)
    for path in one.run.differences.map(\.path) + other.run.differences.map(\.path)
    where recorded[path] != replayed[path] && !masked.contains(where: { path.hasPrefix($0) }) {
      return difference(path, recorded[path] ?? nil, replayed[path] ?? nil)
    }
    if one.run.outcome != other.run.outcome {
      return difference("outcome", one.run.outcome.rawValue, other.run.outcome.rawValue)
    }
    return nil
  }

  /// The beginning of the key paths of what is masked in a difference, which can't be compared; nil if nothing is.
  private static func maskedPlace(_ difference: DispatchLog.Difference) -> String? {
    let mask = ValueMasks.text
    if let place = difference.path.firstRange(of: mask) {
      return String(difference.path[..<place.lowerBound])
    }
    let isMasked = [difference.old, difference.new].contains { $0?.contains(mask) == true }
    return isMasked ? difference.path : nil
  }

  /// The new values by key path.
  private static func values(_ run: DispatchLog.StoreRun) -> [String: String?] {
    Dictionary(run.differences.map { ($0.path, $0.new) }) { $1 }
  }
}
