extension PartUndo {
  /// Makes the means to undo the changes of a dictionary by the log of its changes.
  ///
  /// - Precondition: The dictionary is in no object, of which a copy of the model would have the same one.
  @inlinable
  static func dictionary<Model: Sendable, Key, Value>(
    _ keyPath: any WritableKeyPath<Model, TrackedDictionary<Key, Value>> & Sendable
  ) -> PartUndo {
    let isInObject =
      (keyPath as AnyKeyPath) is ReferenceWritableKeyPath<Model, TrackedDictionary<Key, Value>>
    if isInObject { stopInObject(keyPath) }
    let part = PartPath<TrackedDictionary<Key, Value>>.property(keyPath)
    let hold = ChangeLogHold()
    // Shared by all, so that emptying a copy makes no new log.
    let none = TrackedDictionary<Key, Value>()
    let path = DictionaryPath(part)
    let size = MemoryLayout<TrackedDictionary<Key, Value>>.size
    return PartUndo(
      keyPath, bytes: part.offset.map { $0..<$0 + size } ?? -1..<0,
      empty: { copy in _ = part.modify(copy) { $0.pointee = none } },
      swapParts: { one, other in
        _ = part.modify(one) { one in
          _ = part.modify(other) { swap(&one.pointee, &$0.pointee) }
        }
      },
      hold: { model in
        hold.advance()
        _ = part.modify(model) { $0.pointee.hold(by: hold) }
      },
      undo: { model in
        var undone: [Value] = []
        _ = part.modify(model) { dictionary in
          if !dictionary.pointee.log.isHeld(by: hold) { hold.stopAtOther(keyPath) }
          undone = dictionary.pointee.undoHeld()
          hold.advance()
          dictionary.pointee.endHold()
        }
        return undone
      },
      end: { model in
        _ = part.modify(model) { dictionary in
          if !dictionary.pointee.log.isHeld(by: hold) { hold.stopAtOther(keyPath) }
          hold.advance()
          dictionary.pointee.endHold()
        }
      },
      beginReading: { model, reader in _ = part.read(model) { reader.begin($0.pointee.log) } },
      takeChange: { model, reader in
        var changes: [ElementChange<Key, Value>]?
        _ = part.read(model) { changes = $0.pointee.takeChanges(for: &reader) }
        return changes?.isEmpty == true ? nil : DictionaryChange(path, changes)
      })
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
