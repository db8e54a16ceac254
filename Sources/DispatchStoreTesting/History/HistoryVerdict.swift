/// The result of checking a history.
public enum HistoryVerdict<Specification: SequentialSpecification>: Sendable {
  /// An operation of the history.
  public typealias Recorded = RecordedOperation<Specification.Operation, Specification.Response>

  /// The history is linearizable: the operations may have taken effect in this order.
  ///
  /// The order includes the pending operations that take effect in it.
  case linearizable(order: [Recorded])
  /// No order explains the responses.
  case notLinearizable(HistoryWitness<Specification>)
  /// The search gave up after this number of steps.
  ///
  /// More steps may decide.
  case undecided(afterSteps: Int)

  /// Whether the history is known to be linearizable.
  public var isLinearizable: Bool {
    if case .linearizable = self { true } else { false }
  }

  /// The reason why the history is not linearizable, if it is known not to be.
  public var witness: HistoryWitness<Specification>? {
    if case .notLinearizable(let witness) = self { witness } else { nil }
  }
}

extension HistoryVerdict: CustomStringConvertible {
  /// The verdict, with the witness if there is one.
  public var description: String {
    switch self {
    case .linearizable(let order): "Linearizable: \(order.count) operations have a legal order."
    case .notLinearizable(let witness): witness.description
    case .undecided(let steps): "Undecided: the search was given up after \(steps) steps."
    }
  }
}
