import DispatchStore
import DispatchStorePersistence

struct Sell: ActionType { let customer: String, pieces: Int, price: Int }
struct SoldOut: Error {}
struct Stock: ModelType, Codable { var tea = 1_000 }
struct Payments: ModelType, Codable { var totals: [String: Int] = [:] }
struct Journal: ModelType, Codable { var lines: [String] = [] }

let persistence = try await Persistence(.sqlite(path: "shop.db"))
let shop = Dispatcher(name: "shop", persistence: persistence)
let stock = try await shop.register(
  store: Store(identifier: "stock", model: Stock()) {
    On(Sell.self) { stock, sale in
      guard stock.tea >= sale.pieces else { throw SoldOut() }
      stock.tea -= sale.pieces
    }
  }, persisted: .model)
let payments = try await shop.register(
  store: Store(identifier: "payments", model: Payments()) {
    On(Sell.self) { payments, sale in payments.totals[sale.customer, default: 0] += sale.price }
  }, waitFor: [stock], persisted: .model)
let journal = try await shop.register(
  store: Store(identifier: "journal", model: Journal()) {
    Perform(Sell.self) { sale, context in
      let done = context.prerequisiteResults.filter { $0.outcome.isFinished }.count
      try context.updateModel { $0.lines.append("\(sale.customer): \(done) of 2 stores finished") }
    }
  }, waitFor: WaitFor([stock, payments], runsRegardless: true), persisted: .model)

print(stock.model.tea, payments.model.totals, journal.model.lines.count)
while let customer = readLine() {
  let sale = Sell(customer: customer, pieces: 1, price: 10)
  let result = await shop.send(sale, mode: .serial(lane: "tea"))
  print(customer, result.isSuccess ? "has paid" : "has not paid")
}
await shop.drain(timeout: .seconds(8))
try await persistence.close(timeout: .seconds(8))
