/// Holds dispatches back at their end, until the commits that their stores have made are saved.
///
/// Persistence has a subclass. A dispatch to a store with such a gate runs in a round. When its stores have ended, its
/// place becomes free: its lane goes on. Its `didDispatch`, its completion and its result follow once the gate lets it
/// pass, in the order of its lane.
class EndGate: @unchecked Sendable {  // because a subclass says why
  /// The database in which commits are saved.
  var database: AnyObject { fatalError("EndGate is abstract.") }

  /// The error with which stores are not run any longer; nil if nothing has failed.
  var refusal: DispatchError? { fatalError("EndGate is abstract.") }

  /// The error with which its own store is not run any longer.
  var refusalOfStore: DispatchError? { fatalError("EndGate is abstract.") }

  /// Decides whether stores may start now; if they have to wait, resumes the start once they may.
  ///
  /// - Parameter mayReject: Whether the start may fail; if not, it waits instead.
  func admit(_ start: HeldStart, mayReject: Bool) -> Admission {
    fatalError("EndGate is abstract.")
  }

  /// Forgets a start that waits no longer; the caller releases it outside of the gate's lock.
  func forget(_ start: HeldStart) { fatalError("EndGate is abstract.") }

  enum Admission {
    case starts
    case waits
    case fails(DispatchError)
  }

  /// The number of the last commit.
  var commitNumber: UInt64 { fatalError("EndGate is abstract.") }

  /// Keeps rows as a commit of their own.
  func keep(_ rows: [CompanionRow]) { fatalError("EndGate is abstract.") }

  /// Enters the end of a dispatch whose stores have ended.
  ///
  /// Called before its place is free, so that ends come in the order of the lane.
  ///
  /// - Returns: Whether it may pass now. Otherwise the gate resumes it later.
  func enter(_ end: PendingEnd) -> Bool { fatalError("EndGate is abstract.") }

  /// Saves commits on this thread until the end may pass, or until another thread does it.
  ///
  /// Called by a thread that would block otherwise.
  func lead(_ end: PendingEnd) { fatalError("EndGate is abstract.") }

  /// Notes that the end has passed: the next one of its lanes may.
  func left(_ end: PendingEnd) { fatalError("EndGate is abstract.") }

  /// Lets an end pass that may.
  func resume(_ end: PendingEnd) { fatalError("EndGate is abstract.") }
}

/// The start of stores that may have to wait at a gate.
final class HeldStart: Sendable {
  let resume: @Sendable () -> Void

  init(resume: @escaping @Sendable () -> Void) { self.resume = resume }
}
