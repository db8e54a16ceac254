package import Foundation

/// What runs the work of dispatchers in place of the system's queues, threads and clock.
package protocol SimulatedWorld: AnyObject, Sendable {
  /// How wide a queue is that nobody has set.
  var width: Int { get }

  /// Who holds up the world's main queue.
  var mainHolders: WaitGraph.MainHolders { get }

  /// Runs a piece of work, in time, on a thread of the world.
  func run(_ kind: SimulatedWork, _ body: @escaping @Sendable () -> Void)

  /// The same for what comes several times in one step: by these numbers rather than as it comes.
  func run(inOrderOf number: UInt64, _ body: @escaping @Sendable () -> Void)

  /// Transaction identifiers for a thread of the world.
  func makeIdentifiers() -> Range<UInt64>

  /// A number for a name that nobody has given.
  func makeNumber() -> UInt64

  /// A dispatch is under way; for the report of a stall.
  func began(_ dispatch: TransactionID, _ description: @autoclosure () -> String)
  func ended(_ dispatch: TransactionID)

  /// A thread that is not of the world takes part in it.
  func wasEntered(_ description: String)
}

/// What a piece of work is, and so when it may begin.
package enum SimulatedWork {
  /// An operation on this queue: within its width, and not while it is suspended.
  case operation(OperationQueue)
  /// A thread beside the queue.
  case substitute(after: Duration)
  /// A part of a task.
  case job
  /// The main queue: one after the other.
  case main
  /// A serial queue that somebody else made, for observers.
  case queue(ObjectIdentifier)
}
