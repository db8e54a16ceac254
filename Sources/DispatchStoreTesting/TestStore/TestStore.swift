public import DispatchStore

/// Drives a store by actions, and asserts each change of its model and each action that followed.
///
///     let testStore = TestStore(reducer: CounterReducer())
///     await testStore.send(.increase) { $0.count = 1 }
///     await testStore.receive(Log.entry("increased"))
///     await testStore.finish()
///
/// A closure changes the model as it was into what it is expected to be. Every other action that the
/// dispatcher takes, from blocks, observers, middlewares, completions or elsewhere, has followed, and is
/// to be received, in the order in which they were dispatched. What was not asserted is a failure: when
/// the next action is sent, at `finish()`, or when the test store is released.
///
/// It awaits what the dispatcher tells, and gives up when that is idle: it knows no time. Changes are
/// asserted in commit order, up to the last commit of the action: where an action dispatches another
/// `.sync` and changes the model after that, its closure says what both did. Failures point to the caller's
/// line. Give it a dispatcher of its own: what others dispatch there has followed, too.
public final class TestStore<Model: Sendable, Action: ActionType>: Sendable {
  /// The store under test.
  public let store: Store<Model, Action>
  /// The dispatcher that it is registered with; for the stores that take part beside it.
  public let dispatcher: Dispatcher
  /// How actions are sent unless said otherwise.
  public let mode: Dispatcher.Mode
  /// What has been recorded so far, to be printed as a tree of causes.
  public let recorder = RecorderMiddleware()

  let watch: StoreWatch<Model, Action>
  let progress = Awaited(TestProgress())
  let reporter = FailureReporter()
  private let place: SourcePlace

  /// Makes one for a store, which is registered where it has no dispatcher yet.
  ///
  /// - Parameters:
  ///   - store: The store under test.
  ///   - dispatcher: The dispatcher to register it with; a new one where none is given.
  ///   - mode: How actions are sent unless said otherwise.
  ///   - fileID: Where failures of the release are shown, like the following.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  public init(
    _ store: Store<Model, Action>, dispatcher: Dispatcher? = nil, mode: Dispatcher.Mode = .serial,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) {
    let dispatcher = dispatcher ?? store.dispatcher ?? Dispatcher(name: "test")
    self.store = dispatcher.register(store: store)
    self.dispatcher = dispatcher
    self.mode = mode
    place = SourcePlace(fileID, filePath, line, column)
    watch = StoreWatch(self.store, recorder)
    progress.change { [watch] in $0.watches.append(watch) }
    dispatcher.register(middleware: recorder)
  }

  /// Makes one for a new store.
  ///
  /// - Parameters:
  ///   - model: The model that it starts with.
  ///   - reducer: What answers its actions; nothing else may use it afterwards.
  ///   - identifier: The name to register it under.
  ///   - dispatcher: The dispatcher to register it with; a new one where none is given.
  ///   - mode: How actions are sent unless said otherwise.
  ///   - fileID: Where failures of the release are shown, like the following.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  public convenience init(
    model: Model, reducer: sending Reducer<Model, Action>, identifier: String? = nil,
    dispatcher: Dispatcher? = nil, mode: Dispatcher.Mode = .serial,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) {
    self.init(
      Store(identifier: identifier ?? "\(Model.self)", model: model, reducer: reducer),
      dispatcher: dispatcher, mode: mode, fileID: fileID, filePath: filePath, line: line,
      column: column)
  }

  /// What has to be asserted; `.on` unless set.
  public var exhaustivity: Exhaustivity {
    get { progress.read(\.exhaustivity) }
    set { progress.change { $0.exhaustivity = newValue } }
  }

  /// The model as it is.
  public var model: Model { store.model }

  /// Called when nothing is under way in the dispatcher, before that counts as its being idle.
  ///
  /// Where actions follow from what the dispatcher does not know (an observer on a queue of its own, a
  /// task), this has to return once they have been dispatched.
  public var settle: (@Sendable () async -> Void)? {
    get { progress.read(\.settle) }
    set { progress.change { $0.settle = newValue } }
  }

  deinit {
    reportWhatIsLeft(at: place, isLast: true)
    dispatcher.unregister(middleware: recorder)
  }
}

extension TestStore where Model: ModelType {
  /// Makes one for a new store that starts with `Model()`.
  ///
  /// - Parameters:
  ///   - reducer: What answers its actions; nothing else may use it afterwards.
  ///   - identifier: The name to register it under.
  ///   - dispatcher: The dispatcher to register it with; a new one where none is given.
  ///   - mode: How actions are sent unless said otherwise.
  ///   - fileID: Where failures of the release are shown, like the following.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  public convenience init(
    reducer: sending Reducer<Model, Action>, identifier: String? = nil,
    dispatcher: Dispatcher? = nil, mode: Dispatcher.Mode = .serial,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) {
    self.init(
      model: Model(), reducer: reducer, identifier: identifier, dispatcher: dispatcher, mode: mode,
      fileID: fileID, filePath: filePath, line: line, column: column)
  }
}
