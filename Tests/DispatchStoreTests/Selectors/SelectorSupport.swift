import DispatchStore

struct PricedItem: Sendable, Equatable {
  var name: String
  var price: Int
}

struct PricedCart: ModelType, Equatable {
  var items: [PricedItem] = []
  var discount = 0
  var note = ""
  /// Its type is not `Equatable`.
  var stamp = Unequal()

  struct Unequal: Sendable, Equatable {
    var opaque = Opaque()

    static func == (first: Unequal, second: Unequal) -> Bool {
      first.opaque.number == second.opaque.number
    }
  }

  struct Opaque: Sendable {
    var number = 0
  }
}

enum PricedAction: ActionType, Equatable {
  case add(String, Int)
  case discount(Int)
  case note(String)
}

final class PricedReducer: Reducer<PricedCart, PricedAction> {
  override func reduce(into model: inout PricedCart, action: PricedAction) {
    switch action {
    case .add(let name, let price): model.items.append(PricedItem(name: name, price: price))
    case .discount(let percent): model.discount = percent
    case .note(let note): model.note = note
    }
  }

  override func shouldNotifyObservers(
    for action: PricedAction, in store: Store<PricedCart, PricedAction>
  ) -> Bool {
    action != .note("hidden")
  }
}

typealias PricedStore = Store<PricedCart, PricedAction>

extension Store where Model == PricedCart, Action == PricedAction {
  static func priced(_ model: PricedCart = PricedCart(), identifier: String? = nil) -> PricedStore {
    PricedStore(identifier: identifier, model: model, reducer: PricedReducer())
  }
}

/// Selectors of a cart that count the calls of their projectors.
struct CountedSelectors: Sendable {
  let items = StateSelector(\PricedCart.items)
  let discount = StateSelector(\PricedCart.discount)
  let subtotal: CombinedSelector<PricedCart, Int, [PricedItem]>
  let total: CombinedSelector<PricedCart, Int, Int, Int>
  let label: CombinedSelector<PricedCart, String, Int>
  let calls = Recorder<String>()

  init() {
    let calls = calls
    subtotal = StateSelector.combine(items) { items in
      calls.record("subtotal")
      return items.reduce(0) { $0 + $1.price }
    }
    total = StateSelector.combine(subtotal, discount) { subtotal, discount in
      calls.record("total")
      return subtotal * (100 - discount) / 100
    }
    label = StateSelector.combine(total) { total in
      calls.record("label")
      return "\(total) in all"
    }
  }
}
