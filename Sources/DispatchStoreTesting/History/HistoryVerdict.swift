/// The result of checking a history.
public enum HistoryVerdict<Specification: SequentialSpecification>: Sendable {
  /// An operation of the history.
  public typealias Recorded = RecordedOperation<Specification.Operation, Specification.Response>

  /// The history is linearizable: the operations may have taken effect in this order.
  ///
  /// It includes those pending operations that took effect in it.
  case linearizable(order: [Recorded])
  /// No order explains the responses.
  case notLinearizable(HistoryWitness<Specification>)
  /// The search gave up after so many steps; more steps may decide.
  case undecided(afterSteps: Int)

  /// Whether the history is known to be linearizable.
  public var isLinearizable: Bool {
    if case .linearizable = self { true } else { false }
  }

  /// Why the history is not linearizable, where it is known not to be.
  public var witness: HistoryWitness<Specification>? {
    if case .notLinearizable(let witness) = self { witness } else { nil }
  }
}

extension HistoryVerdict: CustomStringConvertible {
  /// The verdict, with the witness where there is one.
  public var description: String {
    switch self {
    case .linearizable(let order): "Linearizable: \(order.count) operations have a legal order."
    case .notLinearizable(let witness): witness.description
    case .undecided(let steps): "Undecided: the search was given up after \(steps) steps."
    }
  }
}
