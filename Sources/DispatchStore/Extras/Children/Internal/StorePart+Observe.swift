extension StorePart {
  /// Observes the part; the value is nil while it is missing.
  @usableFromInline
  func observe(
    on delivery: ObserverDelivery, initial: Bool,
    _ body: @escaping @Sendable (Change<Model?, HandledAction>) -> Void
  ) -> ObserverToken {
    let path = path
    let reader = PartReader<Model?>(
      TypedSelectorNode(reading: { whole in
        var part: Model?
        _ = path.read(whole) { part = $0.pointee }
        return part
      }))
    return root.follow(
      CommitReader(begin: reader.begin, read: reader.read, keepsLast: true), delivery, initial
    ) { note, follower in
      // Asked again, because a comparison may take long.
      guard var content = reader.receive(note), follower.isCalled else { return }
      if case .replaced(let kept) = content, case .some(.none) = kept.old {
        // A part that stays missing is no change, and one that was missing is no old value.
        if kept.value == nil { return }
        content = .now(kept.value)
      }
      body(TypedNote<HandledAction>.change(note, content))
    }
  }
}

extension Change {
  /// Converts the change of a part that always exists.
  @inlinable
  func unwrapped<Part>() -> Change<Part, Action> where Value == Part? {
    Change<Part, Action>(
      .replaced(ReplacedValue(old: old ?? nil, by: value!)), version: version, action: action,
      dispatchID: dispatchID, isInitial: isInitial)
  }
}
