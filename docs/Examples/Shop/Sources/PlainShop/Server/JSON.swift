import Foundation
import Hummingbird
import NIOCore

private let encoder = JSONEncoder()
private let decoder = JSONDecoder()

/// A response with a value as JSON.
func jsonResponse(
  _ value: some Encodable, status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
) throws -> Response {
  let body = ByteBuffer(bytes: try encoder.encode(value))
  var headers = headers
  headers[.contentType] = "application/json"
  headers[.contentLength] = "\(body.readableBytes)"
  return Response(status: status, headers: headers, body: .init(byteBuffer: body))
}

extension OrderEvent {
  /// The event in the format of server-sent events.
  func serverSentEvent() throws -> ByteBuffer {
    var buffer = ByteBuffer(string: "id: \(number)\nevent: \(order.state)\ndata: ")
    buffer.writeBytes(try encoder.encode(order))
    buffer.writeString("\n\n")
    return buffer
  }
}

extension Request {
  /// The body, which is JSON of at most 64 KiB.
  func json<Value: Decodable>(_: Value.Type = Value.self) async throws -> Value {
    do {
      let body = try await body.collect(upTo: 64 * 1024)
      return try decoder.decode(Value.self, from: Data(body.readableBytesView))
    } catch is NIOTooManyBytesError {
      throw ShopError(.tooLarge, "The body is above 64 KiB.")
    } catch let error as DecodingError {
      throw ShopError(.malformed, error.reason)
    }
  }
}

extension DecodingError {
  fileprivate var reason: String {
    switch self {
    case .keyNotFound(let key, _): "The field \(key.stringValue) is missing."
    case .typeMismatch(_, let context), .valueNotFound(_, let context):
      "\(context.codingPath.last.map { "The field \($0.stringValue)" } ?? "The body") has another type."
    default: "The body is no JSON that fits."
    }
  }
}
