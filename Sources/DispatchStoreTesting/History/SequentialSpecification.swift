/// The responses of an object to operations that come one after the other.
///
/// In a linearizable history, each operation appears to take effect at one instant between its call and its return.
/// That is: for some such order, this specification gives the recorded responses. See Herlihy and Wing,
/// "Linearizability: A Correctness Condition for Concurrent Objects", 1990.
public protocol SequentialSpecification<State, Operation, Response>: Sendable {
  /// The object's state.
  ///
  /// Equal states give equal responses to all later operations.
  associatedtype State: Hashable & Sendable
  /// An operation on the object, with its arguments.
  ///
  /// If it is `Hashable`, the check does not try equal operations with equal responses in every order.
  associatedtype Operation: Sendable
  /// The object's response to an operation.
  associatedtype Response: Equatable & Sendable

  /// The state before the first operation.
  var initialState: State { get }

  /// Applies an operation to the state, and returns the response that it must have there.
  ///
  /// It must depend only on its arguments: the check calls it many times, in many orders.
  func apply(_ operation: Operation, to state: inout State) -> Response

  /// Whether the operation leaves every state unchanged.
  ///
  /// False by default.
  ///
  /// The check places such an operation as soon as its response fits, and tries no other position. Histories with
  /// many reads then take a fraction of the steps.
  func isReadOnly(_ operation: Operation) -> Bool
}

extension SequentialSpecification {
  /// Returns false: the operation may change the state.
  public func isReadOnly(_ operation: Operation) -> Bool { false }
}
