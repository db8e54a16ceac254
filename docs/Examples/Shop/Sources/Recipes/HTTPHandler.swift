import DispatchStore
import DispatchStoreServer
import HTTPTypes
import Hummingbird

struct Withdraw: ActionType, Equatable {
  typealias Reply = Int
  let account: String, amount: Int
}
struct WithdrawRequest: Decodable { let amount: Int }
struct Overdrawn: AnswerError {}

/// For all routes that are added after it.
func addErrors(to router: Router<BasicRequestContext>) {
  router.add(
    middleware: DispatchErrorMiddleware { error in
      error is Overdrawn ? HTTPError(.conflict, message: "The account is overdrawn.") : nil
    })
}

func addAccounts(
  to router: Router<BasicRequestContext>, _ dispatcher: Dispatcher, requests: DispatchLimit
) {
  dispatcher.register(
    store: Store(identifier: "accounts", model: ["ann": 100]) {
      On(Withdraw.self) { balances, withdraw in
        let left = balances[withdraw.account, default: 0] - withdraw.amount
        guard left >= 0 else { throw Overdrawn() }
        balances[withdraw.account] = left
        return left
      }
    })
  router.post("/accounts/:id/withdrawals") { request, context in
    let id = try context.decoded("id")
    // Keys of saved elements would end saving for the whole process, if too long or with U+0000.
    guard id.utf8.count <= 800, !id.contains("\0") else {
      throw HTTPError(.unprocessableContent, message: "The account's name is invalid.")
    }
    let amount = try await request.decode(as: WithdrawRequest.self, context: context).amount
    guard amount > 0 else { throw HTTPError(.unprocessableContent, message: "amount is positive.") }
    var options: DispatchOptions = [.limited(by: requests), .timeout(.seconds(2))]
    if let key = try request.idempotencyKey() {
      // Detached, since repeats join it: it goes on if the first request is cancelled.
      options = [options, .idempotencyKey("\(id)\n\(key)"), .detached]
    }
    let withdraw = Withdraw(account: id, amount: amount)
    return "\(try await dispatcher.send(withdraw, mode: .serial(lane: id), options: options).reply)"
  }
}
