import DispatchStore
import DispatchStoreTesting

// page: the bank
struct Transfer: ActionType, Hashable {
  let number: Int
  let amount: Int
}

struct Checking: ModelType, Hashable {
  var balance = 100
  var lastWasPaid = false
}

struct Savings: ModelType, Hashable {
  var balance = 0
}

final class CheckingReducer: Reducer<Checking, Transfer> {
  override func reduce(into account: inout Checking, action: Transfer) {
    account.lastWasPaid = account.balance >= action.amount
    if account.lastWasPaid { account.balance -= action.amount }
  }
}

final class SavingsReducer: Reducer<Savings, Transfer> {
  private let checking: Store<Checking, Transfer>

  init(_ checking: Store<Checking, Transfer>) {
    self.checking = checking
  }

  override func operation(
    for action: Transfer, in store: Store<Savings, Transfer>
  ) -> ActionOperation<Savings, Transfer> {
    ActionOperation(action: action, store: store) { [checking] _, store in
      // `savings` waits for `checking`, so that this is what became of the transfer. Is it?
      guard checking.model.lastWasPaid else { return }
      store.updateModel { $0.balance += action.amount }
    }
  }
}

struct MoneyIsLost: Error {
  let total: Int
}

@Sendable func transferTwice(_ dispatcher: Dispatcher) async throws {
  let checking = dispatcher.register(
    store: Store<Checking, Transfer>(identifier: "checking", reducer: CheckingReducer()))
  let savings = dispatcher.register(
    store: Store<Savings, Transfer>(identifier: "savings", reducer: SavingsReducer(checking)),
    waitFor: ["checking"])
  async let first = dispatcher.dispatch(action: Transfer(number: 1, amount: 80)).result
  async let second = dispatcher.dispatch(action: Transfer(number: 2, amount: 50)).result
  _ = await (first, second)
  let total = checking.model.balance + savings.model.balance
  if total != 100 { throw MoneyIsLost(total: total) }
}
// page: end
