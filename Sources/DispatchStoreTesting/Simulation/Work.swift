import DispatchStore

/// A piece of work that has not begun.
struct Work {
  /// The name in traces of the thread that runs it.
  let name: String
  let kind: SimulatedWork
  /// Used by orders with priorities.
  let priority: UInt64
  let body: @Sendable () -> Void

  /// Identifies the queue whose width limits how many run at once; nil for work without a limit.
  var line: ObjectIdentifier? {
    switch kind {
    case .operation(let queue): ObjectIdentifier(queue)
    case .main: ObjectIdentifier(World.self)
    case .queue(let queue): queue
    case .substitute, .job: nil
    }
  }
}
