/// Reads what each commit changes in a part of a model, for one follower.
///
/// Called in the store's exclusive section, with addresses of models.
@usableFromInline
class PartTracker: @unchecked Sendable {  // because the store's lock guards it
  @usableFromInline
  init() {}

  /// Begins with the part as it is.
  @usableFromInline
  func begin(_ model: UnsafeRawPointer) { fatalError("PartTracker is abstract.") }

  /// Returns what has changed since the last call, or since `begin`; nil if nothing has.
  @usableFromInline
  func takeChange(_ model: UnsafeRawPointer) -> PartChange? {
    fatalError("PartTracker is abstract.")
  }

  /// Ends reading.
  @usableFromInline
  func end(_ model: UnsafeRawPointer) { fatalError("PartTracker is abstract.") }

  /// Empties the part of a copy of the model.
  @usableFromInline
  func empty(_ copy: UnsafeMutableRawPointer) { fatalError("PartTracker is abstract.") }

  /// Exchanges the part of two models.
  @usableFromInline
  func swapParts(_ one: UnsafeMutableRawPointer, _ other: UnsafeMutableRawPointer) {
    fatalError("PartTracker is abstract.")
  }
}

/// The changes that commits have made in a part of a model.
@usableFromInline
class PartChange: @unchecked Sendable {  // because it is constant
  /// The changed elements by their keys; an element that was not there, or is not, is nil.
  @usableFromInline typealias Element = (key: Any, old: Any?, new: Any?)

  @usableFromInline
  init() {}

  /// The part.
  @usableFromInline var path: AnyKeyPath { fatalError("PartChange is abstract.") }

  /// The changed elements; nil if the part was assigned as a whole, so that they are not known.
  @usableFromInline var elements: [Element]? { fatalError("PartChange is abstract.") }

  /// Whether the former content is known.
  @usableFromInline var canBeUndone: Bool { fatalError("PartChange is abstract.") }

  /// Makes the part what it was before, in the store's exclusive section.
  @usableFromInline
  func undo(in model: UnsafeMutableRawPointer) { fatalError("PartChange is abstract.") }

  /// Makes the part what it was afterwards, in the store's exclusive section.
  @usableFromInline
  func redo(in model: UnsafeMutableRawPointer) { fatalError("PartChange is abstract.") }

  /// Returns this change and a later one of the same part as one.
  @usableFromInline
  func merged(with later: PartChange) -> PartChange { fatalError("PartChange is abstract.") }
}
