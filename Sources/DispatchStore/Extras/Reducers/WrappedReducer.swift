/// Calls a closure around another reducer, as one commit.
///
/// The reducer only reduces. The initializer stops the program, naming the method, if the reducer overrides
/// `operation(for:in:)`, `apply(_:to:)` or `waitFor(for:in:declared:)`. Its `shouldNotifyObservers` is respected.
public final class WrappedReducer<Model: Sendable, Action: ActionType>: Reducer<Model, Action>,
  ReducerOfReducers
{
  private let reducer: Reducer<Model, Action>
  private let body: PartsBody
  let decidesNotification: Bool

  @usableFromInline
  init(_ reducer: Reducer<Model, Action>, body: @escaping PartsBody) {
    PartCheck.check(reducer, in: "WrappedReducer", isOfWhole: true)
    self.reducer = reducer
    self.body = body
    decidesNotification = PartCheck.decidesNotification(reducer)
  }

  /// Calls a closure in place of a reducer, which the closure may call.
  ///
  ///     WrappedReducer(TextReducer()) { text, action, reduce in
  ///       let before = text
  ///       guard try reduce(&text, action) else { return false }
  ///       text.undo.append(before.content)
  ///       return true
  ///     }
  ///
  /// - Parameters:
  ///   - reducer: The reducer; nothing else may use it afterwards.
  ///   - body: Called in the exclusive section with the model, the action and a closure that calls the reducer, any
  ///     number of times, and returns whether that changed the model. The body returns whether the model was changed
  ///     at all: otherwise nothing is committed. If it throws, the model counts as changed, unless its last call of the
  ///     reducer has thrown and no call has changed anything. So change the model yourself only after such calls.
  @inlinable
  public convenience init(
    _ reducer: Reducer<Model, Action>,
    around body:
      @escaping @Sendable (
        _ model: inout Model, _ action: Action,
        _ reduce: (inout Model, Action) throws -> Bool
      ) throws -> Bool
  ) {
    nonisolated(unsafe) let part = reducer  // safe: reducers hold no mutable state
    let parts: PartsBody = { model, action, reduction in
      // True as long as an error of the closure counts as a change: it may have made one itself.
      var isChanged = true
      var hasChanged = false
      defer { if isChanged { reduction.noteChange() } }
      isChanged = try body(&model, action) { model, action in
        var call = PartialReduction()
        isChanged = false
        defer {
          hasChanged = hasChanged || !call.isUnchanged
          isChanged = isChanged || hasChanged
        }
        try call.reduce(&model, action, by: part)
        isChanged = true
        return !call.isUnchanged
      }
    }
    self.init(reducer, body: parts)
  }

  /// Calls the closure, and through it the reducer.
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
