import DispatchStore
import DispatchStoreServer
import Foundation
import ShopCore

/// The events of an order from a number on, until a final one.
///
/// An order knows its states, so a client that was away gets those that it has missed, and one that is slow misses none.
struct OrderEvents: AsyncSequence, Sendable {
  let orders: HandlerStore<Orders>
  let id: Int
  /// The number of the last event that the client has.
  let last: Int

  struct AsyncIterator: AsyncIteratorProtocol {
    var changes: StoreStream<Change<Order?, HandledAction>>.Iterator
    let orders: HandlerStore<Orders>
    let id: Int
    var order: Order?
    var last: Int

    mutating func next() async throws -> ServerSentEvent? {
      while order.map({ last >= $0.states.count }) ?? true {
        if order?.state.isFinal == true { return nil }
        guard await changes.next() != nil else { return nil }
        order = try await orders.savedElement(\.all, id)
      }
      last += 1
      let answer = OrderAnswer(order!, at: last)
      let data = String(decoding: try JSONEncoder().encode(answer), as: UTF8.self)
      return ServerSentEvent(id: "\(last)", event: answer.state.rawValue, data: data)
    }
  }

  func makeAsyncIterator() -> AsyncIterator {
    let changes = orders.stream(.element(\.all, id), initial: true).makeAsyncIterator()
    return AsyncIterator(changes: changes, orders: orders, id: id, last: last)
  }
}
