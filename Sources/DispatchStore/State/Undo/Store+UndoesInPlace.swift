extension Store {
  /// Undoes changes of a dictionary in place, if an atomic action is undone.
  ///
  ///     struct Bank: ModelType {
  ///       var accounts = TrackedDictionary<String, Account>()
  ///       var total = 0
  ///     }
  ///
  ///     let bank = dispatcher.register(store: Store(model: Bank(), reducer: BankReducer()).undoesInPlace(\.accounts))
  ///
  /// To undo a change of any other value, an atomic action copies that value before, and its reduction copies on write
  /// what it changes: of a dictionary, all elements. A dictionary that you name here records its changes instead, so an
  /// atomic action costs what it changes. The undo costs the same again.
  ///
  /// Changes of the elements and `replaceContents(with:)` can be undone, the assignment of another dictionary can't. A
  /// reduction of an atomic action that assigns one stops the program.
  ///
  /// Call it again for each further dictionary.
  ///
  /// - Parameter path: The dictionary, by stored properties without `didSet` or `willSet`. Any other is set when an
  ///   atomic action begins and ends: what its code changes is not undone, and the dictionary is copied.
  /// - Returns: The store.
  /// - Precondition: The dictionary is in no object.
  @discardableResult
  @inlinable
  public func undoesInPlace<Key, Value>(
    _ path: any WritableKeyPath<Model, TrackedDictionary<Key, Value>> & Sendable
  ) -> Store {
    storage.addUndo(of: .dictionary(path))
    return self
  }
}

extension StoreStorage {
  /// The parts of the model that are undone in place, under the lock.
  var partsUndoneInPlace: [PartUndo] { (undo as? InPlaceUndo)?.parts ?? [] }

  /// Adds a part that is undone in place.
  @usableFromInline
  func addUndo(of part: PartUndo) {
    ExclusiveSection.check(self, "changed", on: .current)
    // Releases what is no longer needed, outside of the lock.
    var kept = KeptCommit()
    let former = withLock { notifications in
      let (former, parts) = (undo, partsUndoneInPlace)
      if parts.contains(where: { ($0.path as AnyKeyPath) == part.path }) { return former }
      undo = InPlaceUndo(parts + [part], copyingBy: (former as? InPlaceUndo)?.base ?? former)
      ObserverList.forEach(in: notifications.observersOutOfTurn.slots) { observer, _ in
        guard let tape = observer as? StoreTape, !tape.isCancelled else { return }
        // Begins anew, since what it has kept would assign an earlier value to the part, which an atomic action can't.
        tape.modelWasLoaded(modelAddress, version: version, &kept)
      }
      return former
    }
    withExtendedLifetime((former, kept)) {}
  }
}
