public import DispatchStore

/// Sends actions to a store, and asserts each change of its model and each action that followed.
///
///     let testStore = TestStore(reducer: CounterReducer())
///     await testStore.send(.increase) { $0.count = 1 }
///     await testStore.receive(Log.entry("increased"))
///     await testStore.finish()
///
/// A closure changes the previous model into the expected one. Every other action that is dispatched has followed:
/// from blocks, observers, middlewares, completions or elsewhere. The test has to receive it, in the order of the
/// dispatches. The test store reports whatever was not asserted when the test sends the next action, at `finish()`,
/// and at its release. `finish()` also reports what has not ended, or was given up.
///
/// The test store waits for events of the dispatcher, never for a time. It gives up when no dispatch and no run of an
/// effect is under way. Runs that sleep on a `VirtualClock`, and long-lived ones, do not count.
/// Failures point to the caller's line.
///
/// The test store sets `tracksInFlight` of the dispatcher, to say what dispatches wait for if the test is cancelled.
///
/// Changes are asserted in commit order, up to the last commit of the action. If an action dispatches another one
/// `.sync` and changes the model after that, its closure makes the changes of both.
///
/// Give each test store a separate dispatcher, because all actions dispatched there follow.
public final class TestStore<Model: Sendable, Action: ActionType>: Sendable {
  /// The store under test.
  public let store: Store<Model, Action>
  /// The dispatcher with which the store is registered.
  ///
  /// Register further stores with it.
  public let dispatcher: Dispatcher
  /// The mode of actions that are sent without one.
  public let mode: Dispatcher.Mode
  /// The recorder of all dispatches, which prints them as a tree of causes.
  public let recorder = RecorderMiddleware()

  let watch: StoreWatch<Model, Action>
  let progress = Awaited(TestProgress())
  let reporter = FailureReporter()
  private let place: SourcePlace

  /// Makes a test store for a store, and registers the store if it has no dispatcher yet.
  ///
  /// - Parameters:
  ///   - store: The store under test.
  ///   - dispatcher: The dispatcher to register the store with. A new one if nil.
  ///   - mode: The mode of actions that are sent without one.
  ///   - fileID: The file to show failures in that are reported at the release.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  public init(
    _ store: Store<Model, Action>, dispatcher: Dispatcher? = nil, mode: Dispatcher.Mode = .serial,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) {
    let dispatcher = dispatcher ?? store.dispatcher ?? Dispatcher(name: "test")
    // A registered store is not registered again, so that it keeps its `waitFor`.
    self.store =
      store.dispatcher === dispatcher ? store : dispatcher.register(store: store)
    self.dispatcher = dispatcher
    self.mode = mode
    place = SourcePlace(fileID, filePath, line, column)
    watch = StoreWatch(self.store, recorder)
    progress.change { [watch] in $0.watches.append(watch) }
    dispatcher.followContinuations()
    dispatcher.tracksInFlight = true
    // First, so that it counts a dispatch until all other hooks have run.
    dispatcher.register(first: recorder)
  }

  /// Makes a test store for a new store.
  ///
  /// - Parameters:
  ///   - model: The model that the store starts with.
  ///   - reducer: The store's reducer. Nothing else may use it afterwards.
  ///   - identifier: The name to register the store under.
  ///   - dispatcher: The dispatcher to register the store with. A new one if nil.
  ///   - mode: The mode of actions that are sent without one.
  ///   - fileID: The file to show failures in that are reported at the release.
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

  /// Whether the test has to assert everything.
  ///
  /// `.on` unless set.
  public var exhaustivity: Exhaustivity {
    get { progress.read(\.exhaustivity) }
    set { progress.change { $0.exhaustivity = newValue } }
  }

  /// The current model.
  public var model: Model { store.model }

  /// A closure that is called when no dispatch is in flight, before the test store awaits runs of effects.
  ///
  /// Set it if actions follow from sources that the dispatcher does not track, such as an observer on a queue, or an
  /// unstructured task. It must return once those actions have been dispatched. It may also let runs of effects go on.
  public var settle: (@Sendable () async -> Void)? {
    get { progress.read(\.settle) }
    set { progress.change { $0.settle = newValue } }
  }

  deinit {
    reportUnasserted(at: place, isLast: true)
    dispatcher.unregister(middleware: recorder)
  }
}

extension TestStore where Model: ModelType {
  /// Makes a test store for a new store that starts with `Model()`.
  ///
  /// - Parameters:
  ///   - reducer: The store's reducer. Nothing else may use it afterwards.
  ///   - identifier: The name to register the store under.
  ///   - dispatcher: The dispatcher to register the store with. A new one if nil.
  ///   - mode: The mode of actions that are sent without one.
  ///   - fileID: The file to show failures in that are reported at the release.
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
