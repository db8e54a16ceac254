package import Foundation

/// A replacement of the system's queues, threads and clock, which runs the work of dispatchers.
package protocol SimulatedWorld: AnyObject, Sendable {
  /// The default width of a queue.
  var width: Int { get }

  /// The dispatches that block the world's main queue.
  var waitRecords: WaitGraph.WaitRecords { get }

  /// The world's threads that are blocked inside the library.
  var blockedThreads: BlockedThreads { get }

  /// Calls a closure after a delay, in the world's time.
  func call(after delay: Duration, _ body: @escaping @Sendable () -> Void)

  /// Enqueues work, which a thread of the world runs.
  func run(_ kind: SimulatedWork, _ body: @escaping @Sendable () -> Void)

  /// Enqueues work of which one step enqueues several pieces in no fixed order.
  ///
  /// Runs it in the order of the numbers.
  func run(inOrderOf number: UInt64, _ body: @escaping @Sendable () -> Void)

  /// Returns dispatch identifiers for a thread of the world.
  func makeIdentifiers() -> Range<UInt64>

  /// Returns a number for a generated name.
  func makeNumber() -> UInt64

  /// Notes that a dispatch is in flight, for the report of a stall.
  func began(_ dispatch: DispatchID, _ description: @autoclosure () -> String)
  func ended(_ dispatch: DispatchID)

  /// Notes a call between a dispatcher of this world and a thread or dispatcher outside of it.
  func wasEntered(_ description: String)
}

/// A kind of work, which decides when it may begin.
package enum SimulatedWork {
  /// An operation on this queue, within the queue's width and not while it is suspended.
  case operation(OperationQueue)
  /// A thread beside the queue.
  case substitute
  /// A job of a task.
  case job
  /// Work of the main queue, in order.
  case main
  /// Work of a user's serial queue, for observers.
  case queue(ObjectIdentifier)
}
