/// The effect of a reduction on the model.
public enum ReductionEffect: Sendable {
  /// The model was changed, or may have been.
  case changed
  /// The model was not changed, as `Reducer.unchanged()` says.
  case unchanged
}

/// Calls a closure around another reducer, or before and after it, as one commit.
///
/// The reducer only reduces. The initializer stops the program, naming the method, if the reducer overrides
/// `operation(for:in:)`, `apply(_:to:)` or `waitFor(for:in:declared:)`. Its `shouldNotifyObservers` is respected.
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
  ///   - body: Called in the exclusive section with the model, the action and a closure that calls the reducer, any
  ///     number of times. Returns the effect of all its changes. If it throws, the effect is a change.
  @inlinable
  public convenience init(
    _ reducer: Reducer<Model, Action>,
    around body:
      @escaping @Sendable (
        _ model: inout Model, _ action: Action,
        _ reduce: (inout Model, Action) throws -> ReductionEffect
      ) throws -> ReductionEffect
  ) {
    nonisolated(unsafe) let part = reducer  // safe: reducers hold no mutable state
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
  /// The closures change nothing, so the reducer's `unchanged()` holds for the whole. If `before` throws, the
  /// reduction ends before anything is changed. If the reducer throws, `after` is not called.
  ///
  /// - Parameters:
  ///   - reducer: The reducer; nothing else may use it afterwards.
  ///   - before: Called in the exclusive section, with the model before the reduction.
  ///   - after: Called in the exclusive section, with the model after the reduction.
  @inlinable
  public convenience init(
    _ reducer: Reducer<Model, Action>,
    before: @escaping @Sendable (Model, Action) throws -> Void = { _, _ in },
    after: @escaping @Sendable (Model, Action) throws -> Void = { _, _ in }
  ) {
    nonisolated(unsafe) let part = reducer  // safe: reducers hold no mutable state
    self.init(reducer) { model, action, reduction in
      try before(model, action)
      try reduction.reduce(&model, action, by: part)
      try after(model, action)
    }
  }

  /// Calls the closures, and through them the reducer.
  public override func reduce(into model: inout Model, action: Action) throws {
    try reduceParts { try body(&model, action, &$0) }
  }

  /// Whether the wrapped reducer allows observers to be notified.
  public override func shouldNotifyObservers(
    for action: Action, in store: Store<Model, Action>
  ) -> Bool {
    reducer.shouldNotifyObservers(for: action, in: store)
  }
}
