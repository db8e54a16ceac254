/// Undoes changes of a model: those of large collections in place, the rest by a copy.
final class InPlaceUndo<Model: Sendable>: ModelUndo, @unchecked Sendable {
  // because its superclass is
  let parts: [PartUndo<Model>]
  /// The model without the collections.
  private var rest: Model?

  init(_ parts: [PartUndo<Model>]) {
    self.parts = parts
  }

  override func begin(_ model: UnsafeMutableRawPointer) {
    var rest = model.assumingMemoryBound(to: Model.self).pointee
    withUnsafeMutablePointer(to: &rest) { rest in
      // First, so that the collections of the model have the only references to their storage again.
      for part in parts { part.empty(UnsafeMutableRawPointer(rest)) }
    }
    for part in parts { part.begin(model) }
    self.rest = rest
  }

  override func undo(_ model: UnsafeMutableRawPointer) {
    guard var rest = rest.take() else { return }
    for part in parts { part.undo(model) }
    withUnsafeMutablePointer(to: &rest) { rest in
      for part in parts { part.swap(UnsafeMutableRawPointer(rest), model) }
    }
    model.assumingMemoryBound(to: Model.self).pointee = rest
  }

  override func end(_ model: UnsafeMutableRawPointer) {
    rest = nil
    for part in parts { part.end(model) }
  }
}

/// Undoes changes of a part of a model in place.
class PartUndo<Model: Sendable>: @unchecked Sendable {
  // because the store's lock guards all mutable state
  /// The part.
  final let path: AnyKeyPath

  init(_ path: AnyKeyPath) {
    self.path = path
  }

  /// Empties the part of a copy of the model.
  func empty(_ model: UnsafeMutableRawPointer) { fatalError("PartUndo is abstract.") }

  /// Begins to record changes.
  func begin(_ model: UnsafeMutableRawPointer) { fatalError("PartUndo is abstract.") }

  /// Undoes the changes since `begin`.
  func undo(_ model: UnsafeMutableRawPointer) { fatalError("PartUndo is abstract.") }

  /// Exchanges the parts of two models.
  func swap(_ one: UnsafeMutableRawPointer, _ other: UnsafeMutableRawPointer) {
    fatalError("PartUndo is abstract.")
  }

  /// Ends recording.
  func end(_ model: UnsafeMutableRawPointer) { fatalError("PartUndo is abstract.") }
}

/// Undoes changes of a dictionary by the log of its changes.
final class DictionaryUndo<Model: Sendable, Key: Hashable & Sendable, Value: Sendable>:
  PartUndo<Model>, @unchecked Sendable
{
  // because its superclass is
  private typealias Elements = TrackedDictionary<Key, Value>

  private let typedPath: any WritableKeyPath<Model, TrackedDictionary<Key, Value>> & Sendable
  /// The dictionary's offset in the model; nil if it is computed, or stored behind a reference.
  private let offset: Int?
  private let hold = ChangeLogHold()
  private let none = Elements()

  init(_ path: any WritableKeyPath<Model, TrackedDictionary<Key, Value>> & Sendable) {
    typedPath = path
    offset = MemoryLayout<Model>.offset(of: path)
    super.init(path)
  }

  private func modify(_ model: UnsafeMutableRawPointer, _ body: (inout Elements) -> Void) {
    if let offset {
      body(&(model + offset).assumingMemoryBound(to: Elements.self).pointee)
    } else {
      body(&model.assumingMemoryBound(to: Model.self).pointee[keyPath: typedPath])
    }
  }

  override func empty(_ model: UnsafeMutableRawPointer) {
    modify(model) { $0 = none }
  }

  override func begin(_ model: UnsafeMutableRawPointer) {
    hold.advance()
    modify(model) { $0.hold(by: hold) }
  }

  override func undo(_ model: UnsafeMutableRawPointer) {
    modify(model) {
      check($0)
      $0.undoHeld()
      hold.advance()
      $0.endHold()
    }
  }

  override func swap(_ one: UnsafeMutableRawPointer, _ other: UnsafeMutableRawPointer) {
    modify(one) { one in modify(other) { Swift.swap(&one, &$0) } }
  }

  override func end(_ model: UnsafeMutableRawPointer) {
    modify(model) {
      check($0)
      hold.advance()
      $0.endHold()
    }
  }

  private func check(_ dictionary: Elements) {
    if dictionary.isHeld(by: hold) { return }
    stopProgram(
      """
      Store "\(ThreadState.current.exclusive?.identifier ?? "")": a reduction of an atomic action has assigned \
      another value to \(path), which undoesInPlace names, so the change can't be undone. Change its \
      elements, or take over other contents by replaceContents(with:).
      """)
  }
}
