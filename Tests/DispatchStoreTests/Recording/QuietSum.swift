@testable import DispatchStore

/// Adds to a number; if it is hidden, observers are not told.
struct AddQuietly: ActionType {
  let amount: Int
  var isHidden = false
}

typealias QuietStore = Store<Int, AddQuietly>

private final class QuietReducer: Reducer<Int, AddQuietly> {
  override func reduce(into model: inout Int, action: AddQuietly) { model += action.amount }

  override func shouldNotifyObservers(for action: AddQuietly, in store: QuietStore) -> Bool {
    !action.isHidden
  }
}

extension Dispatcher {
  func registerQuiet() -> QuietStore {
    register(store: QuietStore(identifier: "quiet", model: 0, reducer: QuietReducer()))
  }

  /// Adds to the numbers of quiet stores, and returns the number of the dispatch.
  @discardableResult
  func add(
    _ amount: Int, isHidden: Bool = false, by way: Way, isAtomic: Bool = false
  ) async -> UInt64 {
    let action = AddQuietly(amount: amount, isHidden: isHidden)
    return await run(action, way, options: isAtomic ? .atomic : []).dispatchID.number
  }
}
