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
    Hook(StatesHook(StatesPrinter(timing: timing, models: models, write)) { _ in true })
  }
}

/// Prints the states that a hook gets.
private final class StatesPrinter: StatesReceiver {
  private let (timing, models): (Bool, Bool)
  private let write: @Sendable (_ text: String) -> Void

  init(timing: Bool, models: Bool, _ write: @escaping @Sendable (_ text: String) -> Void) {
    (self.timing, self.models, self.write) = (timing, models, write)
  }

  func receive<Model: Sendable, Action: ActionType>(_ states: HandledStates<Model, Action>) {
    var lines = [heading(of: states)]
    if models {
      lines.append("  old: \(ModelDifference.line(states.oldModel))")
      lines.append("  new: \(ModelDifference.line(states.newModel))")
    }
    if states.oldVersion != states.newVersion {
      lines += ModelDifference.all(from: states.oldModel, to: states.newModel).map { "  \($0)" }
    }
    write(lines.map { $0.onOneLine + "\n" }.joined())
  }

  private func heading<Model, Action>(of states: HandledStates<Model, Action>) -> String {
    let (old, new) = (states.oldVersion, states.newVersion)
    var text = "\(states.storeIdentifier): \(states.action) \(states.run.outcome)"
    text += old == new ? ", version \(old)" : ", version \(old) → \(new)"
    guard timing else { return text }
    text += ", \(Int64(states.run.duration / .microseconds(1))) µs, \(states.run.dispatch.id)"
    if let parent = states.run.dispatch.parent { text += " in \(parent)" }
    return text
  }
}
