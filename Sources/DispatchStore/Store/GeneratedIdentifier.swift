import Synchronization

/// Identifiers for stores that were given none.
enum GeneratedIdentifier {
  private static let count = Atomic<UInt64>(0)

  static func next(for model: Any.Type) -> String {
    "\(model)#\(count.wrappingAdd(1, ordering: .relaxed).newValue)"
  }
}
