import DispatchStore
import DispatchStoreTesting
import Testing

@testable import ShopCore

@Suite struct ShopTests {
  private let bank = FakeBank()
  private let dispatcher = Dispatcher(name: "shop", persistence: nil)

  private func openShop(_ bank: FakeBank? = nil) async throws -> Shop {
    let shop = try await Shop(dispatcher, gateway: bank ?? self.bank)
    _ = try await dispatcher.send(AddStock(sku: "tea", count: 10, price: 250)).reply
    return shop
  }

  @Test func anOrderIsPaidOnce() async throws {
    let shop = try await openShop()
    let place = Place(id: 1, customer: "ann", sku: "tea", count: 2)
    for _ in 1...2 {
      let handle = dispatcher.dispatch(place, options: .idempotencyKey("a"))
      #expect(try await handle.result.reply(to: Place.self, from: shop.orders).amount == 500)
      await handle.settled()
    }
    #expect(shop.orders.model.all[1]?.states == [.placed, .paid])
    #expect(shop.stock.model.goods["tea"]?.available == 8)
    #expect(bank.counts == [1, 0])
  }

  @Test func goodsWithAKeyArePutOnTheShelfOnce() async throws {
    let shop = try await openShop()
    for count in [5, 5, 6] {
      let add = AddStock(sku: "tea", count: count, price: 250)
      let added = await dispatcher.send(add, options: .idempotencyKey("a"))
      let goods = try? added.reply
      #expect(goods?.available == (count == 5 ? 15 : nil))
    }
    #expect(shop.stock.model.goods["tea"]?.available == 15)
  }

  @Test func theBankIsAskedAgainUntilItAnswers() async throws {
    let bank = FakeBank(failing: 3)
    let shop = try await openShop(bank)
    dispatcher.onWarning { _ in }
    await dispatcher.dispatch(Place(id: 1, customer: "ann", sku: "tea", count: 1)).settled()
    #expect(shop.orders.model.all[1]?.state == .paid)
    #expect(bank.counts == [1, 0])
  }

  @Test func aDeclinedOrderGivesItsGoodsBack() async throws {
    let shop = try await openShop()
    await dispatcher.dispatch(Place(id: 1, customer: "ann", sku: "tea", count: 9)).settled()
    #expect(shop.orders.model.all[1]?.states == [.placed, .declined])
    #expect(shop.stock.model.goods["tea"]?.available == 10)
  }

  @Test func aCancelledOrderIsRefunded() async throws {
    let shop = try await openShop()
    await dispatcher.dispatch(Place(id: 1, customer: "ann", sku: "tea", count: 1)).settled()
    await dispatcher.dispatch(Cancel(order: 1)).settled()
    #expect(shop.orders.model.all[1]?.states == [.placed, .paid, .cancelling, .cancelled])
    #expect(shop.stock.model.goods["tea"]?.available == 10)
    #expect(bank.counts == [1, 1])
    let again = await dispatcher.send(Cancel(order: 1))
    #expect(again.error as? ShopError == .wrongState(1, .cancelled))
  }

  @Test func whatIsNotInStockIsNotSold() async throws {
    let shop = try await openShop()
    let many = await dispatcher.send(Place(id: 1, customer: "ann", sku: "tea", count: 11))
    #expect(many.error as? ShopError == .soldOut("tea", available: 10))
    let other = await dispatcher.send(Place(id: 1, customer: "ann", sku: "salt", count: 1))
    #expect(other.error as? ShopError == .unknownGoods("salt"))
    #expect(shop.orders.model.all.isEmpty)
  }
}
