import DispatchStore
import DispatchStoreTesting

/// A model that records the numbers of its actions, in order.
struct Journal: ModelType {
  var entries: [Int] = []
}

protocol Numbered: ActionType where Reply == Void {
  var number: Int { get }
}

/// The actions of a journal.
enum Entry: Numbered {
  /// A plain reduction.
  case note(Int)
  /// An operation that reads the store before its commit, so that others can commit between.
  case work(Int)
  /// An entry whose block is `async`.
  case slow(Int)
  /// An operation that the closure `late` of the reducer ends.
  case late(Int)
  /// An operation that fails.
  case fail(Int)
  /// An operation that runs until it is cancelled.
  case hold(Int)

  var number: Int {
    switch self {
    case .note(let number), .work(let number), .slow(let number), .late(let number),
      .fail(let number), .hold(let number):
      number
    }
  }
}

struct Refused: Error {}

final class JournalReducer: Reducer<Journal, Entry> {
  /// Called with the number when an operation begins, and with the negative number when it ends.
  private let inside: @Sendable (Int) -> Void
  private let late: @Sendable (RunningOperation<Journal, Entry>) -> Void

  init(
    inside: @escaping @Sendable (Int) -> Void = { _ in },
    late: @escaping @Sendable (RunningOperation<Journal, Entry>) -> Void = { $0.finish() }
  ) {
    self.inside = inside
    self.late = late
  }

  override func reduce(into model: inout Journal, action: Entry) {
    model.entries.append(action.number)
  }

  override func operation(
    for action: Entry, in store: Store<Journal, Entry>
  ) -> ActionOperation<Journal, Entry> {
    switch action {
    case .note:
      return super.operation(for: action, in: store)
    case .work(let number):
      return entering(number, for: action, in: store, inside: inside)
    case .slow(let number):
      return entering(number, for: action, in: store, isAsync: true, inside: inside)
    case .late(let number):
      return ActionOperation(action: action, store: store) { [late] operation, _, store in
        store.updateModel { $0.entries.append(number) }
        late(operation)
      }
    case .hold:
      return ActionOperation(action: action, store: store) { _, store async throws in
        // Longer than anything else in a scenario; an operation that is not cancelled ends as finished.
        try await store.dispatcher?.simulation?.clock.sleep(for: .seconds(3_600))
      }
    case .fail:
      return ActionOperation(action: action, store: store) { _, store in
        _ = store.model
        throw Refused()
      }
    }
  }
}

/// Makes an operation that enters a number in the journal.
///
/// Before that others can commit, or run if its block is `async`.
///
/// - Parameter inside: Called with the number when the block begins, and with the negative one when it ends.
func entering<Action: ActionType>(
  _ number: Int, for action: Action, in store: Store<Journal, Action>, isAsync: Bool = false,
  inside: @escaping @Sendable (Int) throws -> Void
) -> ActionOperation<Journal, Action> where Action.Reply == Void {
  guard isAsync else {
    return ActionOperation(action: action, store: store) { _, store in
      try inside(number)
      _ = store.model
      store.updateModel { $0.entries.append(number) }
      try inside(-number)
    }
  }
  return ActionOperation(action: action, store: store) { _, store async throws in
    try inside(number)
    await Task.yield()
    store.updateModel { $0.entries.append(number) }
    try inside(-number)
  }
}

/// A reducer whose operations a closure makes.
final class BlockReducer<Action: ActionType>: Reducer<Journal, Action> {
  typealias Make = @Sendable (Action, Store<Journal, Action>) -> ActionOperation<Journal, Action>

  private let make: Make

  init(_ make: @escaping Make) {
    self.make = make
  }

  override func operation(
    for action: Action, in store: Store<Journal, Action>
  ) -> ActionOperation<Journal, Action> {
    make(action, store)
  }
}

/// A reducer that makes plain reductions only, which are those of a closure.
final class PlainReducer<Action: ActionType>: Reducer<Journal, Action> {
  typealias Body = @Sendable (inout Journal, Action) -> Void

  private let body: Body

  init(_ body: @escaping Body) {
    self.body = body
  }

  override func reduce(into model: inout Journal, action: Action) {
    body(&model, action)
  }
}

/// An action that stores of entries do not get.
struct Echo: Numbered {
  let number: Int

  init(_ number: Int) {
    self.number = number
  }
}

typealias JournalStore = Store<Journal, Entry>

extension Dispatcher {
  func makeJournal(
    _ identifier: String, waitFor: WaitFor = [],
    inside: @escaping @Sendable (Int) -> Void = { _ in },
    late: @escaping @Sendable (RunningOperation<Journal, Entry>) -> Void = { $0.finish() }
  ) -> JournalStore {
    register(
      store: Store(identifier: identifier, reducer: JournalReducer(inside: inside, late: late)),
      waitFor: waitFor)
  }

  func makePlainJournal<Action: Numbered>(
    _ identifier: String, of type: Action.Type = Entry.self, waitFor: WaitFor = []
  ) -> Store<Journal, Action> {
    let reducer = PlainReducer<Action> { $0.entries.append($1.number) }
    return register(store: Store(identifier: identifier, reducer: reducer), waitFor: waitFor)
  }

  /// Runs a body in a task that is cancelled within a second.
  func cancelAtSomeTime(_ body: @escaping @Sendable () async -> Void) async {
    await withTaskGroup { group in
      group.addTask { await body() }
      try? await simulation?.delay(upTo: .seconds(1))
      group.cancelAll()
    }
  }

  @discardableResult
  func makeStore<Action: ActionType>(
    _ identifier: String, of type: Action.Type, waitFor: WaitFor = [],
    _ make: @escaping BlockReducer<Action>.Make
  ) -> Store<Journal, Action> {
    register(store: Store(identifier: identifier, reducer: BlockReducer(make)), waitFor: waitFor)
  }
}
