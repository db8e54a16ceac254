import DispatchStore

/// A model that notes what it was told, in order.
struct Tally: ModelType, Hashable {
  var numbers: [Int] = []
}

enum TallyAction: ActionType, Hashable {
  case add(Int)
}

final class TallyReducer: Reducer<Tally, TallyAction> {
  override func reduce(into model: inout Tally, action: TallyAction) {
    switch action {
    case .add(let number): model.numbers.append(number)
    }
  }
}

extension Dispatcher {
  func makeTally(_ identifier: String) -> Store<Tally, TallyAction> {
    register(store: Store(identifier: identifier, reducer: TallyReducer()))
  }
}
