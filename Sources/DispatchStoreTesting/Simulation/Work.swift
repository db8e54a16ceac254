import DispatchStore

/// A piece of work that has not begun.
struct Work {
  /// The name of its thread in traces.
  let name: String
  let kind: SimulatedWork
  /// The priority, for orders with priorities.
  let priority: UInt64
  let body: @Sendable () -> Void

  /// Identifies the queue whose width limits how much of its work runs at once.
  ///
  /// Nil for work without a limit.
  var line: ObjectIdentifier? {
    switch kind {
    case .operation(let queue): ObjectIdentifier(queue)
    case .main: ObjectIdentifier(World.self)
    case .queue(let queue): queue
    case .substitute, .job: nil
    }
  }
}
