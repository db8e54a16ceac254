import DispatchStoreServer
import Foundation
import Hummingbird
import ShopCore

struct StockRequest: Decodable {
  let add: Int, price: Int
}

struct OrderRequest: Decodable {
  let customer: String, sku: String, count: Int
}

struct StockAnswer: ResponseEncodable {
  let sku: String
  let available: Int, price: Int

  init(_ sku: String, _ goods: Goods) {
    (self.sku, available, price) = (sku, goods.available, goods.price)
  }
}

struct OrderAnswer: ResponseEncodable {
  let id: Int
  let customer: String, sku: String
  let count: Int, amount: Int
  let state: Order.State
  let receipt: String?

  /// - Parameter number: The event at which the order is shown; the last one if nil.
  init(_ order: Order, at number: Int? = nil) {
    (id, customer, sku) = (order.id, order.customer, order.sku)
    (count, amount) = (order.count, order.amount)
    state = number.map { order.states[$0 - 1] } ?? order.state
    receipt = state == .placed ? nil : order.receipt
  }
}

extension ShopError: AnswerError {}

extension HTTPError {
  static func invalid(_ message: String) -> HTTPError {
    HTTPError(.unprocessableContent, message: message)
  }

  static let invalidName = invalid(
    "customer and sku have 1 to 200 bytes of UTF-8, and no control characters.")

  /// The answer to an error of the shop; nil leaves it to the library.
  static func of(_ error: any Error) -> HTTPError? {
    switch error {
    case ShopError.unknownGoods(let sku): HTTPError(.notFound, message: "There is no \(sku).")
    case ShopError.unknownOrder(let id): HTTPError(.notFound, message: "There is no order \(id).")
    case ShopError.soldOut(let sku, let left):
      HTTPError(.conflict, message: "\(left) pieces of \(sku) are left.")
    case ShopError.wrongState(let id, let state):
      HTTPError(.conflict, message: "Order \(id) is \(state.rawValue).")
    default: nil
    }
  }
}

extension String {
  /// Whether it may be a key or a column of a database: short, and nothing in it but what is seen.
  var isName: Bool {
    1...200 ~= utf8.count && !unicodeScalars.contains { $0.properties.generalCategory == .control }
  }
}

/// A request, with a body of at most 64 KiB.
struct ShopContext: RequestContext {
  var coreContext: CoreRequestContextStorage

  init(source: ApplicationRequestContextSource) { coreContext = .init(source: source) }

  var maxUploadSize: Int { 64 << 10 }
  // Made once: by default each request makes its own.
  var requestDecoder: JSONDecoder { Self.decoder }
  var responseEncoder: JSONEncoder { Self.encoder }
  private static let (decoder, encoder) = (JSONDecoder(), JSONEncoder())
}
