/// How an object responds to operations that come one after the other.
///
/// A concurrent history is linearizable when each of its operations appears to take effect at one instant
/// between its call and its return: when this specification gives the recorded responses for some order of
/// them. After Herlihy and Wing, "Linearizability: A
/// Correctness Condition for Concurrent Objects", 1990.
public protocol SequentialSpecification<State, Operation, Response>: Sendable {
  /// The object's state; equal states give equal responses to all later operations.
  associatedtype State: Hashable & Sendable
  /// An operation on the object, with its arguments.
  ///
  /// Where it is `Hashable`, the check does not try equal operations with equal responses in every order.
  associatedtype Operation: Sendable
  /// The object's response to an operation.
  associatedtype Response: Equatable & Sendable

  /// The state before the first operation.
  var initialState: State { get }

  /// Applies an operation to the state, and returns the response that it must have there.
  ///
  /// Has to depend on its arguments alone: the check calls it many times, in many orders.
  func apply(_ operation: Operation, to state: inout State) -> Response

  /// Whether the operation leaves every state as it is; by default false.
  ///
  /// The check places such an operation as soon as its response fits, and tries no other position, so that
  /// histories with many reads take a fraction of the steps.
  func isReadOnly(_ operation: Operation) -> Bool
}

extension SequentialSpecification {
  /// False: the operation may change the state.
  public func isReadOnly(_ operation: Operation) -> Bool { false }
}
