/// One place at which two states of a model differ.
public struct ModelDifference: @unchecked Sendable {
  // because `old` and `new` are parts of models, which are Sendable
  /// Where, written as a Swift key path from the model: `orders["ann"].total`, `items[3].name`, `selected?.id`.
  ///
  /// A case of an enumeration is a step with the case's name (`state.loading.progress`), a member of a set
  /// one with the member (`tags["new"]`). An index is that in the newer array, of a removed element that in the
  /// older one. The model as a whole is `self`.
  public let keyPath: String
  /// What was there; nil where there was nothing.
  public let old: Any?
  /// What is there now; nil where there is nothing.
  public let new: Any?

  /// A value on one line, however long; of objects no fields, which other threads may be changing.
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
