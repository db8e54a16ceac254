import DispatchStore
import DispatchStoreTesting
import Logging
import Synchronization
import Testing

@testable import Recipes

@Suite struct SlowPartnerTests {
  private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  @Test func anUnknownAddressDoesNotOpenTheBreaker() async throws {
    let carrier = Carrier(Dispatcher(name: "test"), logger: logger) { _ in nil }
    for parcel in 1...9 { #expect(try await carrier.ship(parcel) == nil) }
    #expect(carrier.breaker.state == .closed)
  }

  @Test func aCarrierThatIsDownIsLeftInPeaceForThePause() async {
    struct IsDown: Error {}
    let clock = VirtualClock()
    let calls = Atomic(0)
    let carrier = Carrier(Dispatcher(name: "test", clock: clock), logger: logger) { _ in
      calls.add(1, ordering: .relaxed)
      throw IsDown()
    }
    for parcel in 1...9 { _ = try? await carrier.ship(parcel) }
    #expect(calls.load(ordering: .relaxed) == 5)
    clock.advance(by: .seconds(30))
    _ = try? await carrier.ship(10)
    #expect(calls.load(ordering: .relaxed) == 6)
  }
}
