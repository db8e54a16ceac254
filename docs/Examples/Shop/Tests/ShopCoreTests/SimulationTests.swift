import DispatchStore
import DispatchStoreTesting
import Testing

@testable import ShopCore

/// What must be true of the shop whenever it is at rest.
struct BooksDoNotAgree: Error {
  let text: String
}

@Suite struct SimulationTests {
  /// Two customers want the last piece, one of them cancels, and the bank fails once.
  @Test func theLastPieceIsSoldOnceInAnyOrder() async throws {
    try await explore(seeds: 0..<300) { dispatcher in
      dispatcher.onWarning { _ in }
      try await MemoryDatabase().open(for: dispatcher, actions: Shop.actions)
      let bank = FakeBank(failing: 1)
      let shop = try await Shop(dispatcher, gateway: bank)
      _ = try await dispatcher.send(AddStock(sku: "tea", count: 1, price: 250)).reply
      let places = ["ann", "ben"].enumerated().map { id, customer in
        dispatcher.dispatch(Place(id: id, customer: customer, sku: "tea", count: 1))
      }
      let cancel = dispatcher.dispatch(Cancel(order: 0))
      for handle in places + [cancel] { await handle.settled() }
      try check(shop, bank, pieces: 1)
    }
  }

  private func check(_ shop: Shop, _ bank: FakeBank, pieces: Int) throws {
    let orders = shop.orders.model.all.dictionary.values
    let sold = orders.filter { $0.state == .paid }.count
    let available = shop.stock.model.goods["tea"]!.available
    if available < 0 || available + sold != pieces {
      throw BooksDoNotAgree(text: "\(available) in stock, \(sold) sold")
    }
    if !orders.allSatisfy({ $0.state == .paid || $0.state.isFinal }) {
      throw BooksDoNotAgree(text: "an order waits for ever: \(orders)")
    }
    let counts = [
      orders.filter { $0.states.contains(.paid) }.count,
      orders.filter { $0.state == .cancelled }.count,
    ]
    if counts != bank.counts {
      throw BooksDoNotAgree(text: "\(counts) booked, \(bank.counts) at the bank")
    }
  }

  /// The usual mistake: look first, and take later.
  @Test func aStockThatLooksFirstAndTakesLaterIsFound() async throws {
    await #expect(throws: ExplorationFailure.self) {
      try await explore(seeds: 0..<300) { dispatcher in
        let stock = dispatcher.register(
          store: Store(identifier: "stock", model: 1) {
            Perform(Take.self) { take, context in
              guard try context.model >= take.count else {
                throw ShopError.soldOut("tea", available: 0)
              }
              try context.updateModel { $0 -= take.count }
            }
          })
        let handles = (1...2).map { _ in dispatcher.dispatch(Take(count: 1)) }
        for handle in handles { await handle.settled() }
        if stock.model < 0 { throw BooksDoNotAgree(text: "\(stock.model) in stock") }
      }
    }
  }
}

private struct Take: ActionType { let count: Int }
