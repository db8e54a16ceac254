import DispatchStore

/// The events of a recorder, in order.
struct Journal: Sendable {
  private(set) var dispatches: [RecordedDispatch] = []
  /// The commits of each watched store.
  private var commits: [ObjectIdentifier: StoreCommits] = [:]
  /// The number of dispatches that have begun and not ended.
  private(set) var underWay = 0
  /// The number of actions that have ended, by type.
  private var ended: [ObjectIdentifier: EndedKind] = [:]
  private var indices: [DispatchID: Int] = [:]
  /// The results of dispatches that the dispatcher refused, of which no hook tells, or that ended at a deadline, before
  /// their stores.
  private var earlyResults: [DispatchID: DispatchResult] = [:]
  private var events = 0
  /// The number of notices of a dispatcher about what has begun by itself.
  private(set) var notices = 0

  private struct EndedKind: Sendable {
    let type: any ActionType.Type
    var count = 0
  }

  var isIdle: Bool { underWay == 0 }

  subscript(id: DispatchID) -> RecordedDispatch? { indices[id].map { dispatches[$0] } }

  /// Returns the result of a dispatch that has ended, also of one that was refused, or whose stores go on.
  func result(of id: DispatchID) -> DispatchResult? { self[id]?.result ?? earlyResults[id] }

  /// Whether a dispatch has ended, and none of its stores goes on.
  func isOver(_ id: DispatchID) -> Bool { self[id]?.hasEnded ?? (earlyResults[id] != nil) }

  /// Returns the number of ended actions of a type or a subclass.
  ///
  /// Linear in the number of recorded types.
  func endedCount<Action: ActionType>(of kind: Action.Type) -> Int {
    ended.values.lazy.filter { $0.type is Action.Type }.reduce(0) { $0 + $1.count }
  }

  /// Returns the commits of a watched store.
  func commits(of store: ObjectIdentifier) -> StoreCommits { commits[store] ?? StoreCommits() }

  /// Removes the models of a watched store up to a version, which the caller releases.
  mutating func takeModels(of store: ObjectIdentifier, upTo version: UInt64) -> [any Sendable] {
    commits[store]?.takeModels(upTo: version) ?? []
  }

  mutating func began(_ dispatch: DispatchInfo) {
    underWay += 1
    indices[dispatch.id] = dispatches.count
    dispatches.append(
      RecordedDispatch(
        number: dispatches.count + 1, id: dispatch.id,
        cause: dispatch.parent.flatMap { indices[$0] }.map { $0 + 1 },
        action: dispatch.isSequence ? nil : dispatch.actions.first.map(HandledAction.unwrapped),
        mode: dispatch.mode, callSite: dispatch.callSite))
  }

  mutating func ended(_ id: DispatchID, _ result: DispatchResult) {
    guard let index = indices[id] else { return }
    underWay -= 1
    dispatches[index].result = result
    dispatches[index].hasEnded = true
    guard let action = dispatches[index].action else { return }
    let type = type(of: action)
    ended[ObjectIdentifier(type), default: EndedKind(type: type)].count += 1
  }

  /// Records the result of a dispatch that was refused or has timed out, unless a hook has told it.
  mutating func endedEarly(_ id: DispatchID, _ result: DispatchResult) {
    if self[id]?.result == nil { earlyResults[id] = result }
  }

  mutating func noticed() { notices += 1 }

  /// Records that a store is about to run an action.
  mutating func willRun(_ context: DispatchInfo, _ action: AnyAction, in store: AnyStore) {
    // A dispatch made before the recorder was registered is not recorded.
    guard let index = indices[context.id] else { return }
    dispatches[index].storeRuns.append(
      RecordedDispatch.StoreRun(
        storeIdentifier: store.identifier, action: HandledAction.unwrapped(action),
        store: ObjectIdentifier(store)))
  }

  mutating func didRun(_ context: StoreRunInfo, _ action: AnyAction, in store: AnyStore) {
    guard let index = indices[context.dispatch.id],
      let run = dispatches[index].storeRuns.lastIndex(where: {
        $0.outcome == nil && $0.store == ObjectIdentifier(store)
      })
    else { return }
    events += 1
    dispatches[index].storeRuns[run].action = HandledAction.unwrapped(action)
    dispatches[index].storeRuns[run].outcome = context.outcome
    dispatches[index].storeRuns[run].endedAt = events
  }

  /// Records a commit; called in its store's exclusive section, so that each store's come in the order of versions.
  mutating func committed(
    _ store: ObjectIdentifier, version: UInt64, _ model: any Sendable, by dispatchID: DispatchID?
  ) {
    events += 1
    commits[store, default: StoreCommits()].append(
      RecordedCommit(version: version, model: model, dispatchID: dispatchID, at: events))
  }
}
