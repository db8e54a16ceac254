import DispatchStore
import DispatchStoreTesting

/// The same bank, mended.
enum Mended {
  // page: the mended bank
  struct Overdrawn: Error {}

  static func openAccounts(in bank: Dispatcher) -> (HandlerStore<Int>, HandlerStore<Int>) {
    let checking = bank.register(
      store: Store(identifier: "checking", model: 100) {
        On(Transfer.self) { balance, transfer in
          guard balance >= transfer.amount else { throw Overdrawn() }
          balance -= transfer.amount
        }
      })
    let savings = bank.register(
      store: Store(identifier: "savings", model: 0) {
        On(Transfer.self) { balance, transfer in balance += transfer.amount }
      }, waitFor: [checking])
    return (checking, savings)
  }
  // page: end

  @Sendable static func transferTwice(_ bank: Dispatcher) async throws {
    let (checking, savings) = openAccounts(in: bank)
    async let first = bank.dispatch(Transfer(amount: 80)).result
    async let second = bank.dispatch(Transfer(amount: 50)).result
    _ = await (first, second)
    let total = checking.model + savings.model
    if total != 100 { throw MoneyIsLost(total: total) }
  }
}
