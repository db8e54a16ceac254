import DispatchStore
import DispatchStoreTesting
import Synchronization
import Testing

@testable import Recipes

@Test func aPriceIsLoadedAgainOnceItsTimeIsOver() async throws {
  let clock = VirtualClock()
  let dispatcher = Dispatcher(name: "test", clock: clock)
  let loads = Atomic(0)
  let cache = PriceCache(dispatcher, keptFor: .seconds(60)) { _ in
    loads.add(1, ordering: .relaxed).newValue
  }
  #expect(try await cache.price(of: "tea") == 1)
  #expect(try await cache.price(of: "tea") == 1)
  // Subscribe before the clock moves, then await the event that its move brings.
  let changes = cache.prices.stream(.part(\.["tea"]))
  clock.advance(by: .seconds(60))
  for await change in changes where change.value == nil { break }
  #expect(try await cache.price(of: "tea") == 2)
}
