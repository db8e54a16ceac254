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
    let part = PartPath<TrackedDictionary<Key, Value>>.property(path)
    let hold = ChangeLogHold()
    // Shared by all, so that emptying a copy makes no new log.
    let none = TrackedDictionary<Key, Value>()
    return PartUndo(
      path,
      begin: { model, copy in
        _ = part.modify(copy) { $0.pointee = none }
        hold.advance()
        _ = part.modify(model) { $0.pointee.hold(by: hold) }
      },
      undo: { model, copy in
        var undone: [Value] = []
        _ = part.modify(model) { dictionary in
          if !dictionary.pointee.log.isHeld(by: hold) { hold.stopAtOther(path) }
          undone = dictionary.pointee.undoHeld()
          hold.advance()
          dictionary.pointee.endHold()
          _ = part.modify(copy) { swap(&$0.pointee, &dictionary.pointee) }
        }
        return undone
      },
      end: { model in
        _ = part.modify(model) { dictionary in
          if !dictionary.pointee.log.isHeld(by: hold) { hold.stopAtOther(path) }
          hold.advance()
          dictionary.pointee.endHold()
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
