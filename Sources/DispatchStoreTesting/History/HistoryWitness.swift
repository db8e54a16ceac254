/// Why a history is not linearizable; its description is to be read.
public struct HistoryWitness<Specification: SequentialSpecification>: Sendable {
  /// An operation of the history.
  public typealias Recorded = RecordedOperation<Specification.Operation, Specification.Response>

  /// An operation of the order that was found, with the state that it left.
  public struct Step: Sendable {
    /// The operation.
    public let operation: Recorded
    /// The state after it.
    public let state: Specification.State
  }

  /// An operation that had returned and has no place in the order that was found.
  public struct Misfit: Sendable {
    /// The operation.
    public let operation: Recorded
    /// Why it has none.
    public let reason: Reason
  }

  /// Why an operation has no place.
  public enum Reason: Sendable {
    /// Wherever it could be placed, it would have got one of these responses, and got another.
    case responses([Specification.Response])
    /// It fits before this operation, which would then have got that response, and got another.
    case spoils(Recorded, Specification.Response)
    /// It was called after this one had returned, which has no place itself.
    case follows(Recorded)
  }

  /// The object that it concerns, where the history was checked by objects.
  public let object: String?
  /// The shortest part of the history, from its start, that is not linearizable.
  ///
  /// It ends at a return. Operations that returned later are pending in it.
  public let prefix: History<Specification.Operation, Specification.Response>
  /// The state before the first operation.
  public let initialState: Specification.State
  /// The legal order with the most completed operations that was found.
  public let order: [Step]
  /// The completed operations that have no place in that order.
  public let misfits: [Misfit]
  /// The pending operations that have no place in that order, and need none.
  public let pending: [Recorded]

  /// - Parameter longest: The places of the longest order's operations in the prefix.
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

  /// Tries an operation in each place that real time allows it.
  private static func reason(
    against operation: Recorded, _ placed: [Recorded], _ states: [Specification.State],
    _ specification: Specification
  ) -> Reason {
    var responses: [Specification.Response] = []
    let earliest = (placed.lastIndex { $0.precedes(operation) } ?? -1) + 1
    for place in earliest...placed.count {
      var state = states[place]
      let response = specification.apply(operation.operation, to: &state)
      if response == operation.returned?.response {
        for later in placed[place...] {
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
