public import DispatchStore

/// Records the dispatches of a dispatcher, with their causes and ends, which a test can await.
///
/// Register it with `register(middleware:)`, before other middlewares to record actions as they are dispatched. It
/// records and keeps all later dispatches, including those to which no store responds. You can use it from any
/// thread. Its waits end by events of the dispatcher, never by a time.
public final class RecorderMiddleware: Middleware {
  let journal = Awaited(Journal())

  /// Makes a recorder that has recorded nothing.
  public init() {}

  /// All dispatches so far, in the order in which they were made.
  public var dispatches: [RecordedDispatch] { journal.read(\.dispatches) }

  /// Whether all dispatches have ended, including their completions.
  public var isIdle: Bool { journal.read(\.isIdle) }

  /// Returns the number of actions of a kind that were dispatched so far.
  public func count<Action: ActionType>(of kind: Action.Type = Action.self) -> Int {
    dispatches.count { $0.action is Action }
  }

  /// Returns the actions of a kind that were dispatched so far, in order.
  public func actions<Action: ActionType>(of kind: Action.Type = Action.self) -> [Action] {
    dispatches.compactMap { $0.action as? Action }
  }

  /// Returns once this many actions of a kind have ended.
  ///
  /// Returns earlier if the task is cancelled, with a note in the test.
  ///
  /// - Parameters:
  ///   - kind: The type of the actions.
  ///   - minimum: The number of actions.
  ///   - fileID: The file to show the note in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  /// - Returns: The number of actions that have ended.
  @discardableResult
  public func endedCount<Action: ActionType>(
    of kind: Action.Type = Action.self, atLeast minimum: Int,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) async -> Int {
    let found = await journal.first { journal in
      let count = journal.endedCount(of: kind)
      return count >= minimum ? count : nil
    }
    if let found { return found }
    let count = journal.read { $0.endedCount(of: kind) }
    FailureReporter().noteCancellation(
      "\(minimum) actions of type \(kind) to end, of which \(count) have",
      at: SourcePlace(fileID, filePath, line, column), underWay: underWay)
    return count
  }

  /// The dispatches that have not ended, in words.
  var underWay: [String] { dispatches.filter { !$0.hasEnded }.map(\.description) }

  /// Returns once all dispatches have ended, including their completions and the dispatches made there.
  ///
  /// It does not await dispatches that tasks, timers, observers on queues or the end of a group's step make later. It
  /// returns earlier if the task is cancelled, with a note in the test.
  ///
  /// - Parameters:
  ///   - fileID: The file to show the note in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  public func idle(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) async {
    guard await journal.first({ $0.isIdle ? true : nil }) == nil else { return }
    FailureReporter().noteCancellation(
      "all dispatches to end", at: SourcePlace(fileID, filePath, line, column), underWay: underWay)
  }

  // MARK: Middleware

  /// Records that a store is about to run an action, and passes the action.
  public func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    journal.change { $0.willRun(transaction, action, in: store) }
    return .pass
  }

  /// Records the end of a store's run of an action.
  public func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    journal.change { $0.didRun(transaction, action, in: store) }
  }

  /// Records a store's commits as well, also those of which no observer is notified, until the token is released.
  func watch<Model, Action>(_ store: Store<Model, Action>) -> ObserverToken {
    let identity = ObjectIdentifier(store)
    return store.watchCommits { [journal] model, version, dispatchID in
      // Tasks resume after the store's exclusive section.
      journal.changeQuietly { $0.committed(identity, version: version, model, by: dispatchID) }
    } afterSection: { [journal] in
      journal.change { _ in }
    }
  }

  /// Records that a dispatch was made.
  public func dispatchWillBegin(_ dispatch: DispatchInfo) {
    journal.change { $0.began(dispatch) }
  }

  /// Records the end of a dispatch, once its completion has returned.
  public func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) {
    // First, so that nobody sees the dispatch ended, and its effects not yet.
    dispatch.noteFollowers()
    dispatch.whenCompleted { [journal, id = dispatch.id] in
      journal.change { $0.ended(id, result) }
    }
  }
}

extension RecorderMiddleware {
  /// Returns once nothing is under way at a dispatcher that the recorder follows, nor about to begin by itself.
  ///
  /// Returns earlier if the task is cancelled.
  ///
  /// - Parameter awaitsEffects: Whether runs of effects count.
  nonisolated(nonsending) func idle(
    at dispatcher: Dispatcher, awaitsEffects: Bool = true
  ) async {
    repeat {
      _ = await journal.first { $0.isIdle ? true : nil }
      // A dispatch that was due may have begun in between.
    } while await hasGoneOn(dispatcher, awaitsEffects: awaitsEffects)
      || !isIdle && !Task.isCancelled
  }

  /// Awaits what goes on by itself at a dispatcher while no dispatch is under way.
  ///
  /// Returns early if a dispatch has begun meanwhile. Returns false if there is nothing to await, or the task is
  /// cancelled.
  ///
  /// - Parameters:
  ///   - awaitsEffects: Whether runs of effects count.
  ///   - hasNews: Whether there is nothing to await any longer: a dispatch may have begun and ended before this looked.
  nonisolated(nonsending) func hasGoneOn(
    _ dispatcher: Dispatcher, awaitsEffects: Bool,
    or hasNews: @escaping @Sendable (Journal) -> Bool = { _ in false }
  ) async -> Bool {
    let journal = journal
    let seen = journal.read(\.notices)
    let notice: @Sendable () -> Void = { journal.change { $0.noticed() } }
    guard dispatcher.whenGoneOn(awaitsEffects: awaitsEffects, notice) else { return false }
    _ = await journal.first { $0.notices > seen || !$0.isIdle || hasNews($0) ? true : nil }
    return !Task.isCancelled
  }
}

extension RecorderMiddleware: CustomStringConvertible {
  /// A tree of causes, with a line for each action, below the action that caused it.
  ///
  ///     1 .deposit(10), serial → account finished
  ///       2 .log("deposit"), async → log finished
  ///
  /// Lines are numbered in dispatch order. They contain no raw identifiers and no times.
  public var description: String {
    let dispatches = dispatches
    let children = Dictionary(grouping: dispatches) { $0.cause ?? 0 }
    var lines: [String] = []
    // An array as stack, because recursion could overflow if causes nest deeply.
    var pending = (children[0] ?? []).reversed().map { (depth: 0, dispatch: $0) }
    while let (depth, dispatch) = pending.popLast() {
      lines.append(String(repeating: "  ", count: depth) + dispatch.description)
      for child in (children[dispatch.number] ?? []).reversed() {
        pending.append((depth + 1, child))
      }
    }
    return lines.joined(separator: "\n")
  }
}
