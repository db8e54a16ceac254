import DispatchStore

/// What a recorder has seen, in the order in which it came.
struct Journal: Sendable {
  private(set) var transactions: [RecordedTransaction] = []
  private(set) var commits: [RecordedCommit] = []
  /// Dispatches that have begun and not ended.
  private(set) var underWay = 0
  /// By type of action, how many have ended.
  private var ended: [ObjectIdentifier: EndedKind] = [:]
  private var places: [TransactionID: Int] = [:]
  private var events = 0

  private struct EndedKind: Sendable {
    let type: any ActionType.Type
    var count = 0
  }

  var isIdle: Bool { underWay == 0 }

  subscript(id: TransactionID) -> RecordedTransaction? { places[id].map { transactions[$0] } }

  /// How many actions of a type, or of a subclass, have ended; linear in the types that there are.
  func endedCount<Action: ActionType>(of kind: Action.Type) -> Int {
    ended.values.lazy.filter { $0.type is Action.Type }.reduce(0) { $0 + $1.count }
  }

  /// The last version of a watched store.
  func version(of store: ObjectIdentifier) -> UInt64 {
    commits.last { $0.store == store }?.version ?? 0
  }

  /// The commits of a watched store after a version, in the order of versions.
  func commits(of store: ObjectIdentifier, after version: UInt64) -> [RecordedCommit] {
    let start = commits.lastIndex { $0.store == store && $0.version <= version }
    return commits[(start.map { $0 + 1 } ?? 0)...].filter { $0.store == store }
  }

  mutating func began(_ dispatch: WitnessedDispatch) {
    underWay += 1
    add(
      dispatch.id, cause: dispatch.parent, dispatch.isSequence ? nil : dispatch.actions.first,
      dispatch.mode, dispatch.callSite)
  }

  private mutating func add(
    _ id: TransactionID, cause: TransactionID?, _ action: AnyAction?, _ mode: Dispatcher.Mode,
    _ callSite: CallSite
  ) {
    places[id] = transactions.count
    transactions.append(
      RecordedTransaction(
        number: transactions.count + 1, id: id, cause: cause.flatMap { places[$0] }.map { $0 + 1 },
        action: action, mode: mode, callSite: callSite))
  }

  mutating func ended(_ id: TransactionID, _ result: DispatchResult) {
    guard let place = places[id] else { return }
    underWay -= 1
    transactions[place].result = result
    end(place)
  }

  /// A store is about to see an action; of several, each is met here first.
  mutating func willRun(_ told: MiddlewareContext, _ action: AnyAction, in store: AnyStore) {
    if places[told.id] == nil {
      // One that was dispatched before the recorder came is none of its own.
      guard told.parent.map({ places[$0] != nil }) == true else { return }
      add(told.id, cause: told.parent, action, told.mode, told.callSite)
    }
    transactions[places[told.id]!].parts.append(
      RecordedTransaction.StoreRun(
        storeIdentifier: store.identifier, action: action, store: ObjectIdentifier(store)))
  }

  mutating func didRun(_ told: MiddlewareContext, _ action: AnyAction, in store: AnyStore) {
    guard let place = places[told.id],
      let part = transactions[place].parts.firstIndex(where: {
        $0.outcome == nil && $0.store == ObjectIdentifier(store)
      })
    else { return }
    events += 1
    transactions[place].parts[part].action = action
    transactions[place].parts[part].outcome = told.outcome
    transactions[place].parts[part].endedAt = events
    let isStep = transactions[place].cause.map { transactions[$0 - 1].action == nil } ?? false
    if isStep, transactions[place].parts.allSatisfy({ $0.outcome != nil }) {
      end(place)
    }
  }

  private mutating func end(_ place: Int) {
    transactions[place].hasEnded = true
    guard let action = transactions[place].action else { return }
    let type = type(of: action)
    ended[ObjectIdentifier(type), default: EndedKind(type: type)].count += 1
  }

  /// Notes a commit, in the order of versions; one that was only noticed gives way to one that was told.
  mutating func committed(
    _ store: ObjectIdentifier, version: UInt64, _ model: any Sendable,
    by transaction: TransactionID?, isTold: Bool
  ) {
    events += 1
    let commit = RecordedCommit(
      store: store, version: version, model: model, transaction: transaction, at: events)
    let earlier = commits.lastIndex { $0.store == store && $0.version <= version }
    if let earlier, commits[earlier].version == version {
      if isTold { commits[earlier] = commit }
    } else {
      commits.insert(commit, at: earlier.map { $0 + 1 } ?? 0)
    }
  }
}
