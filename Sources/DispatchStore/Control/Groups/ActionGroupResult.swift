/// How a group ended: that of each of its steps, in the order in which they are written.
public struct ActionGroupResult: Sendable {
  /// Why the group did not succeed; nil where it did.
  ///
  /// The error of the step that was the first, in time, not to finish: a store's own, `CancellationError` or a
  /// `DispatchError`. If the group was cancelled before one failed, `CancellationError`; if its time limit had passed,
  /// or its options did not let it begin, the `DispatchError` that says so. Of an element that was skipped, the error of
  /// the whole group.
  public let error: (any Error)?
  private let record: GroupRecord
  private let index: Int

  /// - Parameter cause: Why nothing more was to start; nil for a cancellation, or where nothing has kept it from that.
  init(_ record: GroupRecord, orElse cause: (any Error)? = nil) {
    let failure = record.failure(in: record.nodes.indices)
    let error = failure.flatMap { record.ends[$0]?.error }
    self.init(record, 0, error: record.successes[0] ? nil : error ?? cause ?? CancellationError())
  }

  /// That of a wait which was refused, while the group goes on.
  init(refused error: any Error, _ record: GroupRecord) {
    self.init(record, 0, error: error)
  }

  private init(_ record: GroupRecord, _ index: Int, error: (any Error)?) {
    self.record = record
    self.index = index
    self.error = error
  }

  private var range: Range<Int> { index..<index + record.nodes[index].size }

  /// Whether every step finished.
  public var isSuccess: Bool { error == nil }

  /// The results of all steps, with those of the groups in it, in the order in which they are written.
  ///
  /// Computed by each access, in time linear in the steps.
  public var steps: [ActionStepResult] { range.compactMap(record.result) }

  /// The results of the group's elements, one for each step and each group in it; of a step none.
  ///
  /// Computed by each access.
  public var elements: [ActionGroupResult] {
    var elements: [ActionGroupResult] = []
    var next = index + 1
    while next < range.upperBound {
      elements.append(ActionGroupResult(record, next, error: error(of: next)))
      next += record.nodes[next].size
    }
    return elements
  }

  private func error(of element: Int) -> (any Error)? {
    guard !record.successes[element] else { return nil }
    let failure = record.failure(in: element..<element + record.nodes[element].size)
    return failure.flatMap { record.ends[$0]?.error } ?? error ?? CancellationError()
  }

  /// The step that was the first, in time, not to finish.
  public var failure: ActionStepResult? { record.failure(in: range).flatMap(record.result) }

  /// The steps that were compensated, in the order in which their compensations ran.
  public var compensated: [ActionStepResult] {
    record.compensated.filter(range.contains).compactMap(record.result)
  }

  /// Returns the result itself where it is a success, and throws `error` otherwise.
  @discardableResult
  public func get() throws -> ActionGroupResult {
    if let error { throw error }
    return self
  }
}

extension ActionGroupResult: CustomStringConvertible {
  /// Each step's outcome, on one line, and what was compensated.
  public var description: String {
    let outcomes = steps.map { "\($0)" }
    return outcomes.isEmpty ? "no steps" : outcomes.joined(separator: ", ")
  }
}

/// How a step of a group ended.
public struct ActionStepResult: Sendable {
  /// How a step ended; later versions may add cases.
  @nonexhaustive
  public enum Outcome: Sendable {
    /// All stores finished, or there was nothing to do.
    case finished
    /// It failed or was vetoed; or the closure that makes its action threw.
    case failed(any Error)
    /// It was cancelled after it had been dispatched.
    case cancelled
    /// It was not dispatched: an earlier one did not finish, or the group was cancelled.
    case skipped
  }

  /// How a compensation ended.
  public struct Compensation: Sendable {
    /// The result of its dispatch; nil where it was not dispatched.
    public let result: DispatchResult?
    /// Its first error; nil where it finished.
    public let error: (any Error)?

    init(_ end: GroupStepEnd) {
      (result, error) = (end.result, end.error)
    }

    /// Whether it finished.
    public var isSuccess: Bool { error == nil }
  }

  /// Where the step was written.
  public let callSite: CallSite
  /// How it ended.
  public let outcome: Outcome
  /// The result of its dispatch; nil where it was not dispatched.
  public let result: DispatchResult?
  /// How its compensation ended; nil where none ran.
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

  /// Whether it finished.
  public var isFinished: Bool {
    if case .finished = self { true } else { false }
  }

  /// Whether it failed.
  public var isFailed: Bool {
    if case .failed = self { true } else { false }
  }

  /// Whether it was cancelled.
  public var isCancelled: Bool {
    if case .cancelled = self { true } else { false }
  }

  /// Whether it was skipped.
  public var isSkipped: Bool {
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
  /// The outcome, and whether it was compensated.
  public var description: String {
    guard let compensation else { return "\(outcome)" }
    let undone = compensation.error.map { "compensation failed: \($0)" } ?? "compensated"
    return "\(outcome) (\(undone))"
  }
}
