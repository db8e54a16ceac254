import Synchronization

/// Generates identifiers for stores that were given none.
@usableFromInline
enum GeneratedIdentifier {
  private static let count = Atomic<UInt64>(0)

  @usableFromInline
  static func next(for model: Any.Type) -> String {
    let world = ThreadState.current.simulated?.world
    let number = world?.makeNumber() ?? count.wrappingAdd(1, ordering: .relaxed).newValue
    return "\(model)#\(number)"
  }
}
