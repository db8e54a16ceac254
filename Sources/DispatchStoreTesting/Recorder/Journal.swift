import DispatchStore

/// The events of a recorder, in order.
struct Journal: Sendable {
  private(set) var transactions: [RecordedTransaction] = []
  private(set) var commits: [RecordedCommit] = []
  /// The number of dispatches that have begun and not ended.
  private(set) var underWay = 0
  /// The number of actions that have ended, by type.
  private var ended: [ObjectIdentifier: EndedKind] = [:]
  private var indices: [DispatchID: Int] = [:]
  private var events = 0

  private struct EndedKind: Sendable {
    let type: any ActionType.Type
    var count = 0
  }

  var isIdle: Bool { underWay == 0 }

  subscript(id: DispatchID) -> RecordedTransaction? { indices[id].map { transactions[$0] } }

  /// Returns the number of ended actions of a type or a subclass.
  ///
  /// Linear in the number of recorded types.
  func endedCount<Action: ActionType>(of kind: Action.Type) -> Int {
    ended.values.lazy.filter { $0.type is Action.Type }.reduce(0) { $0 + $1.count }
  }

  /// Returns the last version of a watched store.
  func version(of store: ObjectIdentifier) -> UInt64 {
    commits.last { $0.store == store }?.version ?? 0
  }

  /// Returns the commits of a watched store after a version, in the order of versions.
  func commits(of store: ObjectIdentifier, after version: UInt64) -> [RecordedCommit] {
    let start = commits.lastIndex { $0.store == store && $0.version <= version }
    return commits[(start.map { $0 + 1 } ?? 0)...].filter { $0.store == store }
  }

  mutating func began(_ dispatch: DispatchInfo) {
    underWay += 1
    add(
      dispatch.id, cause: dispatch.parent, dispatch.isSequence ? nil : dispatch.actions.first,
      dispatch.mode, dispatch.callSite)
  }

  private mutating func add(
    _ id: DispatchID, cause: DispatchID?, _ action: AnyAction?, _ mode: Dispatcher.Mode,
    _ callSite: CallSite
  ) {
    indices[id] = transactions.count
    transactions.append(
      RecordedTransaction(
        number: transactions.count + 1, id: id, cause: cause.flatMap { indices[$0] }.map { $0 + 1 },
        action: action, mode: mode, callSite: callSite))
  }

  mutating func ended(_ id: DispatchID, _ result: DispatchResult) {
    guard let index = indices[id] else { return }
    underWay -= 1
    transactions[index].result = result
    end(index)
  }

  /// Records that a store is about to run an action.
  ///
  /// A sequence's actions are recorded first here.
  mutating func willRun(_ context: DispatchInfo, _ action: AnyAction, in store: AnyStore) {
    if indices[context.id] == nil {
      // A dispatch made before the recorder was registered is not recorded.
      guard context.parent.map({ indices[$0] != nil }) == true else { return }
      add(context.id, cause: context.parent, action, context.mode, context.callSite)
    }
    transactions[indices[context.id]!].storeRuns.append(
      RecordedTransaction.StoreRun(
        storeIdentifier: store.identifier, action: action, store: ObjectIdentifier(store)))
  }

  mutating func didRun(_ context: StoreRunInfo, _ action: AnyAction, in store: AnyStore) {
    guard let index = indices[context.dispatch.id],
      let run = transactions[index].storeRuns.firstIndex(where: {
        $0.outcome == nil && $0.store == ObjectIdentifier(store)
      })
    else { return }
    events += 1
    transactions[index].storeRuns[run].action = action
    transactions[index].storeRuns[run].outcome = context.outcome
    transactions[index].storeRuns[run].endedAt = events
    let isStep = transactions[index].cause.map { transactions[$0 - 1].action == nil } ?? false
    if isStep, transactions[index].storeRuns.allSatisfy({ $0.outcome != nil }) {
      end(index)
    }
  }

  private mutating func end(_ index: Int) {
    transactions[index].hasEnded = true
    guard let action = transactions[index].action else { return }
    let type = type(of: action)
    ended[ObjectIdentifier(type), default: EndedKind(type: type)].count += 1
  }

  /// Records a commit, in the order of versions.
  ///
  /// A notified commit replaces one that was found without a notice.
  mutating func committed(
    _ store: ObjectIdentifier, version: UInt64, _ model: any Sendable,
    by dispatchID: DispatchID?, isNotified: Bool
  ) {
    events += 1
    let commit = RecordedCommit(
      store: store, version: version, model: model, dispatchID: dispatchID, at: events)
    let earlier = commits.lastIndex { $0.store == store && $0.version <= version }
    if let earlier, commits[earlier].version == version {
      if isNotified { commits[earlier] = commit }
    } else {
      commits.insert(commit, at: earlier.map { $0 + 1 } ?? 0)
    }
  }
}
