public import DispatchStore

/// Records what a dispatcher is asked for and how it ends, with causes; all of it can be awaited.
///
/// Register it with `register(middleware:)`, first to see actions as they are dispatched. It records what
/// is dispatched from then on, also actions to which no store responds. May be used from any thread; keeps
/// all that it has seen. What it awaits is told by the dispatcher: it knows no time.
public final class RecorderMiddleware: DispatchWitness {
  let journal = Awaited(Journal())
  private let watched = Awaited<[ObjectIdentifier: @Sendable (TransactionID) -> Void]>([:])

  /// Makes one that has seen nothing.
  public init() {}

  /// All that was dispatched so far, in the order in which it was.
  public var transactions: [RecordedTransaction] { journal.read(\.transactions) }

  /// Whether all that was dispatched has ended, completions included.
  public var isIdle: Bool { journal.read(\.isIdle) }

  /// How many actions of a kind were dispatched so far.
  public func count<Action: ActionType>(of kind: Action.Type = Action.self) -> Int {
    transactions.count { $0.action is Action }
  }

  /// The actions of a kind that were dispatched so far, in the order in which they were.
  public func actions<Action: ActionType>(of kind: Action.Type = Action.self) -> [Action] {
    transactions.compactMap { $0.action as? Action }
  }

  /// Returns once this many actions of a kind have ended; earlier where the task is cancelled.
  ///
  /// - Returns: How many have ended then.
  @discardableResult
  public func count<Action: ActionType>(
    of kind: Action.Type = Action.self, atLeast minimum: Int
  ) async -> Int {
    let reached = await journal.first { journal in
      let count = journal.endedCount(of: kind)
      return count >= minimum ? count : nil
    }
    return reached ?? journal.read { $0.endedCount(of: kind) }
  }

  /// Returns once all that was dispatched has ended, completions and what they dispatched included.
  ///
  /// What tasks, timers or observers on queues of their own dispatch later is not known yet, and not
  /// awaited. Returns earlier where the task is cancelled.
  public func idle() async {
    _ = await journal.first { $0.isIdle ? true : nil }
  }

  // MARK: Middleware

  /// Records that a store is about to see an action, and lets it pass.
  public func willDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    journal.change { $0.willRun(transaction, action, in: store) }
    return .pass
  }

  /// Records how a store's part ended.
  public func didDispatch(transaction: MiddlewareContext, action: AnyAction, in store: AnyStore) {
    watched.read { $0[ObjectIdentifier(store)] }?(transaction.id)
    journal.change { $0.didRun(transaction, action, in: store) }
  }

  /// Records a store's commits too, as long as the token lives.
  func watch<Model, Action>(_ store: Store<Model, Action>) -> ObserverToken {
    let identity = ObjectIdentifier(store)
    watched.change { watched in
      watched[identity] = { [weak self, weak store] transaction in
        guard let self, let store else { return }
        noticeCommit(of: store, by: transaction)
      }
    }
    return store.observe(initial: true) { [journal] change in
      journal.change {
        $0.committed(
          identity, version: change.version, change.model, by: change.transaction, isTold: true)
      }
    }
  }

  /// Records what a store committed without telling, where it is clear who did that.
  private func noticeCommit<Model, Action>(
    of store: Store<Model, Action>, by transaction: TransactionID
  ) {
    let identity = ObjectIdentifier(store)
    let version = store.version
    let isNews = journal.read { $0.underWay == 1 && $0.version(of: identity) < version }
    guard isNews else { return }
    let model = store.model
    guard store.version == version else { return }
    journal.change {
      $0.committed(identity, version: version, model, by: transaction, isTold: false)
    }
  }

  package func dispatchBegan(_ dispatch: WitnessedDispatch) {
    journal.change { $0.began(dispatch) }
  }

  package func dispatchEnded(_ id: TransactionID, _ result: DispatchResult) {
    journal.change { $0.ended(id, result) }
  }
}

extension RecorderMiddleware: CustomStringConvertible {
  /// A tree of causes: a line for each action, below the one that caused it.
  ///
  ///     1 .deposit(10), serial → account finished
  ///       2 .log("deposit"), async → log finished
  ///
  /// In the order in which they were dispatched, by which they are numbered; no raw identifiers, no times.
  public var description: String {
    let transactions = transactions
    let children = Dictionary(grouping: transactions) { $0.cause ?? 0 }
    var lines: [String] = []
    // A stack of its own: causes may be as deep as they like.
    var pending = (children[0] ?? []).reversed().map { (depth: 0, transaction: $0) }
    while let (depth, transaction) = pending.popLast() {
      lines.append(String(repeating: "  ", count: depth) + transaction.description)
      for child in (children[transaction.number] ?? []).reversed() {
        pending.append((depth + 1, child))
      }
    }
    return lines.joined(separator: "\n")
  }
}
