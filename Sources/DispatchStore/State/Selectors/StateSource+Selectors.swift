extension StateSource {
  /// A part of the model: a change for each commit that has changed it.
  ///
  /// Values of an `Equatable` type have changed if they differ from the previous one. Values of other types count as
  /// changed at each commit. The store keeps the last value, never the whole model, so the next commit that changes an
  /// array copies that array.
  ///
  /// - Parameter path: The part, which is read in the exclusive section of each commit, on its thread.
  public static func part(_ path: any KeyPath<Root, Value> & Sendable) -> Self {
    select(StateSelector(path))
  }

  /// The value of a selector: a change for each commit that has changed it.
  ///
  /// Each commit reads the inputs of the selector in its exclusive section, on its thread. If their bytes are the same
  /// as before, the commit keeps nothing. Otherwise values are compared, and combined selectors computed, where the
  /// change is delivered, with no lock held. The consumers of streams that have caught up with what the selector reads
  /// share the values that `Store.select` computes, and others compute only from what has changed. As with
  /// `select`, the store keeps the last values as long as the selector exists, also once the stream has ended.
  ///
  /// A value of a type that is not `Equatable` has changed if an input has.
  public static func select(_ selector: StateSelector<Root, Value>) -> Self {
    Self(
      .values { storage in
        let node = selector.node
        if node.plan.count == 1 {
          let reader = PartReader(node)
          return StateReader(
            CommitReader(begin: reader.begin, read: reader.read, keepsLast: true),
            receive: reader.receive)
        }
        let reader = SelectorReader(node, sharing: storage)
        return StateReader(
          CommitReader(begin: reader.begin, read: reader.read, keepsLast: true),
          receive: reader.receive)
      })
  }
}
