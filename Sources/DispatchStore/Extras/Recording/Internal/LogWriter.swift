/// Writes what a recorder has noted as text.
struct LogWriter {
  /// The most differences of a store's run.
  private static let differenceLimit = 100
  /// The longest text of a value, in scalars.
  private static let textLimit = 4_000

  let masks: ValueMasks
  let coder: ActionCoder?
  /// The time at which the log begins, by the dispatcher's clock, in nanoseconds.
  let start: Int64

  func entry(_ entry: RecorderState.Entry) -> DispatchLog.Entry {
    let (dispatch, times) = (entry.dispatch, entry.times)
    let (mode, lanes) = dispatch?.mode.names ?? ("", [])
    return DispatchLog.Entry(
      kind: dispatch.map { $0.isSequence ? .sequence : .action } ?? .change,
      id: dispatch?.id.number, parent: dispatch?.parent?.number,
      isOutsideBlocks: entry.isOutsideBlocks, actions: dispatch?.actions.map(action) ?? [],
      mode: mode, lanes: lanes,
      began: .nanoseconds(times.ended - start - times.queued - times.duration),
      timeQueued: .nanoseconds(times.queued), duration: .nanoseconds(times.duration),
      callSite: dispatch.map { "\($0.callSite)" } ?? "",
      error: entry.error.map { Self.cut("\($0)") },
      outcome: entry.error.map { Self.outcome(of: $0) },
      stores: stores(entry))
  }

  private static func outcome(of error: any Error) -> DispatchLog.StoreRun.Outcome {
    if error is CancellationError { return .cancelled }
    let code = (error as? DispatchError)?.code
    return code == .timedOut ? .timedOut : code == .vetoed ? .vetoed : .failed
  }

  private func action(_ action: any ActionType) -> DispatchLog.Action {
    let action = HandledAction.unwrapped(action)
    return DispatchLog.Action(
      type: TypeName.of(type(of: action)), text: text(action), encoded: encoded(action))
  }

  private func encoded(_ action: any ActionType) -> PlainValue? {
    guard action is any CodableAction, !masks.concern(action) else { return nil }
    var encoder = PlainEncoder()
    encoder.userInfo[.actionCoder] = coder
    return try? encoder.encode(EncodedAction(action))
  }

  private func text(_ value: Any) -> String {
    var writer = DiffWriter(
      readsObjects: false, masks: masks, prefersDescriptions: true, lengthLimit: Self.textLimit)
    return Self.cut(writer.line(value) ?? "")
  }

  private static func cut(_ text: String) -> String {
    text.cut(after: textLimit)
  }

  // MARK: Stores

  /// The runs of an entry, and commits to stores that took no part, such as those of a block to another store.
  private func stores(_ entry: RecorderState.Entry) -> [DispatchLog.StoreRun] {
    var left = Dictionary(grouping: entry.commits, by: \.identifier)
    let runs = Array(entry.runs)
    let lastRuns = Dictionary(runs.indices.map { (runs[$0].storeIdentifier, $0) }) { $1 }
    var stores: [DispatchLog.StoreRun] = []
    for (index, run) in runs.enumerated() {
      let commits = left[run.storeIdentifier] ?? []
      // A store that is retried has several runs. Commits after its last run are that one's, too.
      let end = lastRuns[run.storeIdentifier] == index ? .max : run.version
      left[run.storeIdentifier] = end == .max ? nil : commits.filter { $0.versions.new > end }
      let own = commits.filter { $0.versions.new <= end }
      stores.append(store(run.storeIdentifier, run, own, end, entry))
    }
    for (identifier, commits) in left.sorted(by: { $0.key < $1.key }) {
      stores.append(store(identifier, nil, commits, .max, entry))
    }
    return stores
  }

