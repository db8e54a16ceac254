/// Has several reducers handle each action, one after the other, as one commit.
///
///     CombinedReducer(CartReducer(), PriceReducer(), AuditReducer())
///
/// Each gets the model as the one before it has left it. The first that throws ends the reduction: what was
/// changed before is committed, and the others are not called. A reduction changes nothing (`noChange()`) where
/// each reducer that was called has said so. Observers are notified of an action unless one of the
/// reducers' `shouldNotifyObservers` says no.
///
/// The parts only reduce: one that overrides `operation(for:in:)`, `apply(_:to:)` or `waitFor(for:in:declared:)`
/// is refused where this is made, by a precondition that names it. They may be `PartReducer`s, `ForEachReducer`s,
/// wrapped and combined reducers themselves.
public final class CombinedReducer<Model: Sendable, Action: ActionType>: Reducer<Model, Action>,
  ReducerOfReducers
{
  @usableFromInline
  typealias Body = @Sendable (inout Model, Action, inout PartialReduction) throws -> Void
  private let reducers: [Reducer<Model, Action>]
  private let body: Body
  let decidesNotification: Bool

  /// Combines reducers, which nothing else may use afterwards.
  @inlinable
  public convenience init(_ reducers: Reducer<Model, Action>...) {
    self.init(reducers)
  }

  /// Combines reducers, which nothing else may use afterwards.
  @inlinable
  public convenience init(_ reducers: [Reducer<Model, Action>]) {
    nonisolated(unsafe) let parts = reducers  // which hold no mutable state
    // Inlined, so that the closure is compiled for the program's types.
    self.init(reducers) { model, action, reduction in
      for reducer in parts { try reduction.reduce(&model, action, by: reducer) }
    }
  }

  @usableFromInline
  init(_ reducers: [Reducer<Model, Action>], body: @escaping Body) {
    for reducer in reducers { PartCheck.check(reducer, in: "CombinedReducer", isOfWhole: true) }
    self.reducers = reducers
    self.body = body
    decidesNotification = reducers.contains(where: PartCheck.decidesNotification)
  }

  /// Has each of the reducers reduce, in order.
  public override func reduce(into model: inout Model, action: Action) throws {
    try reduceParts { try body(&model, action, &$0) }
  }

  /// Whether all of the reducers let observers be notified.
  public override func shouldNotifyObservers(
    for action: Action, in store: Store<Model, Action>
  ) -> Bool {
    !decidesNotification
      || reducers.allSatisfy { $0.shouldNotifyObservers(for: action, in: store) }
  }
}
