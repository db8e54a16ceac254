import Synchronization

/// Identifiers for stores that were given none.
@usableFromInline
enum GeneratedIdentifier {
  private static let count = Atomic<UInt64>(0)

  @usableFromInline
  static func next(for model: Any.Type) -> String {
    "\(model)#\(count.wrappingAdd(1, ordering: .relaxed).newValue)"
  }
}
