import Dispatch
import DispatchStore
import Testing

@Suite("Child stores on many threads", .timeLimit(.minutes(10)))
struct ChildConcurrencyTests {
  private let threads = 8

  @Test func changingSiblingsAndTheParentLosesNothingAndHasOneVersion() async {
    let count = Load.count(2_000)
    let shop = ShopStore.shop(
      Shop(orders: (0..<8).map { Order(id: $0, lines: [Line(id: "a")]) }, stock: ["tea": Shelf()]))
    await onOwnThreads(threads) { index in
      let line = shop.child(\.orders, id: index).child(\.lines, id: "a")
      let (shelf, visits) = (shop.child(\.stock, key: "tea"), shop.child(\.visits))
      for _ in 0..<count {
        switch index % 4 {
        case 0: visits.updateModel { $0 += 1 }
        case 1: #expect(throws: Never.self) { try line.updateModel { $0.count += 1 } }
        case 2: #expect(throws: Never.self) { try shelf.updateModel { $0.count += 1 } }
        default: shop.updateModel { $0.visits += 1 }
        }
      }
    }
    #expect(shop.version == UInt64(threads * count))
    #expect(shop.model.visits == 4 * count)
    #expect(shop.model.orders.map { $0.lines[0].count } == (0..<8).map { $0 % 4 == 1 ? count : 0 })
    #expect(shop.model.stock["tea"]?.count == 2 * count)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func dispatchingToSiblingsAndTheParentLosesNothing(mode: Dispatcher.Mode) async {
    let count = Load.count(200)
    let dispatcher = Dispatcher()
    let shop = dispatcher.register(store: .shop(Shop(orders: (0..<8).map { Order(id: $0) })))
    let ended = EventCount(of: threads * count)
    await onOwnThreads(threads) { index in
      let cart = shop.child(\.cart).mapActions(ShopAction.cart)
      let order = shop.child(\.orders, id: index).mapActions { .order(index, $0) }
      for _ in 0..<count {
        switch index % 3 {
        case 0: cart.dispatch(.add("tea"), mode: mode) { _ in ended.add() }
        case 1: order.dispatch(.pay, mode: mode) { _ in ended.add() }
        default: shop.dispatch(.visit, mode: mode) { _ in ended.add() }
        }
      }
    }
    await ended.full()
    #expect(shop.version == UInt64(threads * count))
    #expect(shop.model.cart.items.count == 3 * count)
    #expect(shop.model.visits == 2 * count)
    #expect(shop.model.orders.map(\.isPaid) == (0..<8).map { $0 % 3 == 1 })
  }

  @Test(arguments: [false, true])
  func observersOfAPartSeeEachOfItsChangesInOrder(onQueue: Bool) async {
    let count = Load.count(500)
    let shop = ShopStore.shop(Shop(orders: (0..<8).map { Order(id: $0, lines: [Line(id: "a")]) }))
    let lines = (0..<threads).map { shop.child(\.orders, id: $0).child(\.lines, id: "a") }
    let seen = lines.map { _ in Recorder<Change<Line?, HandledAction>>() }
    let tokens = zip(lines, seen).map { line, seen in
      line.observe(on: onQueue ? .queue(.global()) : .inline) { seen.record($0) }
    }
    await onOwnThreads(threads) { index in
      for _ in 0..<count {
        #expect(throws: Never.self) { try lines[index].updateModel { $0.count += 1 } }
        shop.updateModel { $0.visits += 1 }
      }
    }
    for seen in seen {
      let changes = await seen.first(count)
      #expect(changes.map { $0.value?.count } == (1...count).map { $0 })
      #expect(zip(changes, changes.dropFirst()).allSatisfy { $0.version < $1.version })
    }
    withExtendedLifetime(tokens) {}
  }

  @Test func elementsThatComeAndGoAreNeverReadStaleAndNeverTrap() async {
    let count = Load.count(2_000)
    let shop = ShopStore.shop()
    await onOwnThreads(threads) { index in
      let order = shop.child(\.orders, id: index / 2)
      let line = order.child(\.lines, id: "a")
      for round in 0..<count {
        if index % 2 == 0 {
          shop.updateModel { shop in
            if round % 2 == 0 {
              shop.orders.insert(Order(id: index / 2, lines: [Line(id: "a")]), at: 0)
            } else {
              shop.orders.removeAll { $0.id == index / 2 }
            }
          }
        } else {
          if let model = order.model { #expect(model.id == index / 2) }
          do {
            try line.updateModel { $0.count += 1 }
          } catch {
            #expect((error as? DispatchError)?.code == .partMissing)
          }
        }
      }
    }
    #expect(shop.model.orders.isEmpty)
  }

  @Test func observersComeAndGoWhileThePartChanges() async {
    let count = Load.count(500)
    let shop = ShopStore.shop()
    let visits = shop.child(\.visits)
    await onOwnThreads(threads) { index in
      for _ in 0..<count {
        if index % 2 == 0 {
          visits.updateModel { $0 += 1 }
        } else {
          let last = Recorder<Int>()
          let token = visits.observe(
            initial: index > 4, on: index % 4 == 1 ? .queue(.global()) : .inline
          ) {
            #expect(last.all.allSatisfy { [new = $0.value] in $0 < new })
            last.record($0.value)
          }
          visits.updateModel { $0 += 1 }
          token.cancel()
        }
      }
    }
    #expect(shop.model.visits == threads * count)
  }
}
