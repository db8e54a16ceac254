import Foundation
import HTTPTypes
public import Hummingbird

extension RequestContext {
  /// A parameter of the path, without its percent-encoding, which the router leaves as it is.
  ///
  /// - Throws: An `HTTPError` with the status 422 if it is not UTF-8.
  public func decoded(_ name: String) throws -> String {
    guard let value = try parameters.require(name).removingPercentEncoding else {
      throw HTTPError(.unprocessableContent, message: "The path is not UTF-8.")
    }
    return value
  }
}

extension Request {
  /// The identifier of the last event that the client has got, if it comes back.
  public var lastEventID: String? { headers[.lastEventID] }

  /// The client's idempotency key; nil if it sends none.
  ///
  /// A key has no space and no line break: these can separate it from what it belongs to.
  ///
  /// - Throws: An `HTTPError` with the status 422 if it has not 1 to 200 visible characters of ASCII.
  public func idempotencyKey() throws -> String? {
    guard let key = headers[.idempotencyKey] else { return nil }
    guard 1...200 ~= key.utf8.count, key.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
      throw HTTPError(
        .unprocessableContent,
        message: "Idempotency-Key has 1 to 200 visible characters of ASCII.")
    }
    return key
  }
}

extension HTTPField.Name {
  fileprivate static let lastEventID = Self("Last-Event-ID")!
  fileprivate static let idempotencyKey = Self("Idempotency-Key")!
}
