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
  ///
  /// If an action differs in several stores, that of the least identifier.
  var first: ReplayDifference? {
    let stores = Set(recorded.keys).union(replayed.keys).sorted()
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
    let action =
      one.action == other.action ? one.action : "\(one.action), in the replay \(other.action)"
    func difference(_ path: String, _ recorded: String?, _ replayed: String?) -> ReplayDifference {
      ReplayDifference(
        store: store, version: one.run.newVersion, action: action, path: path,
        recorded: recorded, replayed: replayed)
    }
    let isCut = one.run.omittedCount > 0 || other.run.omittedCount > 0
    let (recorded, replayed) = (values(one.run, isCut), values(other.run, isCut))
    let masked = one.run.differences.compactMap(MaskedPlace.init)
    for path in one.run.differences.map(\.path) + other.run.differences.map(\.path)
    where recorded[path] != replayed[path] && !masked.contains(where: { $0.contains(path) }) {
      // A path that only one run has may be among those that the other has left out.
      if isCut, !recorded.keys.contains(path) || !replayed.keys.contains(path) { continue }
      return difference(path, recorded[path] ?? nil, replayed[path] ?? nil)
    }
    if one.run.outcome != other.run.outcome {
      return difference("outcome", one.run.outcome.rawValue, other.run.outcome.rawValue)
    }
    return nil
  }

  /// The new values by key path: the last ones or, if the list is cut, the first ones, since later ones may be left out.
  private static func values(_ run: DispatchLog.StoreRun, _ isCut: Bool) -> [String: String?] {
    Dictionary(run.differences.map { ($0.path, $0.new) }) { isCut ? $0 : $1 }
  }
}

/// A place that is masked in a recorded difference, so that it can't be compared.
private struct MaskedPlace {
  private let path: String
  /// Whether the path ends inside of a key that is masked, so that any path that begins like it may be that place.
  private let isCut: Bool

  /// Returns nil if nothing is masked.
  init?(_ difference: DispatchLog.Difference) {
    let mask = ValueMasks.text
    if let place = difference.path.firstRange(of: mask) {
      (path, isCut) = (String(difference.path[..<place.lowerBound]), true)
    } else if [difference.old, difference.new].contains(where: { $0?.contains(mask) == true }) {
      (path, isCut) = (difference.path, false)
    } else {
      return nil
    }
  }

  /// Whether a path is this place or one in it, and not one whose name only begins like it.
  func contains(_ other: String) -> Bool {
    // The model as a whole.
    if path == "self" { return true }
    guard other.hasPrefix(path) else { return false }
    guard !isCut, let next = other.dropFirst(path.count).first else { return true }
    return ".[?".contains(next)
  }
}
