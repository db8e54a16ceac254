public import DispatchStore

/// A store in a given state that answers each action as the test specifies, and records the actions.
///
/// It replaces a store beside the one under test. You can use it from any thread.
public final class MockStore<Model: Sendable, Action: ActionType>: Sendable {
  /// The actual store, to be registered with the dispatcher under test.
  public let store: Store<Model, Action>
  private let script: Script
  private let held = Held()

  /// Makes a store, and registers it if a dispatcher is given.
  ///
  /// - Parameters:
  ///   - identifier: The name to register the store under. A unique one if nil.
  ///   - model: The first model.
  ///   - dispatcher: The dispatcher to register the store with.
  ///   - waitFor: The stores that this one waits for.
  ///   - answer: The answer to actions for which `answer(where:with:)` was not called.
  public init(
    identifier: String? = nil, model: Model, dispatcher: Dispatcher? = nil,
    waitFor: WaitFor = [], answer: MockAnswer<Model, Action> = .finish
  ) {
    let script = Script(answer)
    self.script = script
    let reducer = MockReducer(script, held)
    store = Store(identifier: identifier, model: model, reducer: reducer)
    dispatcher?.register(store: store, waitFor: waitFor)
  }

  deinit {
    held.cancel()
  }

  /// The current model.
  public var model: Model { store.model }

  /// The actions that the reducer has received, in order.
  public var actions: [Action] { script.state.read(\.received) }

  /// Replaces the model in one commit, of which observers are notified.
  public func set(_ model: Model) {
    store.inject(model: model)
  }

  /// Sets the answer to actions from now on.
  ///
  /// - Parameters:
  ///   - matches: Selects the actions, by default all. If several calls match an action, the last one applies.
  ///   - answer: The answer.
  public func answer(
    where matches: @escaping @Sendable (Action) -> Bool = { _ in true },
    with answer: MockAnswer<Model, Action>
  ) {
    let line = Script.Line(matches: matches, answer: answer)
    script.state.change { $0.lines.append(line) }
  }

  /// Returns the actions once the reducer has received this many.
  ///
  /// Returns earlier if the task is cancelled, with a note in the test.
  ///
  /// - Parameters:
  ///   - minimum: The number of actions.
  ///   - fileID: The file to show the note in.
  ///   - filePath: The caller's file.
  ///   - line: The caller's line.
  ///   - column: The caller's column.
  @discardableResult
  public func actions(
    atLeast minimum: Int,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
  ) async -> [Action] {
    let found = await script.state.first { $0.received.count >= minimum ? $0.received : nil }
    if let found { return found }
    let received = script.state.read(\.received)
    FailureReporter().noteCancellation(
      "\(minimum) actions at store \"\(store.identifier)\", which has received \(received.count)",
      at: SourcePlace(fileID, filePath, line, column))
    return received
  }
}

extension MockStore {
  /// The answers that were set, and the actions that were received.
  final class Script: Sendable {
    struct Line: Sendable {
      let matches: @Sendable (Action) -> Bool
      let answer: MockAnswer<Model, Action>
    }

    struct State: Sendable {
      var lines: [Line] = []
      var received: [Action] = []
    }

    let state = Awaited(State())
    private let otherwise: MockAnswer<Model, Action>

    init(_ answer: MockAnswer<Model, Action>) {
      otherwise = answer
    }

    /// Records an action, and returns the answer to it.
    func answer(to action: Action) -> MockAnswer<Model, Action> {
      let lines = state.change { state in
        state.received.append(action)
        return state.lines
      }
      // Outside the lock, because the closures are the test's.
      return lines.last { $0.matches(action) }?.answer ?? otherwise
    }
  }

  /// The operations that do not end before the mock store is released.
  final class Held: Sendable {
    /// The operations, or nil once the mock store has been released.
    private let operations = Awaited<[RunningOperation<Model, Action>]?>([])

    func hold(_ operation: RunningOperation<Model, Action>) {
      let isHeld = operations.change { operations in
        operations?.append(operation)
        return operations != nil
      }
      // The mock store was released after the reducer had made this operation and before it started.
      if !isHeld { operation.finish(throwing: CancellationError()) }
    }

    func cancel() {
      let left = operations.change { $0.take() }
      for operation in left ?? [] { operation.finish(throwing: CancellationError()) }
    }
  }
}

/// Performs the script's answers.
///
/// Only the script has mutable state, behind a lock.
private final class MockReducer<Model: Sendable, Action: ActionType>: Reducer<Model, Action> {
  private let script: MockStore<Model, Action>.Script
  private let held: MockStore<Model, Action>.Held

  init(_ script: MockStore<Model, Action>.Script, _ held: MockStore<Model, Action>.Held) {
    self.script = script
    self.held = held
  }

  override func operation(
    for action: Action, in store: Store<Model, Action>
  ) -> ActionOperation<Model, Action> {
    let answer = script.answer(to: action)
    return ActionOperation(action: action, store: store) { [held] operation, _, _ in
      answer.perform(operation, held)
    }
  }
}
