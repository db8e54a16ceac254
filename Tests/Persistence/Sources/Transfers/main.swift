import DispatchStore
import DispatchStorePersistence
import Foundation

// usage: Transfers DATABASE
//
// Transfers amounts between three persistent stores in atomic actions, and undoes some of them, until it is killed. Prints
// what it has found, and before each step what the balances will be, and after it what they are. Its test kills it.

struct Account: ModelType, Codable {
  var entries = TrackedDictionary<Int, Int>()
  var balance = 0
}

struct Transfer: AtomicAction { let number: Int, amounts: [String: Int] }

typealias AccountStore = Store<Account, HandledAction>

let persistence = try await Persistence(.sqlite(path: CommandLine.arguments[1]))
let dispatcher = Dispatcher(name: "bank", persistence: persistence)
var stores: [AccountStore] = []
for name in ["giro", "savings", "till"] {
  stores.append(
    try await dispatcher.register(
      store: AccountStore(identifier: name, model: Account()) {
        On(Transfer.self) { account, transfer in
          account.entries[transfer.number] = transfer.amounts[name]!
          account.balance += transfer.amounts[name]!
        }
      }, persisted: .elements(\.entries)))
}

func say(_ word: String, _ balances: [Int]) {
  let line = "\(word) \(balances.map(String.init).joined(separator: " "))\n"
  FileHandle.standardOutput.write(Data(line.utf8))
}

var balances: [Int] { stores.map(\.model.balance) }
precondition(
  stores.allSatisfy { $0.model.entries.values.reduce(0, +) == $0.model.balance },
  "a balance is not the sum of its entries")
say("found", balances)
let history = UndoHistory(of: stores[0], stores[1], stores[2])
var former: [[Int]] = []
for number in (stores[0].model.entries.keys.max() ?? 0) + 1..<Int.max {
  if number % 3 == 0, let last = former.popLast() {
    say("next", last)
    await history.undo().ended()
  } else {
    let amounts = [number, 2 * number, -3 * number]
    former.append(balances)
    say("next", zip(balances, amounts).map { $0 + $1 })
    let named = Dictionary(uniqueKeysWithValues: zip(stores.map(\.identifier), amounts))
    await dispatcher.send(Transfer(number: number, amounts: named))
  }
  say("now", balances)
}
