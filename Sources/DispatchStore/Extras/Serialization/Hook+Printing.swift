extension Hook {
  /// The details to print for each action, besides the store, the action and its outcome.
  public struct PrintDetails: OptionSet, Sendable {
    /// The raw bits.
    public let rawValue: Int

    /// Makes details from raw bits.
    public init(rawValue: Int) {
      self.rawValue = rawValue
    }

    /// The versions before and after.
    public static let versions = PrintDetails(rawValue: 1)
    /// The time that the store took.
    public static let duration = PrintDetails(rawValue: 2)
    /// The identity of the dispatch, and its parent if any.
    public static let dispatch = PrintDetails(rawValue: 4)
    /// A line for each key path that differs.
    public static let differences = PrintDetails(rawValue: 8)
    /// Both models in full.
    public static let models = PrintDetails(rawValue: 16)
    /// The default details.
    public static let standard: PrintDetails = [.versions, .duration, .dispatch, .differences]
  }

  /// Makes a hook that prints the changes of each action of all stores, for people to read.
  ///
  ///     account: Deposit(amount: 5) finished, version 3 → 4, 84 µs, #12
  ///       balance: 10 → 15
  ///
  /// The differences are found by comparing both models, in time linear in their size (`ModelDiff`). Models are kept
  /// as for `states(of:_:)`.
  ///
  /// - Parameters:
  ///   - details: The details to print.
  ///   - write: Called with the lines of one action, each with its newline, with no lock held, perhaps on several
  ///     threads at once. Prints to standard output by default.
  public static func printing(
    details: PrintDetails = .standard,
    to write: @escaping @Sendable (_ text: String) -> Void = { print($0, terminator: "") }
  ) -> Hook {
    Hook(StatesHook(StatesPrinter(details, write)))
  }
}

/// Prints the states that a hook gets.
private final class StatesPrinter: StatesReceiver {
  private let details: Hook.PrintDetails
  private let write: @Sendable (_ text: String) -> Void

  init(_ details: Hook.PrintDetails, _ write: @escaping @Sendable (_ text: String) -> Void) {
    (self.details, self.write) = (details, write)
  }

  func follows(_ store: AnyStore) -> Bool { true }

  func receive<Model: Sendable, Action: ActionType>(_ states: HandledStates<Model, Action>) {
    var lines = [heading(of: states)]
    if details.contains(.models) {
      lines.append("  old: \(ModelDifference.line(states.oldModel))")
      lines.append("  new: \(ModelDifference.line(states.newModel))")
    }
    if details.contains(.differences), states.oldVersion != states.newVersion {
      let diff = ModelDiff(from: states.oldModel, to: states.newModel)
      lines += diff.differences.map { "  \($0)" }
    }
    write(lines.map { Self.escape($0) + "\n" }.joined())
  }

  private func heading<Model, Action>(of states: HandledStates<Model, Action>) -> String {
    let (old, new) = (states.oldVersion, states.newVersion)
    var text = "\(states.storeIdentifier): \(states.action) \(states.run.outcome)"
    if details.contains(.versions) {
      text += old == new ? ", version \(old)" : ", version \(old) → \(new)"
    }
    if details.contains(.duration) {
      text += ", \(Int64(states.run.duration / .microseconds(1))) µs"
    }
    if details.contains(.dispatch) {
      text += ", \(states.run.id)"
      if let parent = states.run.dispatch.parent { text += " in \(parent)" }
    }
    return text
  }

  private static func escape(_ line: String) -> String {
    line.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .joined(separator: "\\n")
  }
}
