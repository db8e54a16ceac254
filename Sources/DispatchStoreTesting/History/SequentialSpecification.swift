/// How an object answers operations that come one after the other.
///
/// A concurrent history is linearizable when each of its operations seems to take effect at one instant
/// between its call and its return: when some order of them, one after the other, gets from this
/// specification the responses that were recorded. After Herlihy and Wing, "Linearizability: A
/// Correctness Condition for Concurrent Objects", 1990.
public protocol SequentialSpecification<State, Operation, Response>: Sendable {
  /// What the object holds; two equal states answer alike for ever.
  associatedtype State: Hashable & Sendable
  /// What is asked of the object, with its arguments.
  ///
  /// Where it is `Hashable`, equal operations with equal responses are not tried in every order.
  associatedtype Operation: Sendable
  /// What the object answers.
  associatedtype Response: Equatable & Sendable

  /// The state before the first operation.
  var initialState: State { get }

  /// Applies an operation to the state, and returns the response that it must get there.
  ///
  /// Depends on nothing but its arguments: the check calls it many times, in orders of its own.
  func apply(_ operation: Operation, to state: inout State) -> Response

  /// Whether the operation leaves every state as it is; by default false.
  ///
  /// The check places such an operation as soon as its response fits, and never tries another place,
  /// so that histories with many reads are checked in a fraction of the steps.
  func isReadOnly(_ operation: Operation) -> Bool
}

extension SequentialSpecification {
  /// False: the operation may change the state.
  public func isReadOnly(_ operation: Operation) -> Bool { false }
}
