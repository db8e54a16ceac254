/// The outcome of a group, with that of each step, in the order in which they are written.
public struct ActionGroupResult: Sendable {
  /// The reason why the group did not succeed, or nil if it did.
  ///
  /// - The error of the step that was the first, in time, not to finish. It is a store's own, `CancellationError` or a
  ///   `DispatchError`.
  /// - `CancellationError`, if the group was cancelled before a step failed and before its time limit passed.
  /// - A `DispatchError`, if its time limit had passed before, or its options or a closed dispatcher did not let it begin,
  ///   also without steps.
  /// - The error of the whole group, for an element that was skipped.
  public let error: (any Error)?
  /// The state of the whole group, of which the result is a view.
  private let state: GroupState
  private let index: Int

  /// - Parameter refusal: The reason why the group did not begin; nil for most.
  init(_ state: GroupState, refusal: (any Error)? = nil) {
    // How a cancelled step ends is not why the group has stopped.
    let failure = state.isCancelledFirst ? nil : state.failure(in: state.nodes.indices)
    let reason: any Error =
      failure.flatMap { state.ends[$0]?.error } ?? state.cause ?? CancellationError()
    self.init(state, 0, error: refusal ?? (state.isSuccess(0) ? nil : reason))
  }

  /// Makes the result of a refused wait, while the group goes on.
  init(refused error: any Error, _ state: GroupState) {
    self.init(state, 0, error: error)
  }

  private init(_ state: GroupState, _ index: Int, error: (any Error)?) {
    self.state = state
    self.index = index
    self.error = error
  }

  private var range: Range<Int> { index..<index + state.nodes[index].size }

  /// Whether every step finished.
  public var isSuccess: Bool { error == nil }

  /// The results of all steps, including those of nested groups, in the order in which they are written.
  ///
  /// Computed at each access, in time linear in the number of steps.
  public var steps: [ActionStepResult] { range.compactMap(state.result) }

  /// The results of the group's elements, one for each step and each nested group; empty for a step.
  ///
  /// Computed at each access.
  public var elements: [ActionGroupResult] {
    var elements: [ActionGroupResult] = []
    var next = index + 1
    while next < range.upperBound {
      elements.append(ActionGroupResult(state, next, error: error(of: next)))
      next += state.nodes[next].size
    }
    return elements
  }

  private func error(of element: Int) -> (any Error)? {
    guard !state.isSuccess(element) else { return nil }
    let failure = state.failure(in: element..<element + state.nodes[element].size)
    return failure.flatMap { state.ends[$0]?.error } ?? error ?? CancellationError()
  }

  /// The step that was the first, in time, not to finish.
  public var failure: ActionStepResult? { state.failure(in: range).flatMap(state.result) }

  /// The steps that were compensated, in the order in which their compensations ran.
  public var compensated: [ActionStepResult] {
    state.compensated.filter(range.contains).compactMap(state.result)
  }

  /// Returns the result itself if it is a success, and throws `error` otherwise.
  @discardableResult
  public func get() throws -> ActionGroupResult {
    if let error { throw error }
    return self
  }
}

extension ActionGroupResult: CustomStringConvertible {
  /// Each step's outcome, on one line, with its compensation.
  public var description: String {
    let outcomes = steps.map { "\($0)" }
    return outcomes.isEmpty ? "no steps" : outcomes.joined(separator: ", ")
  }
}

/// The outcome of a step in a group.
public struct ActionStepResult: Sendable {
  /// The ways in which a step ends; later versions may add cases.
  @nonexhaustive
  public enum Outcome: Sendable {
    /// All stores finished, or there was nothing to do.
    case finished
    /// The step failed or was vetoed, or the closure that makes its action threw.
    case failed(any Error)
    /// The step was cancelled after it had been dispatched.
    case cancelled
    /// The step was not dispatched: an earlier one did not finish, or the group was cancelled.
    case skipped
  }

  /// The outcome of a compensation.
  public struct Compensation: Sendable {
    /// The result of its dispatch, or nil if it was not dispatched.
    public let result: DispatchResult?
    /// The first error, or nil if it finished.
    public let error: (any Error)?

    init(_ end: GroupStepEnd) {
      (result, error) = (end.result, end.error)
    }

    /// Whether the compensation finished.
    public var isSuccess: Bool { error == nil }
  }

  /// The call site at which the step was written.
  public let callSite: CallSite
  /// The outcome of the step.
  public let outcome: Outcome
  /// The result of the step's dispatch, or nil if it was not dispatched.
  public let result: DispatchResult?
  /// The outcome of the step's compensation, or nil if none ran.
  public let compensation: Compensation?

  init(callSite: CallSite, end: GroupStepEnd?, compensation: Compensation?) {
    self.callSite = callSite
    self.compensation = compensation
    result = end?.result
    outcome = end.map(Outcome.init) ?? .skipped
  }
}

extension ActionStepResult.Outcome {
  fileprivate init(_ end: GroupStepEnd) {
    switch end.error {
    case nil: self = .finished
    case is CancellationError: self = .cancelled
    case let error?: self = .failed(error)
    }
  }

  /// Whether the step finished.
  package var isFinished: Bool {
    if case .finished = self { true } else { false }
  }

  /// Whether the step was skipped.
  package var isSkipped: Bool {
    if case .skipped = self { true } else { false }
  }
}

extension ActionStepResult.Outcome: CustomStringConvertible {
  /// A short form for logs.
  public var description: String {
    switch self {
    case .finished: "finished"
    case .failed(let error): "failed: \(error)"
    case .cancelled: "cancelled"
    case .skipped: "skipped"
    }
  }
}

extension ActionStepResult: CustomStringConvertible {
  /// The outcome, and that of the compensation.
  public var description: String {
    guard let compensation else { return "\(outcome)" }
    let undone = compensation.error.map { "compensation failed: \($0)" } ?? "compensated"
    return "\(outcome) (\(undone))"
  }
}
