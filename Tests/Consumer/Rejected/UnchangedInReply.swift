// error: cannot convert value of type '()' to closure result type 'Price.Reply'
import DispatchStore

struct Price: ActionType {
  typealias Reply = Int
}

let shop = Store(identifier: "shop", model: 0) {
  On(Price.self) { count, _ in
    guard count > 0 else { return Reduction.unchanged() }
    return count
  }
}
