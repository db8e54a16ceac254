/// Reads what each commit changes in a part of a model, for one follower.
///
/// Called in the store's exclusive section, with addresses of models.
@usableFromInline
protocol PartTracker: AnyObject, Sendable {
  /// Begins with the part as it is.
  func begin(_ model: UnsafeRawPointer)

  /// Returns what has changed since the last call, or since `begin`; nil if nothing has.
  func takeChange(_ model: UnsafeRawPointer) -> (any PartChange)?

  /// Ends reading.
  func end()

  /// Empties the part of a copy of the model.
  func empty(_ copy: UnsafeMutableRawPointer)

  /// Exchanges the part of two models.
  func swapParts(_ one: UnsafeMutableRawPointer, _ other: UnsafeMutableRawPointer)
}

/// The changes that commits have made in a part of a model.
@usableFromInline
protocol PartChange: AnyObject, Sendable {
  /// The changed elements by their keys; an element that was not there, or is not, is nil.
  typealias Element = (key: Any, old: Any?, new: Any?)

  /// The part.
  var path: AnyKeyPath { get }

  /// The changed elements; nil if the part was assigned as a whole, so that they are not known.
  var elements: [Element]? { get }

  /// Whether the former content is known.
  var canBeUndone: Bool { get }

  /// Makes the part what it was before, in the store's exclusive section.
  func undo(in model: UnsafeMutableRawPointer)

  /// Makes the part what it was afterwards, in the store's exclusive section.
  func redo(in model: UnsafeMutableRawPointer)

  /// Returns this change and a later one of the same part as one.
  func merged(with later: any PartChange) -> any PartChange
}