  /// - Parameters:
  ///   - run: Nil for a store that took no part.
  ///   - end: The last version of the run; the greatest number for the last run of a store, which gets the commits that
  ///     were not kept.
  private func store(
    _ identifier: String, _ run: RecorderState.Run?, _ commits: [TapedCommit], _ end: UInt64,
    _ entry: RecorderState.Entry
  ) -> DispatchLog.StoreRun {
    let (outcome, detail) = outcome(run?.outcome ?? .finished)
    let unread = end == .max ? entry.omitted[identifier] : nil
    var omitted = unread?.count ?? 0
    if end == .max { omitted += entry.omittedRuns[identifier] ?? 0 }
    let found = commits.flatMap { self.differences(of: $0, &omitted) }
    omitted += max(0, found.count - Self.differenceLimit)
    let differences = found.prefix(Self.differenceLimit).map {
      DispatchLog.Difference(path: $0.keyPath, old: $0.old.map(text), new: $0.new.map(text))
    }
    var versions = commits.map { $0.versions }
    if let unread { versions.append(unread.versions) }
    let version = run?.version ?? 0
    // A store that took no part was changed at some time while the dispatch ran.
    let (timeQueued, duration) =
      run.map { ($0.timeQueued, $0.duration) } ?? (entry.times.queued, entry.times.duration)
    return DispatchLog.StoreRun(
      store: identifier, outcome: outcome, detail: detail, timeQueued: .nanoseconds(timeQueued),
      duration: .nanoseconds(duration), oldVersion: versions.map { $0.old }.min() ?? version,
      newVersion: versions.map { $0.new }.max() ?? version, differences: differences,
      omittedCount: omitted,
      replacement: run?.replacement.map { text(HandledAction.unwrapped($0)) },
      tookPart: run != nil)
  }

  private func outcome(_ outcome: StoreOutcome) -> (DispatchLog.StoreRun.Outcome, String?) {
    switch outcome {
    case .finished, .notInvolved: (.finished, nil)
    case .failed(let error):
      ((error as? DispatchError)?.code == .timedOut ? .timedOut : .failed, Self.cut("\(error)"))
    case .cancelled: (.cancelled, nil)
    case .vetoed(let veto): (.vetoed, Self.cut("\(veto)"))
    }
  }

  /// Returns the differences, and counts the changed elements that were not compared.
  private func differences(of commit: TapedCommit, _ omitted: inout Int) -> [ModelDifference] {
    let (old, new) = (commit.rests.old.model, commit.rests.new.model)
    var comparison = ModelComparison(masks: masks, cutsKeys: true)
    comparison.compare(old, new)
    return comparison.differences
      + commit.partChanges.flatMap { differences(of: $0, in: old, &omitted) }
  }

  private func differences(
    of part: any PartChange, in model: Any, _ omitted: inout Int
  ) -> [ModelDifference] {
    let names = part.name.split(separator: ".").dropFirst().map(String.init)
    let name = names.joined(separator: ".")
    if isMasked(names, in: model) {
      let hidden = ValueMasks.Hidden()
      return [ModelDifference(keyPath: name, old: hidden, new: hidden)]
    }
    guard let elements = part.elements else {
      return [ModelDifference(keyPath: name, old: "another dictionary", new: "another dictionary")]
    }
    omitted += max(0, elements.count - Self.differenceLimit)
    return elements.prefix(Self.differenceLimit).flatMap { element in
      var comparison = ModelComparison(masks: masks, at: name, key: element.key, cutsKeys: true)
      comparison.compareElements(element.old, element.new)
      return comparison.differences
    }
  }
}

extension LogWriter {
  /// Whether one of the properties on the way to a part is not written, or is not found.
  ///
  /// A computed property has no value in the mirror, so it may lead to one that is not written.
  fileprivate func isMasked(_ names: [String], in model: Any) -> Bool {
    if masks.isEmpty { return false }
    var value = model
    // The path of the model itself has the name "self".
    for name in names where name != "self" {
      let name = String(name.prefix { $0 != "?" && $0 != "!" })
      if masks.hide(value) || masks.hide(name, of: type(of: value)) { return true }
      let children = Mirror(reflecting: value).children
      guard let child = children.first(where: { $0.label == name }) else { return true }
      value = DiffShape.unwrap(child.value)
    }
    return masks.hide(value)
  }
}

extension Dispatcher.Mode {
  /// The name without the lane's, and the names of the lanes.
  fileprivate var names: (mode: String, lanes: [String]) {
    switch kind {
    case .async: ("async", [])
    case .sync: ("sync", [])
    case .serial: ("serial", ["serial"])
    case .mainThread: ("mainThread", ["mainThread"])
    case .lane(let key): ("serial", [key.description.cutAsKey])
    case .lanes(let keys): ("serial", keys.all.map(\.description.cutAsKey))
    }
  }
}
