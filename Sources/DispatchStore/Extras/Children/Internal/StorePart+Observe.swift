extension StorePart {
  /// Observes the part; the value is nil while it is missing.
  @inlinable
  func observe(
    on delivery: ObserverDelivery, initial: Bool,
    _ body: @escaping @Sendable (Change<Model?, HandledAction>) -> Void
  ) -> ObserverToken {
    let (path, equality) = (path, ElementEquality<Model>())
    // The part as of the last note that was delivered.
    let delivered = Locked<Model?>(nil)
    return root.follow(
      CommitReader(
        begin: { model, _ in
          let part = path.value(in: model)
          _ = delivered.exchange(part)
          return TypedValue(part)
        },
        read: { commit, last in
          let part = path.value(in: commit.model)
          let isSame = equality.isCertainlySame(TypedValue<Model?>.of(last), part)
          return isSame ? nil : TypedValue(part)
        }, keepsLast: true), delivery, initial
    ) { note, follower in
      let new = TypedValue<Model?>.of(note.value)
      let old = delivered.exchange(new)
      // With no lock held, since `==` is user code. Asked again, because that may take long.
      guard note.isInitial || equality.differ(old, new), follower.isCalled else { return }
      let known = note.isInitial ? nil : old
      let change = ReplacedValue<Model?>(old: known.map { .some($0) }, by: new)
      body(TypedNote<HandledAction>.change(note, .replaced(change)))
    }
  }
}

extension PartPath {
  /// A copy of the part; nil if it is missing.
  @inlinable
  func value(in whole: UnsafeRawPointer) -> Value? {
    var value: Value?
    _ = read(whole) { value = $0.pointee }
    return value
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
