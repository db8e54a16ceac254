public import DispatchStore

/// Records the actions that the stores of one type have handled, with their models before and after.
///
///     let recorder = StateRecorder<Counter, CounterAction>()
///     dispatcher.register(recorder.hook)
///     dispatcher.dispatch(action: CounterAction.add(2), mode: .sync)
///     #expect(recorder.changes.map(\.newModel.count) == [2])
///
/// You can use it from any thread. Its wait ends by events of the dispatcher, never by a time.
public final class StateRecorder<Model: Sendable, Action: ActionType>: Sendable {
  private let recorded = Awaited<[Entry]>([])
  /// The hook to register, once.
  public let hook: Hook

  /// An action that a store has handled.
  ///
  /// If other actions change the store meanwhile, their commits between the two models are included. Then
  /// `newVersion - oldVersion` is more than `commitCount`.
  public struct Entry: Sendable {
    /// The store's identifier.
    public let storeIdentifier: String
    /// The action that ran, after replacement by middlewares.
    public let action: Action
    /// The model before the action's first commit.
    public let oldModel: Model
    /// The version of `oldModel`.
    public let oldVersion: UInt64
    /// The model after the action's last commit.
    public let newModel: Model
    /// The version of `newModel`.
    public let newVersion: UInt64
    /// The number of commits that the action has made.
    public let commitCount: Int
    /// The store run: its dispatch, outcome and times.
    public let run: StoreRunInfo
  }

  /// Makes a recorder that has recorded nothing.
  public init() {
    hook = Hook(
      StatesHook(of: { $0 is Store<Model, Action> }) { [recorded] states in
        let entry = Entry(
          storeIdentifier: states.storeIdentifier, action: states.action as! Action,
          oldModel: states.oldModel as! Model, oldVersion: states.oldVersion,
          newModel: states.newModel as! Model, newVersion: states.newVersion,
          commitCount: states.commitCount, run: states.run)
        recorded.change { $0.append(entry) }
      })
  }

  /// The recorded actions with their models, in the order in which the actions ended.
  public var entries: [Entry] { recorded.read { $0 } }

  /// The actions, in the order in which they ended.
  public var actions: [Action] { entries.map(\.action) }

  /// The entries of actions that have committed something.
  public var changes: [Entry] { entries.filter { $0.commitCount > 0 } }

  /// Returns all entries, once there are at least this many.
  ///
  /// Returns earlier if the task is cancelled, with a note in the test.
  ///
  /// - Parameters:
  ///   - count: The number of entries.
  ///   - fileID: The file to show the note in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  @discardableResult
  public func entries(
    atLeast count: Int,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) async -> [Entry] {
    if let found = await recorded.first({ $0.count >= count ? $0 : nil }) { return found }
    let present = recorded.read { $0 }
    FailureReporter().noteCancellation(
      "\(count) entries, of which \(present.count) are recorded",
      at: SourcePlace(fileID, filePath, line, column))
    return present
  }

  /// Removes all entries.
  public func removeAll() {
    let former = recorded.change { recorded in
      defer { recorded = [] }
      return recorded
    }
    withExtendedLifetime(former) {}
  }
}
