import DispatchStore
import DispatchStoreTesting

/// The same bank, mended.
enum Mended {
  // page: the mended bank
  struct Checking: ModelType, Hashable {
    var balance = 100
    var paid: Set<Int> = []
  }

  final class CheckingReducer: Reducer<Checking, Transfer> {
    override func reduce(into account: inout Checking, action: Transfer) {
      guard account.balance >= action.amount else { return }
      account.balance -= action.amount
      account.paid.insert(action.number)
    }
  }
  // page: end

  final class SavingsReducer: Reducer<Savings, Transfer> {
    private let checking: Store<Checking, Transfer>

    init(_ checking: Store<Checking, Transfer>) {
      self.checking = checking
    }

    override func operation(
      for action: Transfer, in store: Store<Savings, Transfer>
    ) -> ActionOperation<Savings, Transfer> {
      ActionOperation(action: action, store: store) { [checking] _, store in
        // page: the mended question
        guard checking.model.paid.contains(action.number) else { return }
        // page: end
        store.updateModel { $0.balance += action.amount }
      }
    }
  }

  @Sendable static func transferTwice(_ dispatcher: Dispatcher) async throws {
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
}
