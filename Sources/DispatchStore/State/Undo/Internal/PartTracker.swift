/// Reads what each commit changes in a part of a model, for one follower.
///
/// Closures, which are specialized where the types are known, as a method of a generic class is not. All are called in
/// the store's exclusive section, with addresses of models.
@usableFromInline
final class PartTracker: @unchecked Sendable {
  // because the store's lock guards what the closures change
  /// Begins with the part as it is.
  let begin: (_ model: UnsafeRawPointer) -> Void
  /// Returns what has changed since the last call, or since `begin`; nil if nothing has.
  let takeChange: (_ model: UnsafeRawPointer) -> (any PartChange)?
  /// Ends reading.
  let end: () -> Void
  /// Empties the part of a copy of the model.
  let empty: (_ copy: UnsafeMutableRawPointer) -> Void
  /// Exchanges the part of two models.
  let swapParts: (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void

  @usableFromInline
  init(
    begin: @escaping (UnsafeRawPointer) -> Void,
    takeChange: @escaping (UnsafeRawPointer) -> (any PartChange)?, end: @escaping () -> Void,
    empty: @escaping (UnsafeMutableRawPointer) -> Void,
    swapParts: @escaping (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
  ) {
    (self.begin, self.takeChange, self.end) = (begin, takeChange, end)
    (self.empty, self.swapParts) = (empty, swapParts)
  }
}

/// The changes that commits have made in a part of a model.
@usableFromInline
protocol PartChange: AnyObject, Sendable {
  /// The changed elements by their keys; an element that was not there, or is not, is nil.
  typealias Element = (key: Any, old: Any?, new: Any?)

  /// The part's key path as text.
  var name: String { get }

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
