/// What a reduction has done.
public enum ReductionEffect: Sendable {
  /// It has changed the model, or may have.
  case changed
  /// It has changed nothing, as `Reducer.noChange()` says.
  case unchanged
}

/// Calls a closure around another reducer, or before and after it, as one commit.
///
/// The reducer only reduces: one that overrides `operation(for:in:)`, `apply(_:to:)` or
/// `waitFor(for:in:declared:)` is refused where this is made, by a precondition that names it. Its
/// `shouldNotifyObservers` counts.
public final class WrappedReducer<Model: Sendable, Action: ActionType>: Reducer<Model, Action>,
  ReducerOfReducers
{
  @usableFromInline
  typealias Body = @Sendable (inout Model, Action, inout PartialReduction) throws -> Void
  private let reducer: Reducer<Model, Action>
  private let body: Body
  let decidesNotification: Bool

  @usableFromInline
  init(_ reducer: Reducer<Model, Action>, body: @escaping Body) {
    PartCheck.check(reducer, in: "WrappedReducer", isOfWhole: true)
    self.reducer = reducer
    self.body = body
    decidesNotification = PartCheck.decidesNotification(reducer)
  }

  /// Calls a closure in place of a reducer, which the closure may call.
  ///
  ///     WrappedReducer(TextReducer()) { text, action, reduce in
  ///       let before = text
  ///       guard try reduce(&text, action) == .changed else { return .unchanged }
  ///       text.undo.append(before.content)
  ///       return .changed
  ///     }
  ///
  /// - Parameters:
  ///   - reducer: The reducer; nothing else may use it afterwards.
  ///   - body: Called in the exclusive section. It gets the model, the action, and a closure that has the reducer
  ///     reduce, as often as it is called. It says what all of that has done; where it throws, that is a change.
  @inlinable
  public convenience init(
    _ reducer: Reducer<Model, Action>,
    around body:
      @escaping @Sendable (
        _ model: inout Model, _ action: Action,
        _ reduce: (inout Model, Action) throws -> ReductionEffect
      ) throws -> ReductionEffect
  ) {
    nonisolated(unsafe) let part = reducer  // which holds no mutable state
    self.init(reducer) { model, action, reduction in
      reduction.noteChange()
      let effect = try body(&model, action) { model, action in
        var inner = PartialReduction()
        try inner.reduce(&model, action, by: part)
        return inner.isUnchanged ? .unchanged : .changed
      }
      if effect == .unchanged { reduction = PartialReduction() }
    }
  }

  /// Calls closures that look at the model before and after a reducer.
  ///
  /// They change nothing, so that what the reducer says of `noChange()` holds for the whole. An error of the
  /// first ends the reduction before it has changed anything; where the reducer throws, the second is not called.
  ///
  /// - Parameters:
  ///   - reducer: The reducer; nothing else may use it afterwards.
  ///   - before: Called in the exclusive section, with the model as it is before.
  ///   - after: Called in the exclusive section, with the model as it is then.
  @inlinable
  public convenience init(
    _ reducer: Reducer<Model, Action>,
    before: @escaping @Sendable (Model, Action) throws -> Void = { _, _ in },
    after: @escaping @Sendable (Model, Action) throws -> Void = { _, _ in }
  ) {
    nonisolated(unsafe) let part = reducer  // which holds no mutable state
    self.init(reducer) { model, action, reduction in
      try before(model, action)
      try reduction.reduce(&model, action, by: part)
      try after(model, action)
    }
  }

  /// Calls the closures, and by them the reducer.
  public override func reduce(into model: inout Model, action: Action) throws {
    try reduceParts { try body(&model, action, &$0) }
  }

  /// Whether the wrapped reducer lets observers be notified.
  public override func shouldNotifyObservers(
    for action: Action, in store: Store<Model, Action>
  ) -> Bool {
    reducer.shouldNotifyObservers(for: action, in: store)
  }
}
