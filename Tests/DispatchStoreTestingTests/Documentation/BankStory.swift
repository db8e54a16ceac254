import DispatchStore
import DispatchStoreTesting

// page: the bank
struct Transfer: ActionType {
  let amount: Int
}

struct Checking: ModelType {
  var balance = 100
  var lastWasPaid = false
}

struct MoneyIsLost: Error {
  let total: Int
}

@Sendable func transferTwice(_ bank: Dispatcher) async throws {
  let checking = bank.register(
    store: Store(identifier: "checking", model: Checking()) {
      On(Transfer.self) { account, transfer in
        account.lastWasPaid = account.balance >= transfer.amount
        if account.lastWasPaid { account.balance -= transfer.amount }
      }
    })
  let savings = bank.register(
    store: Store(identifier: "savings", model: 0) {
      Perform(Transfer.self) { transfer, context in
        guard checking.model.lastWasPaid else { return }  // Was this one paid, or another?
        try context.updateModel { $0 += transfer.amount }
      }
    }, waitFor: [checking])

  async let first = bank.dispatch(Transfer(amount: 80)).result
  async let second = bank.dispatch(Transfer(amount: 50)).result
  _ = await (first, second)

  let total = checking.model.balance + savings.model
  if total != 100 { throw MoneyIsLost(total: total) }
}
// page: end
