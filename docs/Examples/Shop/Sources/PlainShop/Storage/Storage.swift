/// A database of the shop.
protocol Storage: Sendable {
  /// Reads all that was saved.
  func load() throws -> SavedState

  /// Writes all changes in one transaction.
  func write(_ changes: [Change]) async throws

  func close() throws
}

/// What a restart takes up.
struct SavedState: Sendable {
  var orders: [Int: Order] = [:]
  var stock: [String: Goods] = [:]
  var keys: [String: Int] = [:]
  var payments: [Payment] = []
}
