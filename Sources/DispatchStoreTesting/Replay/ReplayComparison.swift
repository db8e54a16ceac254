import DispatchStore

/// Compares a recorded log with that of its replay: the commits store by store, and how runs of stores have ended.
struct ReplayComparison {
  /// The run of a store, with its action.
  private struct Step {
    let run: DispatchLog.StoreRun
    let action: String
    let position: Int
  }

  private typealias Found = (position: Int, difference: ReplayDifference)

  private let recorded: DispatchLog
  private let replayed: DispatchLog
  private let sent: [UInt64: UInt64]

  /// - Parameter sent: The numbers of the dispatches that the replay has sent, by those that they have in the log.
  init(_ recorded: DispatchLog, _ replayed: DispatchLog, sent: [UInt64: UInt64]) {
    (self.recorded, self.replayed, self.sent) = (recorded, replayed, sent)
  }

  /// The difference that came first in the recorded log; nil if there is none.
  ///
  /// If an action differs in several stores, that of the least identifier.
  var first: ReplayDifference? {
    (differencesOfCommits + differencesOfOutcomes).min {
      ($0.position, $0.difference.store) < ($1.position, $1.difference.store)
    }?.difference
  }

  private static func action(of entry: DispatchLog.Entry) -> String {
    entry.actions.first?.text ?? "a change"
  }

  // MARK: Outcomes

  /// The runs that have ended in another way in dispatches that the replay has sent, also if they have committed nothing.
  private var differencesOfOutcomes: [Found] {
    let (actions, others) = (Self.actions(recorded), Self.actions(replayed))
    return sent.flatMap { id, other in
      zip(actions[id] ?? [], others[other] ?? []).flatMap { place, other in
        differences(of: place, recorded.entries[place], replayed.entries[other])
      }
    }
  }

  /// The places of the actions of each dispatch: of one, or of those of a list.
  private static func actions(_ log: DispatchLog) -> [UInt64: [Int]] {
    let lists = Set(log.entries.lazy.filter { $0.kind == .sequence }.compactMap(\.id))
    var places: [UInt64: [Int]] = [:]
    for (place, entry) in log.entries.enumerated() where entry.kind == .action {
      let isOfList = !entry.isOutsideBlocks && entry.parent.map(lists.contains) == true
      if let id = isOfList ? entry.parent : entry.id { places[id, default: []].append(place) }
    }
    return places
  }

  private func differences(
    of place: Int, _ entry: DispatchLog.Entry, _ other: DispatchLog.Entry
  ) -> [Found] {
    let others = Self.lastRuns(of: other)
    return Self.lastRuns(of: entry).values.compactMap { run -> Found? in
      // A log does not say who has cancelled a dispatch, nor which time limit it had.
      guard let other = others[run.store], other.outcome != run.outcome,
        ![.cancelled, .timedOut].contains(run.outcome)
      else { return nil }
      return (
        place,
        ReplayDifference(
          store: run.store, version: run.newVersion, action: Self.action(of: entry),
          path: "outcome", recorded: run.outcome.rawValue, replayed: other.outcome.rawValue)
      )
    }
  }

  /// The last run of each store that took part.
  private static func lastRuns(of entry: DispatchLog.Entry) -> [String: DispatchLog.StoreRun] {
    Dictionary(entry.stores.lazy.filter(\.tookPart).map { ($0.store, $0) }) { $1 }
  }

  // MARK: Commits

  /// By store: the first one.
  private var differencesOfCommits: [Found] {
    let (recorded, replayed) = (Self.steps(recorded), Self.steps(replayed))
    return Set(recorded.keys).union(replayed.keys).compactMap { store in
      Self.difference(recorded[store] ?? [], replayed[store] ?? [], in: store)
    }
  }

  private static func steps(_ log: DispatchLog) -> [String: [Step]] {
    var steps: [String: [Step]] = [:]
    for (position, entry) in log.entries.enumerated() {
      for run in entry.stores where run.newVersion > run.oldVersion {
        let step = Step(run: run, action: action(of: entry), position: position)
        steps[run.store, default: []].append(step)
      }
    }
    return steps.mapValues { $0.sorted { $0.run.oldVersion < $1.run.oldVersion } }
  }

  private static func difference(
    _ recorded: [Step], _ replayed: [Step], in store: String
  ) -> Found? {
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
