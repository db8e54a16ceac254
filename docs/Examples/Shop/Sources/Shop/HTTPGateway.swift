import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ShopCore

/// The bank, over HTTP.
struct HTTPGateway: PaymentGateway {
  struct Failed: Error {
    let status: UInt
  }

  let client: HTTPClient
  let url: String

  func charge(_ amount: Int, order: Int, key: String) async throws -> String? {
    struct Receipt: Decodable { let receipt: String }
    let body = try await post("charges", ["key": key, "order": order, "amount": amount])
    return try body.map { try JSONDecoder().decode(Receipt.self, from: $0).receipt }
  }

  func refund(receipt: String, order: Int, key: String) async throws {
    let body = try await post("refunds", ["key": key, "order": order, "receipt": receipt])
    if body == nil { throw Failed(status: 402) }  // A refund can't be declined.
  }

  /// Returns the body of the answer; nil if the bank declines.
  private func post(_ path: String, _ fields: [String: any Sendable]) async throws -> Data? {
    var request = HTTPClientRequest(url: "\(url)/\(path)")
    request.method = .POST
    request.headers.add(name: "content-type", value: "application/json")
    request.body = .bytes(try JSONSerialization.data(withJSONObject: fields))
    let response = try await client.execute(request, timeout: .seconds(2))
    switch response.status {
    case .ok: return Data(try await response.body.collect(upTo: 64 << 10).readableBytesView)
    case .paymentRequired: return nil
    default: throw Failed(status: response.status.code)
    }
  }
}
