/// Everything that goes on by itself at a dispatcher, for a test that waits until nothing does.
///
/// Hooks tell a test of dispatches. Continuations tell it of the work between dispatches, when none may be in flight.
/// Only a dispatcher that is followed has them.
class Continuations: @unchecked Sendable {
  // because a subclass says why
  /// Notes that a thread goes on with something.
  func begin() {}

  /// Notes that the thread has dispatched what it could.
  func end() {}

  /// Notes a dispatch before its end can continue something.
  func add(_ dispatch: Dispatch) {}

  /// Forgets a dispatch once its end has continued that.
  func remove(_ id: DispatchID) {}

  /// Notes that something has changed that is known elsewhere, such as a run of an effect that has come to rest.
  func changed() {}
}
