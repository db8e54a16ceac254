extension PartUndo {
  /// Makes the means to undo the changes of a dictionary by the log of its changes.
  ///
  /// - Precondition: The dictionary is in no object, of which a copy of the model would have the same one.
  @inlinable
  static func dictionary<Model: Sendable, Key, Value>(
    _ path: any WritableKeyPath<Model, TrackedDictionary<Key, Value>> & Sendable
  ) -> PartUndo {
    let isInObject =
      (path as AnyKeyPath) is ReferenceWritableKeyPath<Model, TrackedDictionary<Key, Value>>
    if isInObject { stopInObject(path) }
    let part = WritablePart(path)
    let hold = ChangeLogHold()
    // Shared by all, so that emptying a copy makes no new log.
    let none = TrackedDictionary<Key, Value>()
    return PartUndo(
      path,
      begin: { model, copy in
        part.modify(copy) { $0 = none }
        hold.advance()
        part.modify(model) { $0.hold(by: hold) }
      },
      undo: { model, copy in
        var undone: [Value] = []
        part.modify(model) { dictionary in
          if !dictionary.isHeld(by: hold) { hold.stopAtOther(path) }
          undone = dictionary.undoHeld()
          hold.advance()
          dictionary.endHold()
          part.modify(copy) { swap(&$0, &dictionary) }
        }
        return undone
      },
      end: { model in
        part.modify(model) { dictionary in
          if !dictionary.isHeld(by: hold) { hold.stopAtOther(path) }
          hold.advance()
          dictionary.endHold()
        }
      },
      track: { .dictionary(part, emptyingBy: none) })
  }
}

extension PartUndo {
  @usableFromInline
  static func stopInObject(_ path: AnyKeyPath) -> Never {
    stopProgram(
      """
      undoesInPlace and persisted: .elements(…) can't name \(path): it leads through an object, so a copy of the model \
      has the same dictionary, which could not be emptied alone. Keep the dictionary in a struct.
      """)
  }
}

/// A part of a model, to be changed in place.
@usableFromInline
struct WritablePart<Model: Sendable, Value: Sendable>: Sendable {
  @usableFromInline let path: any WritableKeyPath<Model, Value> & Sendable
  /// The part's offset in the model; nil if it is computed, or stored behind a reference.
  @usableFromInline let offset: Int?

  @inlinable
  init(_ path: any WritableKeyPath<Model, Value> & Sendable) {
    self.path = path
    offset = MemoryLayout<Model>.offset(of: path)
  }

  @inlinable
  func read<Result>(_ model: UnsafeRawPointer, _ body: (borrowing Value) -> Result) -> Result {
    if let offset { return body((model + offset).assumingMemoryBound(to: Value.self).pointee) }
    return body(model.assumingMemoryBound(to: Model.self).pointee[keyPath: path])
  }

  @inlinable
  func modify(_ model: UnsafeMutableRawPointer, _ body: (inout Value) -> Void) {
    if let offset {
      body(&(model + offset).assumingMemoryBound(to: Value.self).pointee)
    } else {
      body(&model.assumingMemoryBound(to: Model.self).pointee[keyPath: path])
    }
  }
}

extension ChangeLogHold {
  /// Stops the program because a reduction has assigned a value that does not derive from the held one.
  @usableFromInline
  func stopAtOther(_ path: AnyKeyPath) -> Never {
    stopProgram(
      """
      Store "\(ThreadState.current.exclusive?.identifier ?? "")": a reduction of an atomic action has assigned \
      another value to \(path), which undoesInPlace or persisted: .elements(…) names, so the change can't be \
      undone. Change its elements, or take over other contents by replaceContents(with:).
      """)
  }
}
