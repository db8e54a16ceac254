import DispatchStore

struct LoadPrice: ActionType {
  typealias Reply = Int
  let sku: String
}
/// The price has changed, or has been kept for long enough.
struct ForgetPrice: ActionType { let sku: String }

struct PriceCache: Sendable {
  let dispatcher: Dispatcher  // A store does not keep its dispatcher.
  let prices: HandlerStore<[String: Int]>

  init(
    _ dispatcher: Dispatcher, keptFor time: Duration = .seconds(60),
    load: @escaping @Sendable (String) async throws -> Int
  ) {
    self.dispatcher = dispatcher
    prices = dispatcher.register(
      store: Store(identifier: "prices", model: [:]) {
        Perform(LoadPrice.self) { action, context in
          let price = try await load(action.sku)
          try context.updateModel { $0[action.sku] = price }
          // It outlives the load.
          context.dispatcher.dispatch(
            ForgetPrice(sku: action.sku), mode: .serial(lane: key(action.sku)),
            options: [.delayed(by: time, name: key(action.sku)), .detached])
          return price
        }
        On(ForgetPrice.self) { prices, forget in prices[forget.sku] = nil }
      })
  }

  func price(of sku: String) async throws -> Int {
    if let price = prices.withModel({ $0[sku] }) { return price }
    // Detached, since others join it: it goes on if the caller who began it is cancelled.
    return try await dispatcher.send(
      LoadPrice(sku: sku), mode: .serial(lane: key(sku)),
      options: [.idempotencyKey(key(sku), remembered: .zero), .timeout(.seconds(2)), .detached]
    ).reply
  }

  func forget(_ sku: String) async throws {
    // Without defaults, and detached: if it were refused, late or cancelled, the old price would stay.
    try await dispatcher.send(
      ForgetPrice(sku: sku), mode: .serial(lane: key(sku)),
      options: [.timeout(nil), .limited(), .detached]
    ).get()
  }
}

/// The lane, the idempotency key and the name of a price.
private func key(_ sku: String) -> String { "price of \(sku)" }
