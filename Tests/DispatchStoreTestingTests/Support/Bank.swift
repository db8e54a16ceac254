import DispatchStore
import DispatchStoreTesting

struct Account: ModelType, Equatable {
  var owner = "Ann"
  var balance = 0
}

struct Overdrawn: Error, Equatable {
  var missing: Int
}

enum AccountAction: ActionType, Equatable {
  case deposit(Int)
  case withdraw(Int)
  /// Deposits, then dispatches two entries to the ledger.
  case depositAndLog(Int)
  /// Deposits without notifying observers.
  case depositQuietly(Int)
  /// Deposits without notifying observers, then dispatches a deposit of 1.
  case depositQuietlyAndOnce(Int)
  /// Deposits twice, the second time once the latch of the reducer is open.
  case depositInTwoSteps(Int)
}

/// Changes the account, and dispatches to the ledger where the action says so.
final class AccountReducer: Reducer<Account, AccountAction> {
  private let mode: Dispatcher.Mode
  private let between: @Sendable () async -> Void

  init(mode: Dispatcher.Mode = .serial, between: @escaping @Sendable () async -> Void = {}) {
    self.mode = mode
    self.between = between
  }

  override func operation(
    for action: AccountAction, in store: Store<Account, AccountAction>
  ) -> ActionOperation<Account, AccountAction> {
    switch action {
    case .depositInTwoSteps(let amount):
      return ActionOperation(action: action, store: store) { [between] _, store in
        store.updateModel { $0.balance += amount }
        await between()
        store.updateModel { $0.balance += amount }
      }
    case .depositQuietlyAndOnce(let amount):
      return ActionOperation(action: action, store: store) { [mode] _, store in
        store.updateModel { $0.balance += amount }
        store.dispatcher?.dispatch(action: AccountAction.deposit(1), mode: mode)
      }
    case .depositAndLog(let amount):
      return ActionOperation(action: action, store: store) { [mode] _, store in
        store.updateModel { $0.balance += amount }
        store.dispatcher?.dispatch(action: LedgerAction.entry("deposit"), mode: mode) {
          store.dispatcher?.dispatch(action: LedgerAction.entry("done"), mode: mode)
        }
      }
    default:
      return super.operation(for: action, in: store)
    }
  }

  override func reduce(into account: inout Account, action: AccountAction) throws {
    switch action {
    case .deposit(let amount), .depositQuietly(let amount), .depositAndLog(let amount),
      .depositInTwoSteps(let amount), .depositQuietlyAndOnce(let amount):
      account.balance += amount
    case .withdraw(let amount):
      guard account.balance >= amount else {
        throw Overdrawn(missing: amount - account.balance)
      }
      account.balance -= amount
    }
  }

  override func shouldNotifyObservers(
    for action: AccountAction, in store: Store<Account, AccountAction>
  ) -> Bool {
    switch action {
    case .depositQuietly, .depositQuietlyAndOnce: false
    default: true
    }
  }
}

/// Without `==`.
struct Ledger: ModelType {
  struct Line: Sendable {
    var text: String
  }

  var lines: [Line] = []
}

enum LedgerAction: ActionType, Equatable {
  case entry(String)
}

final class LedgerReducer: Reducer<Ledger, LedgerAction> {
  override func reduce(into ledger: inout Ledger, action: LedgerAction) {
    switch action {
    case .entry(let text): ledger.lines.append(Ledger.Line(text: text))
    }
  }
}

typealias AccountTest = TestStore<Account, AccountAction>

extension Dispatcher {
  @discardableResult
  func addLedger() -> Store<Ledger, LedgerAction> {
    register(store: Store(identifier: "ledger", reducer: LedgerReducer()))
  }
}
