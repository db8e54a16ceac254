/// Who follows which order.
struct Subscribers {
  private var byOrder: [Int: [Int: AsyncStream<OrderEvent>.Continuation]] = [:]
  private var last = 0

  mutating func add(_ continuation: AsyncStream<OrderEvent>.Continuation, to order: Int) -> Int {
    last += 1
    byOrder[order, default: [:]][last] = continuation
    return last
  }

  mutating func remove(_ subscription: Int, of order: Int) {
    byOrder[order]?[subscription] = nil
    if byOrder[order]?.isEmpty == true { byOrder[order] = nil }
  }

  /// Sends the newest event of an order, and ends its streams after a final one.
  mutating func publish(_ order: Order) {
    guard let continuations = byOrder[order.id]?.values else { return }
    let event = OrderEvent(number: order.state.path.count, order: order)
    for continuation in continuations {
      continuation.yield(event)
      if order.state.isFinal { continuation.finish() }
    }
  }
}
