import DispatchStore

/// The steps of a simulation.
///
/// It contains no addresses, hash order, time of day or names of the system, so it is equal in each run.
public struct SimulationTrace: Sendable, Hashable, CustomStringConvertible {
  /// A step that a thread took.
  public struct Step: Sendable, Hashable {
    /// The thread's name in the simulation.
    public let thread: String
    /// The transition.
    public let transition: String
    /// The object concerned, such as a store or a lane.
    public let subject: String
  }

  /// The maximum number of steps in the description.
  private static let shown = 2_000

  /// All steps, in order.
  public private(set) var steps: [Step] = []

  mutating func append(_ thread: String, _ transition: Transition, _ subject: String) {
    steps.append(Step(thread: thread, transition: transition.rawValue, subject: subject))
  }

  /// A line for each step, with its number, thread and transition.
  ///
  /// A long trace has only its beginning and end.
  public var description: String {
    let width = steps.map(\.thread.count).max() ?? 0
    let digits = String(steps.count).count
    var lines: [String] = []
    for (number, step) in steps.enumerated() {
      if steps.count > Self.shown, number >= Self.shown / 4,
        number < steps.count - Self.shown * 3 / 4
      {
        if number == Self.shown / 4 { lines.append("… \(steps.count - Self.shown) steps") }
        continue
      }
      let thread = step.thread + String(repeating: " ", count: width - step.thread.count)
      let counted = String(number + 1)
      let padding = String(repeating: " ", count: digits - counted.count)
      let subject = step.subject.isEmpty ? "" : " · \(step.subject)"
      lines.append("\(padding)\(counted)  \(thread)  \(step.transition)\(subject)")
    }
    return lines.joined(separator: "\n")
  }
}
