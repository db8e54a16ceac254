import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Tracing

/// The client of the bank.
struct Gateway: Sendable {
  enum Answer: Sendable {
    case charged(receipt: String)
    case declined
    case refunded
  }

  struct UnexpectedStatus: Error { let code: UInt }

  private struct Call: Encodable {
    let key: String
    let order: Int
    var amount: Int?
    var receipt: String?
  }
  private struct Receipt: Decodable { let receipt: String }

  let url: String
  let client: HTTPClient

  /// Asks once.
  ///
  /// It throws if there is no answer in two seconds.
  func send(_ payment: Payment) async throws -> Answer {
    try await withSpan("gateway.\(payment.kind)", ofKind: .client) { span in
      span.attributes["shop.order"] = payment.order
      switch payment.kind {
      case .charge:
        return try await post(
          "/charges", Call(key: payment.key, order: payment.order, amount: payment.amount))
      case .refund:
        return try await post(
          "/refunds", Call(key: payment.key, order: payment.order, receipt: payment.receipt))
      }
    }
  }

  private func post(_ path: String, _ call: Call) async throws -> Answer {
    var request = HTTPClientRequest(url: url + path)
    request.method = .POST
    request.headers.add(name: "content-type", value: "application/json")
    request.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(call)))
    let deadline = NIODeadline.now() + .seconds(2)
    let response = try await client.execute(request, deadline: deadline)
    let body = try await response.body.collect(upTo: 64 * 1024)
    switch response.status {
    case .ok where call.receipt != nil: return .refunded
    case .ok:
      let receipt = try JSONDecoder().decode(Receipt.self, from: Data(body.readableBytesView))
      return .charged(receipt: receipt.receipt)
    case .paymentRequired where call.receipt == nil: return .declined
    default: throw UnexpectedStatus(code: response.status.code)
    }
  }
}
