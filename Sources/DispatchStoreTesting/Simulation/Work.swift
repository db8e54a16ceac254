import DispatchStore

/// A piece of work that has not begun.
struct Work {
  /// What traces call the thread that runs it.
  let name: String
  let kind: SimulatedWork
  /// For orders that go by priority.
  let priority: UInt64
  let body: @Sendable () -> Void

  /// What can't run beside another one; nil for what can.
  var line: ObjectIdentifier? {
    switch kind {
    case .operation(let queue): ObjectIdentifier(queue)
    case .main: ObjectIdentifier(World.self)
    case .queue(let queue): queue
    case .substitute, .job: nil
    }
  }
}
