import DispatchStore
import DispatchStoreServer
import Logging

struct Ship: ActionType {
  typealias Reply = String?  // The tracking number; nil if the carrier does not know the address.
  let parcel: Int
}
/// The carrier says 503.
struct CarrierIsBusy: Error {}

struct Carrier: Sendable {
  let dispatcher: Dispatcher
  let breaker: CircuitBreaker  // Also for `DispatchMetrics(breakers:)`.
  let options: DispatchOptions

  init(
    _ dispatcher: Dispatcher, logger: Logger,
    call: @escaping @Sendable (Ship) async throws -> String?
  ) {
    breaker = CircuitBreaker(
      failures: 5, pause: .seconds(30), name: "carrier",
      onChange: { logger.log($0, ofBreaker: "carrier") })
    self.dispatcher = dispatcher
    dispatcher.register(
      store: Store(identifier: "carrier", model: 0) {
        Perform(Ship.self) { ship, _ in try await call(ship) }
      })
    options = [
      .timeout(.seconds(3)),  // For all of it: waiting, attempts and pauses.
      .limited(by: DispatchLimit(200, overflow: .reject, name: "calls of the carrier")),
      .rateLimited(by: RateLimit(50, per: .seconds(1), overflow: .wait, name: "carrier")),
      .guarded(by: breaker),
      .retry(
        attempts: 2, backoff: .exponential(from: .milliseconds(100)).withFullJitter(),
        where: { $0 is CarrierIsBusy }),
    ]
  }

  func ship(_ parcel: Int) async throws -> String? {
    try await dispatcher.send(Ship(parcel: parcel), options: options).reply
  }
}
