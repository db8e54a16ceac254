/// The means to undo the changes of a part of a model in place, and to read those of each commit.
///
/// Closures, which are specialized where the types are known, as a method of a generic class is not. All are called in
/// the store's exclusive section, with addresses of models.
@usableFromInline
final class PartUndo: Sendable {
  /// The part.
  let path: any AnyKeyPath & Sendable
  /// The place of the bytes in the model; before zero if the part is not stored inline.
  let bytes: Range<Int>
  /// Empties the part of a copy of the model, so that the model has the only reference to its storage again.
  let empty: ModelUndo.Work
  /// Exchanges the part of two models.
  let swapParts: @Sendable (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
  /// Begins to record changes.
  let hold: ModelUndo.Work
  /// Undoes the changes since `hold`, and ends recording; returns what is to be released after the lock.
  let undo: @Sendable (UnsafeMutableRawPointer) -> any Sendable
  /// Ends recording.
  let end: ModelUndo.Work
  /// Lets a reader begin with the part as it is.
  let beginReading: @Sendable (UnsafeRawPointer, inout ChangeReader) -> Void
  /// Returns what has changed since the reader's last call; nil if nothing has.
  let takeChange: @Sendable (UnsafeRawPointer, inout ChangeReader) -> (any PartChange)?

  @usableFromInline
  init(
    _ path: any AnyKeyPath & Sendable, bytes: Range<Int>, empty: @escaping ModelUndo.Work,
    swapParts: @escaping @Sendable (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void,
    hold: @escaping ModelUndo.Work,
    undo: @escaping @Sendable (UnsafeMutableRawPointer) -> any Sendable,
    end: @escaping ModelUndo.Work,
    beginReading: @escaping @Sendable (UnsafeRawPointer, inout ChangeReader) -> Void,
    takeChange: @escaping @Sendable (UnsafeRawPointer, inout ChangeReader) -> (any PartChange)?
  ) {
    (self.path, self.bytes, self.empty, self.swapParts) = (path, bytes, empty, swapParts)
    (self.hold, self.undo, self.end) = (hold, undo, end)
    (self.beginReading, self.takeChange) = (beginReading, takeChange)
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
