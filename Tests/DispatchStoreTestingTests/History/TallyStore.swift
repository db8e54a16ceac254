import DispatchStore
import DispatchStoreTesting

struct Tally: ModelType, Hashable, CustomStringConvertible {
  var count = 0

  var description: String { "\(count)" }
}

enum TallyAction: ActionType, Hashable {
  case add(Int)
  case double
  /// Adds, then throws.
  case fail(Int)
  /// Adds in two steps, as a careless block that ignores commits between them.
  case addCarelessly
}

struct TallyFailure: Error, Hashable {}

/// The reduction of both the reducer and the specification.
func reduceTally(_ tally: inout Tally, _ action: TallyAction) throws {
  switch action {
  case .add(let amount): tally.count += amount
  case .double: tally.count = tally.count * 2 % 10_007
  case .fail(let amount):
    tally.count += amount
    throw TallyFailure()
  case .addCarelessly: tally.count += 1
  }
}

final class TallyReducer: Reducer<Tally, TallyAction> {
  private let whenRead: @Sendable () -> Void

  /// - Parameter whenRead: Runs between the two steps of a careless addition.
  init(whenRead: @escaping @Sendable () -> Void = {}) {
    self.whenRead = whenRead
  }

  override func operation(
    for action: TallyAction, in store: Store<Tally, TallyAction>
  ) -> ActionOperation<Tally, TallyAction> {
    guard action == .addCarelessly else { return super.operation(for: action, in: store) }
    return ActionOperation(action: action, store: store) { [whenRead] operation, _, store in
      let read = store.model
      whenRead()
      store.updateModel { $0.count = read.count + 1 }
      operation.finish()
    }
  }

  override func reduce(into tally: inout Tally, action: TallyAction) throws {
    try reduceTally(&tally, action)
  }
}

typealias TallyStore = Store<Tally, TallyAction>
typealias TallyRecorder = StoreHistoryRecorder<Tally, TallyAction>

extension History
where Operation == StoreOperation<TallyAction>, Response == StoreResponse<Tally> {
  func check(
    maxSteps: Int = 1_000_000
  ) -> HistoryVerdict<StoreSpecification<Tally, TallyAction>> {
    check(by: \.storeIdentifier, maxSteps: maxSteps) { _ in
      StoreSpecification(model: Tally(), reduce: reduceTally)
    }
  }
}
