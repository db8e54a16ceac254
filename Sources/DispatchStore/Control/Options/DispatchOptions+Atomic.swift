extension DispatchOptions {
  /// Changes all stores of the dispatch, or none.
  ///
  ///     try await bank.send(Transfer(amount: 5), options: .atomic).get()
  ///
  /// The exclusive sections of all stores are entered together, and their reducers run in `waitFor` order. A reducer
  /// may read the stores that came before its own. Then the sections are left, and observers are notified, store after
  /// store. `didDispatch` follows for each store, then the completion.
  ///
  /// If a reducer throws, everything that the action has changed is undone, and no version is counted. That store has
  /// failed with its error, which is also the result's. The others have failed with `undone`. The same happens if a
  /// middleware vetoes or fails for one store, but then no reducer is called.
  ///
  /// - Only reductions can be undone. If a store answers by an operation or by `apply(_:to:)`, nothing changes, and the
  ///   error is `notAtomic`.
  /// - A dispatch that a reducer makes is accepted once the sections are left. If the action is undone, it ends as
  ///   cancelled.
  /// - A prerequisite that does not finish undoes all, also for stores that run regardless.
  /// - With `retry`, the whole action runs again. All hooks by store are called for each attempt.
  /// - In a sequence, each action is atomic by itself. For a step of a group, pass the option to the step.
  ///
  /// To undo, each model is copied before its reduction, so the reduction copies on write what it changes. For large
  /// dictionaries see `Store.undoesInPlace(_:)`.
  public static var atomic: DispatchOptions {
    var options = DispatchOptions()
    options.control = ControlOptions.atomic
    return options
  }
}
