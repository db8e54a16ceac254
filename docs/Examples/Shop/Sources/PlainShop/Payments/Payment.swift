import Foundation

/// A call of the gateway that an order waits for.
struct Payment: Sendable {
  enum Kind: String, Sendable { case charge, refund }

  let order: Int
  let kind: Kind
  /// The same in all attempts, so that the gateway books once.
  let key: String
  let amount: Int
  let receipt: String?
  var failures = 0

  init(order: Int, kind: Kind, key: String, amount: Int, receipt: String?) {
    self.order = order
    self.kind = kind
    self.key = key
    self.amount = amount
    self.receipt = receipt
  }

  init(charging order: Order) {
    self.init(
      order: order.id, kind: .charge, key: UUID().uuidString, amount: order.amount, receipt: nil)
  }

  init(refunding order: Order, receipt: String) {
    self.init(
      order: order.id, kind: .refund, key: UUID().uuidString, amount: order.amount,
      receipt: receipt)
  }

  /// The pause before the next attempt: 0.1 s, doubled up to 5 s, half of it drawn.
  var backoff: Duration {
    let full = min(0.1 * pow(2, Double(failures - 1)), 5)
    return .seconds(full * .random(in: 0.5...1))
  }
}

/// The queue of payments.
///
/// The outbox table holds the same, so a restart fills it again.
struct Outbox: Sendable {
  let payments: AsyncStream<Payment>
  private let continuation: AsyncStream<Payment>.Continuation

  init() { (payments, continuation) = AsyncStream.makeStream() }

  func add(_ payment: Payment) { continuation.yield(payment) }
}
