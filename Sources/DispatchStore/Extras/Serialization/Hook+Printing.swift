extension Hook {
  /// Makes a hook that prints the changes of each action of all stores, for people to read.
  ///
  ///     account: Deposit(amount: 5) finished, version 3 → 4, 84 µs, #12
  ///       balance: 10 → 15
  ///
  /// The differences are found by comparing both models, in time linear in their size (`ModelDifference`). Models are kept
  /// as for `states(of:_:)`.
  ///
  /// - Parameters:
  ///   - timing: Whether to print the time that the store took, and the dispatch.
  ///   - models: Whether to print both models in full, too.
  ///   - write: Called with the lines of one action, each with its newline, with no lock held, perhaps on several
  ///     threads at once. Prints to standard output by default.
  public static func printing(
    timing: Bool = true, models: Bool = false,
    to write: @escaping @Sendable (_ text: String) -> Void = { print($0, terminator: "") }
  ) -> Hook {
    Hook(
      StatesHook(of: { _ in true }) { states in
        var lines = [states.heading(timing: timing)]
        if models {
          lines.append("  old: \(ModelDifference.line(states.oldModel))")
          lines.append("  new: \(ModelDifference.line(states.newModel))")
        }
        if states.oldVersion != states.newVersion {
          var comparison = ModelComparison()
          comparison.compare(states.oldModel, states.newModel)
          lines += comparison.differences.map { "  \($0)" }
        }
        write(lines.map { $0.onOneLine + "\n" }.joined())
      })
  }
}

extension HandledStates {
  fileprivate func heading(timing: Bool) -> String {
    var text = "\(storeIdentifier): \(action) \(run.outcome), version \(oldVersion)"
    if oldVersion != newVersion { text += " → \(newVersion)" }
    guard timing else { return text }
    text += ", \(Int64(run.duration / .microseconds(1))) µs, \(run.dispatch.id)"
    if let parent = run.dispatch.parent { text += " in \(parent)" }
    return text
  }
}
