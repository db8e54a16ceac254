/// The means to undo the changes of a model of which parts are undone in place; the rest is copied.
final class InPlaceUndo: ModelUndo, @unchecked Sendable {
  // because its superclass is, and what it adds is constant
  /// The parts: the copy is without them.
  let parts: [PartUndo]
  /// The means to undo by a copy.
  let base: ModelUndo

  init(_ parts: [PartUndo], copyingBy base: ModelUndo) {
    (self.parts, self.base) = (parts, base)
    super.init(
      copy: base.copy,
      begin: { model in
        base.begin(model)
        for part in parts { part.begin(model, base.copy) }
      },
      undo: { model in
        parts.map { $0.undo(model, base.copy) } + base.undo(model)
      },
      end: { model in
        base.end(model)
        for part in parts { part.end(model) }
      },
      free: {})
  }
}

/// The means to undo the changes of a part of a model in place.
@usableFromInline
final class PartUndo: Sendable {
  /// The part.
  let path: any AnyKeyPath & Sendable
  /// Empties the part of a copy of the model, so that the model has the only reference to its storage again, and begins
  /// to record changes.
  ///
  /// Takes the address of the copy as well, as `undo` does.
  @usableFromInline let begin: Work
  /// Undoes the changes since `begin`, and moves the part to the copy; returns what is to be released after the lock.
  @usableFromInline let undo: Undo
  /// Ends recording.
  @usableFromInline let end: ModelUndo.Work
  /// Makes a tracker of what commits change in the part.
  let track: @Sendable () -> PartTracker

  @usableFromInline
  typealias Work = @Sendable (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
  @usableFromInline
  typealias Undo = @Sendable (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> any Sendable

  @usableFromInline
  init(
    _ path: any AnyKeyPath & Sendable, begin: @escaping Work, undo: @escaping Undo,
    end: @escaping ModelUndo.Work, track: @escaping @Sendable () -> PartTracker
  ) {
    (self.path, self.begin, self.undo, self.end) = (path, begin, undo, end)
    self.track = track
  }
}
