import DispatchStore

/// A bank: the audit waits for the accounts, and reads what they settled.
struct Bank {
  let dispatcher = Dispatcher(name: "bank")
  let accounts: Store<Accounts, Transfer>
  let audit: Store<Audit, Transfer>

  init(balances: [String: Int]) {
    accounts = dispatcher.register(
      store: Store(
        identifier: "accounts", model: Accounts(balances: balances), reducer: AccountsReducer()))
    audit = dispatcher.register(
      store: Store(identifier: "audit", reducer: AuditReducer(accounts: accounts)),
      waitFor: [accounts])
  }

  func transfer(_ amount: Int, from payer: String, to payee: String) async -> DispatchResult {
    await dispatcher.dispatch(action: Transfer(from: payer, to: payee, amount: amount)).result
  }
}

struct Transfer: ActionType {
  var from: String
  var to: String
  var amount: Int
}

struct Overdrawn: Error, Equatable {
  var account: String
}

struct Accounts: ModelType {
  var balances: [String: Int] = [:]
}

final class AccountsReducer: Reducer<Accounts, Transfer> {
  override func reduce(into model: inout Accounts, action: Transfer) throws {
    guard model.balances[action.from, default: 0] >= action.amount else {
      throw Overdrawn(account: action.from)
    }
    model.balances[action.from, default: 0] -= action.amount
    model.balances[action.to, default: 0] += action.amount
  }
}

struct Audit: ModelType {
  var lines: [String] = []
}

final class AuditReducer: Reducer<Audit, Transfer> {
  private let accounts: Store<Accounts, Transfer>

  init(accounts: Store<Accounts, Transfer>) {
    self.accounts = accounts
  }

  override func operation(
    for action: Transfer, in store: Store<Audit, Transfer>
  ) -> ActionOperation<Audit, Transfer> {
    ActionOperation(action: action, store: store) { [accounts] transfer, store in
      let left = accounts.withModel { $0.balances[transfer.from, default: 0] }
      store.updateModel { $0.lines.append("\(transfer.from) has \(left) left") }
    }
  }
}
