extension Store {
  /// Undoes changes of these dictionaries in place, if an atomic action is undone.
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
  /// You can call it again to name further dictionaries.
  ///
  /// - Parameter paths: The dictionaries, by properties.
  /// - Returns: The store.
  @discardableResult
  public func undoesInPlace<each Key, each Value>(
    _ paths: repeat any WritableKeyPath<Model, TrackedDictionary<each Key, each Value>> & Sendable
  ) -> Store {
    var parts: [PartUndo<Model>] = []
    repeat parts.append(DictionaryUndo(each paths))
    ExclusiveSection.check(storage, "changed", on: .current)
    // The former object is released outside of the lock.
    let former = storage.withLock { _ in
      let former = storage.undo
      let present = (former as? InPlaceUndo<Model>)?.parts ?? []
      let added = parts.filter { part in !present.contains { $0.path == part.path } }
      storage.undo = InPlaceUndo(present + added)
      return former
    }
    withExtendedLifetime(former) {}
    return self
  }
}
