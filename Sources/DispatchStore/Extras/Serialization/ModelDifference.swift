/// A place at which two states of a model differ.
///
///     for difference in ModelDifference.all(from: old, to: new) { print(difference) }
///     // orders["ann"].total: 3 → 4
public struct ModelDifference: @unchecked Sendable {
  // because `old` and `new` are parts of models, which are Sendable
  /// The place as a Swift key path from the model: `orders["ann"].total`, `items[3].name`, `selected?.id`.
  ///
  /// A case of an enumeration is a step with the case's name (`state.loading.progress`). A member of a set is a step
  /// with the member (`tags["new"]`). An index refers to the newer array; for a removed element, to the older one.
  /// The model as a whole is `self`.
  public let keyPath: String
  /// The old value; nil if there was none.
  public let old: Any?
  /// The new value; nil if there is none.
  public let new: Any?

  /// Returns the differences between two states, with fields in declaration order, and keys in the order of their
  /// descriptions.
  ///
  /// - Values are compared by `==` if their type has one. Otherwise they are compared field by field, by reflection.
  /// - Objects are compared by `==` or by identity. They are never compared by fields, because other threads may be
  ///   changing these.
  /// - In arrays, up to 200 insertions and removals are found. Beyond that, elements are compared by index.
  ///
  /// Takes time about linear in the size of both models. An array, dictionary or set of `Equatable` elements that
  /// shares its storage in both takes none.
  public static func all<Model>(from old: Model, to new: Model) -> [ModelDifference] {
    var comparison = ModelComparison()
    comparison.compare(old, new)
    return comparison.differences
  }

  /// Writes a value on one line of any length, without objects' fields, because other threads may be changing these.
  static func line(_ value: Any?) -> String {
    var writer = DiffWriter(readsObjects: false)
    return value.flatMap { writer.line($0) } ?? "nil"
  }
}

extension ModelDifference: CustomStringConvertible {
  /// The key path with both values, such as `orders["ann"].total: 3 → 4`.
  public var description: String {
    "\(keyPath): \(Self.line(old)) → \(Self.line(new))"
  }
}
