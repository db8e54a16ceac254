/// An error that a client sees.
struct ShopError: Error {
  enum Code {
    case malformed, tooLarge, invalid, notFound, conflict, tooManyRequests, timeout, unavailable
  }

  let code: Code
  let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  static let invalidName = ShopError(
    .invalid, "customer and sku have 1 to 200 bytes of UTF-8, and no control characters.")
}
