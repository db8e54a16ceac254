/// Statements that a reduction can make about itself.
public enum Reduction {
  /// Declares, inside a handler that reduces, that it changes nothing, so that there is no commit.
  ///
  ///     On(Remove.self) { cart, action in
  ///       guard cart.items[action.id] != nil else { return Reduction.unchanged() }
  ///       …
  ///     }
  ///
  /// The store's version stays, and no observer is notified. Call it only if the model is unchanged. If handlers of
  /// several parts get the action, the commit is left out only if all of them call it. Outside a handler that reduces
  /// it has no effect: a `Reducer` has a method of its own for this.
  public static func unchanged() {
    let thread = ThreadState.current
    if let section = thread.exclusive { thread.noteUnchanged(by: ObjectIdentifier(section)) }
  }

  /// Forwards the handlers' `unchanged()` to the store's reducer, after the handlers have run.
  @usableFromInline
  static func passUnchanged(to reducer: AnyObject) {
    if isUnchanged { ThreadState.current.noteUnchanged(by: ObjectIdentifier(reducer)) }
  }

  /// Whether the handlers that ran in the current exclusive section have called `unchanged()`.
  private static var isUnchanged: Bool {
    let thread = ThreadState.current
    return thread.exclusive.map { thread.isUnchanged(by: ObjectIdentifier($0)) } ?? false
  }

  /// Returns `isUnchanged`, and resets it.
  static func takeUnchanged() -> Bool {
    let isUnchanged = isUnchanged
    _ = ThreadState.current.exchangeUnchanged(by: nil)
    return isUnchanged
  }
}
