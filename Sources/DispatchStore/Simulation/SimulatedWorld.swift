package import Foundation

/// Runs the work of dispatchers in place of the system's queues, threads and clock.
package protocol SimulatedWorld: AnyObject, Sendable {
  /// The default width of a queue.
  var width: Int { get }

  /// The dispatches that hold up the world's main queue.
  var mainHolders: WaitGraph.MainHolders { get }

  /// The world's threads that block inside the library.
  var blockedThreads: BlockedThreads { get }

  /// Calls a closure when so much of the world's time has passed.
  func call(after delay: Duration, _ body: @escaping @Sendable () -> Void)

  /// Enqueues a piece of work, which a thread of the world runs.
  func run(_ kind: SimulatedWork, _ body: @escaping @Sendable () -> Void)

  /// The same for work that one step enqueues in no fixed order: it runs in the order of the numbers.
  func run(inOrderOf number: UInt64, _ body: @escaping @Sendable () -> Void)

  /// Transaction identifiers for a thread of the world.
  func makeIdentifiers() -> Range<UInt64>

  /// A number for a generated name.
  func makeNumber() -> UInt64

  /// A dispatch is in flight; for the report of a stall.
  func began(_ dispatch: TransactionID, _ description: @autoclosure () -> String)
  func ended(_ dispatch: TransactionID)

  /// A thread outside the world called one of its dispatchers, or one of its threads another dispatcher.
  func wasEntered(_ description: String)
}

/// What a piece of work is, and so when it may begin.
package enum SimulatedWork {
  /// An operation on this queue: within its width, and not while it is suspended.
  case operation(OperationQueue)
  /// A thread beside the queue.
  case substitute
  /// A job of a task.
  case job
  /// The main queue: one after the other.
  case main
  /// A user's serial queue, for observers.
  case queue(ObjectIdentifier)
}
