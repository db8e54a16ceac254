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
    let thread = ThreadState.current
    guard let section = thread.exclusive, thread.isUnchanged(by: ObjectIdentifier(section)) else {
      return
    }
    thread.noteUnchanged(by: ObjectIdentifier(reducer))
  }
}
