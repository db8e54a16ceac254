public import DispatchStore

/// A store in a given state that answers each action as it was told to, and keeps what it was asked.
///
/// It stands in for a store that takes part in what is tested. May be used from any thread.
public final class MockStore<Model: Sendable, Action: ActionType>: Sendable {
  /// The store itself, to be registered with the dispatcher under test.
  public let store: Store<Model, Action>
  private let script: Script
  private let held = Held()

  /// Makes a store, and registers it where a dispatcher is given.
  ///
  /// - Parameters:
  ///   - identifier: The name to register it under; a unique one where none is given.
  ///   - model: The first model.
  ///   - dispatcher: The dispatcher to register it with.
  ///   - waitFor: The stores that it waits for.
  ///   - answer: What it does about actions for which nothing else was said.
  public init(
    identifier: String? = nil, model: Model, dispatcher: Dispatcher? = nil,
    waitFor: WaitFor = .none, answer: MockAnswer<Model, Action> = .finish
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

  /// The model as it is.
  public var model: Model { store.model }

  /// The actions that it was asked to answer, in the order in which it was.
  public var asked: [Action] { script.state.read(\.asked) }

  /// Puts the store into a state: one commit, told to its observers.
  public func set(_ model: Model) {
    store.inject(model: model)
  }

  /// Says what the store does about actions from now on.
  ///
  /// - Parameters:
  ///   - matches: Which actions; by default all. What was said last comes first.
  ///   - answer: What it does.
  public func answer(
    where matches: @escaping @Sendable (Action) -> Bool = { _ in true },
    with answer: MockAnswer<Model, Action>
  ) {
    let line = Script.Line(matches: matches, answer: answer)
    script.state.change { $0.lines.append(line) }
  }

  /// Returns the actions once it was asked this many, earlier where the task is cancelled.
  @discardableResult
  public func asked(atLeast minimum: Int) async -> [Action] {
    let reached = await script.state.first { $0.asked.count >= minimum ? $0.asked : nil }
    return reached ?? asked
  }
}

extension MockStore {
  /// What the store was told, and what it was asked.
  final class Script: Sendable {
    struct Line: Sendable {
      let matches: @Sendable (Action) -> Bool
      let answer: MockAnswer<Model, Action>
    }

    struct State: Sendable {
      var lines: [Line] = []
      var asked: [Action] = []
    }

    let state = Awaited(State())
    private let otherwise: MockAnswer<Model, Action>

    init(_ answer: MockAnswer<Model, Action>) {
      otherwise = answer
    }

    /// The answer to an action, which is noted.
    func answer(to action: Action) -> MockAnswer<Model, Action> {
      let lines = state.change { state in
        state.asked.append(action)
        return state.lines
      }
      // Outside the lock: the closures are the test's own.
      return lines.last { $0.matches(action) }?.answer ?? otherwise
    }
  }

  /// The operations that are not to end as long as there is the mock store.
  final class Held: Sendable {
    private let operations = Awaited<[RunningOperation<Model, Action>]>([])

    func hold(_ operation: RunningOperation<Model, Action>) {
      operations.change { $0.append(operation) }
    }

    func cancel() {
      let left = operations.change { operations in
        defer { operations = [] }
        return operations
      }
      for operation in left { operation.finish(throwing: CancellationError()) }
    }
  }
}

/// Answers as the script says, which is locked: the reducer itself does not change.
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
