/// Has several reducers handle each action, one after the other, as one commit.
///
///     CombinedReducer(CartReducer(), PriceReducer(), AuditReducer())
///
/// Each reducer gets the model as the previous one left it. If a reducer throws, the reduction ends: earlier changes
/// are committed, and the remaining reducers are not called. The reduction changes nothing if each reducer that was
/// called has called `unchanged()`. Observers are notified unless `shouldNotifyObservers` of one of the reducers
/// returns false.
///
/// The parts only reduce. The initializer stops the program, naming the method, if one overrides
/// `operation(for:in:)`, `apply(_:to:)` or `waitFor(for:in:declared:)`. Parts may be `PartReducer`s,
/// `ForEachReducer`s, or wrapped and combined reducers.
public final class CombinedReducer<Model: Sendable, Action: ActionType>: Reducer<Model, Action>,
  ReducerOfReducers
{
  private let reducers: [Reducer<Model, Action>]
  private let body: PartsBody
  let decidesNotification: Bool

  /// Combines reducers; nothing else may use them afterwards.
  @inlinable
  public convenience init(_ reducers: Reducer<Model, Action>...) {
    nonisolated(unsafe) let parts = reducers  // safe: reducers hold no mutable state
    // Inlined, so that the closure is compiled for the program's types.
    self.init(reducers) { model, action, reduction in
      for reducer in parts { try reduction.reduce(&model, action, by: reducer) }
    }
  }

  @usableFromInline
  init(_ reducers: [Reducer<Model, Action>], body: @escaping PartsBody) {
    for reducer in reducers { PartCheck.check(reducer, in: "CombinedReducer", isOfWhole: true) }
    self.reducers = reducers
    self.body = body
    decidesNotification = reducers.contains(where: PartCheck.decidesNotification)
  }

  /// Calls the reducers in order.
  public override func reduce(into model: inout Model, action: Action) throws {
    try reduceParts { try body(&model, action, &$0) }
  }

  /// Whether all of the reducers allow observers to be notified.
  public override func shouldNotifyObservers(
    for action: Action, in store: Store<Model, Action>
  ) -> Bool {
    !decidesNotification
      || reducers.allSatisfy { $0.shouldNotifyObservers(for: action, in: store) }
  }
}
