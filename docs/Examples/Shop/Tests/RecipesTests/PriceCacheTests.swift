import DispatchStore
import DispatchStoreTesting
import Testing

@testable import Recipes

@Suite struct PriceCacheTests {
  /// A load that ends when the test says so.
  private struct Source {
    let begun = AsyncStream.makeStream(of: Void.self)
    let prices = AsyncStream.makeStream(of: Int.self)

    func load() async -> Int {
      begun.continuation.yield()
      for await price in prices.stream { return price }
      return 0
    }
  }

  @Test func readersShareALoadThatOutlivesTheCancelledOneThatBeganIt() async throws {
    let source = Source()
    let cache = PriceCache(Dispatcher(name: "test")) { _ in await source.load() }
    let first = Task { try await cache.price(of: "tea") }
    for await _ in source.begun.stream { break }
    first.cancel()
    async let second = cache.price(of: "tea")
    source.prices.continuation.yield(250)
    #expect(try await second == 250)
    source.prices.continuation.yield(300)
    #expect(try await cache.price(of: "tea") == 250)
  }

  @Test(arguments: [false, true])
  func aPriceThatChangesWhileItIsLoadedIsNotKept(isCancelled: Bool) async throws {
    let source = Source()
    let dispatcher = Dispatcher(name: "test", defaults: [.limited(by: DispatchLimit(1))])
    let cache = PriceCache(dispatcher) { _ in await source.load() }
    async let old = cache.price(of: "tea")
    for await _ in source.begun.stream { break }
    let forgotten = Task {
      if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
      try await cache.forget("tea")
    }
    source.prices.continuation.yield(250)
    #expect(try await old == 250)
    try await forgotten.value
    source.prices.continuation.yield(300)
    #expect(try await cache.price(of: "tea") == 300)
  }

  @Test func aKeptPriceCountsForNoDefaultOfTheDispatcher() async throws {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(
      name: "test", defaults: [.limited(by: DispatchLimit(1)), .timeout(.seconds(5))], clock: clock)
    let cache = PriceCache(dispatcher) { _ in 250 }
    for sku in ["tea", "salt"] { #expect(try await cache.price(of: sku) == 250) }
    let changes = cache.prices.stream(.model)
    clock.advance(by: .seconds(60))
    for await change in changes where change.value.isEmpty { break }
  }
}
