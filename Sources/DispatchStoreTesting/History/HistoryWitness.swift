/// The reason why a history is not linearizable.
///
/// Its description is for people.
public struct HistoryWitness<Specification: SequentialSpecification>: Sendable {
  /// An operation of the history.
  package typealias Recorded = RecordedOperation<Specification.Operation, Specification.Response>

  /// An operation of the longest legal order, with the state after it.
  package struct Step: Sendable {
    /// The operation.
    package let operation: Recorded
    /// The state after the operation.
    package let state: Specification.State
  }

  /// An operation that had returned and does not fit into the longest legal order.
  package struct Misfit: Sendable {
    /// The operation.
    package let operation: Recorded
    /// The reason why it does not fit.
    package let reason: Reason
  }

  /// A reason why an operation does not fit.
  package enum Reason: Sendable {
    /// The response differs from all of these, which the possible positions would give.
    ///
    /// The possible positions are those that real time allows.
    case responses([Specification.Response])
    /// The operation fits before the given one, whose recorded response would then be wrong: it would be the given
    /// response.
    case spoils(Recorded, Specification.Response)
    /// The operation was called after this one had returned, which does not fit either.
    case follows(Recorded)
  }

  /// The object concerned, if the history was checked object by object.
  package let object: String?
  /// The shortest part of the history, from its start, that is not linearizable.
  ///
  /// It ends at a return. Operations that returned later are pending in it.
  package let prefix: History<Specification.Operation, Specification.Response>
  /// The state before the first operation.
  package let initialState: Specification.State
  /// The legal order found that has the most completed operations.
  package let order: [Step]
  /// The completed operations that do not fit into `order`.
  package let misfits: [Misfit]
  /// The pending operations outside of `order`, which need not be in it.
  package let pending: [Recorded]

  /// Makes the witness of a prefix.
  ///
  /// - Parameter longest: The indices in the prefix of the longest order's operations.
  init(
    _ specification: Specification,
    _ prefix: History<Specification.Operation, Specification.Response>, longest: [Int],
    object: String?
  ) {
    self.object = object
    self.prefix = prefix
    initialState = specification.initialState
    var state = initialState
    let placed = longest.map { prefix.operations[$0] }
    order = placed.map { operation in
      _ = specification.apply(operation.operation, to: &state)
      return Step(operation: operation, state: state)
    }
    let numbers = Set(placed.map(\.number))
    let unplaced = prefix.operations.filter { !numbers.contains($0.number) }
    pending = unplaced.filter { $0.returned == nil }
    let completed = unplaced.filter { $0.returned != nil }
    let states = [initialState] + order.map(\.state)
    misfits = completed.map { operation in
      let follows = completed.first { $0.precedes(operation) }
      return Misfit(
        operation: operation,
        reason: follows.map(Reason.follows)
          ?? Self.reason(against: operation, placed, states, specification))
    }
  }

  /// Tries an operation at each position that real time allows.
  private static func reason(
    against operation: Recorded, _ placed: [Recorded], _ states: [Specification.State],
    _ specification: Specification
  ) -> Reason {
    var responses: [Specification.Response] = []
    let earliest = (placed.lastIndex { $0.precedes(operation) } ?? -1) + 1
    for position in earliest...placed.count {
      var state = states[position]
      let response = specification.apply(operation.operation, to: &state)
      if response == operation.returned?.response {
        for later in placed[position...] {
          let response = specification.apply(later.operation, to: &state)
          if let returned = later.returned, returned.response != response {
            return .spoils(later, response)
          }
        }
      } else if !responses.contains(response) {
        responses.append(response)
      }
    }
    return .responses(responses)
  }
}

extension HistoryWitness: CustomStringConvertible {
  /// The last operations of the order, the misfits with their reasons, and those that have not returned.
  public var description: String {
    let isCut = order.count > Self.shownSteps
    let shown = order.suffix(Self.shownSteps)
    let before = isCut ? order[order.count - Self.shownSteps - 1].state : initialState
    var lines = [title, "Longest legal order, from \(Self.short(before)):"]
    if isCut { lines.append("  (after \(order.count - Self.shownSteps) operations)") }
    if shown.isEmpty { lines.append("  (no operation)") }
    let names = shown.map { Self.short($0.operation) }
    let width = names.map(\.count).max() ?? 0
    for (name, step) in zip(names, shown) {
      let padding = String(repeating: " ", count: width - name.count)
      lines.append("  \(name)\(padding)  leaves \(Self.short(step.state))")
    }
    lines.append("No place in it for:")
    let misfits = misfits.prefix(Self.shownMisfits)
    lines += misfits.map { "  \(Self.short($0.operation)): \(Self.text($0.reason))" }
    lines += left(self.misfits.count - misfits.count)
    let pending = pending.suffix(Self.shownMisfits)
    if !pending.isEmpty { lines.append("Not returned yet, and need no place:") }
    lines += pending.map { "  \(Self.short($0))" }
    lines += left(self.pending.count - pending.count)
    return lines.joined(separator: "\n")
  }

  private static var shownSteps: Int { 8 }
  private static var shownMisfits: Int { 8 }

  private var title: String {
    let last = prefix.operations.max {
      ($0.returned?.stamp ?? .min) < ($1.returned?.stamp ?? .min)
    }
    let subject = object.map { " for \($0)" } ?? ""
    return "Not linearizable\(subject), as of the return of \(last.map(Self.short) ?? "nothing")."
  }

  private func left(_ count: Int) -> [String] {
    count > 0 ? ["  (and \(count) more)"] : []
  }

  private static func text(_ reason: Reason) -> String {
    switch reason {
    case .responses(let responses):
      let shown = responses.prefix(4).map { short($0) }.joined(separator: " or ")
      return "would be \(shown)" + (responses.count > 4 ? " or others" : "")
    case .spoils(let later, let response):
      return "fits before #\(later.number), which would then be \(short(response))"
    case .follows(let earlier):
      return "called after #\(earlier.number) had returned"
    }
  }

  /// Returns a value on one line, cut to 80 characters.
  private static func short(_ value: some Any) -> String {
    let text = "\(value)".replacing("\n", with: " ")
    return text.count > 80 ? text.prefix(79) + "…" : text
  }
}
