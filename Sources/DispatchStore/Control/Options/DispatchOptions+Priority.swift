public import Foundation

extension DispatchOptions {
  /// Starts the dispatch before those of a lower priority that wait for the concurrent queue, or in its lane.
  ///
  /// For mode `async`, and for lanes that were made with priorities (`Dispatcher.usePriorities(in:)`); others stay
  /// first in, first out, and `.sync` has no queue. Without it the priority is normal, and so is that of lanes that
  /// wait for the queue. A lower priority is passed over 16 times in a row at most, so that none starves. It concerns
  /// the start alone, not the threads' quality of service. Cost: the dispatch's record, and a lock that all dispatches
  /// of other priorities than the normal one take.
  public static func priority(_ priority: Operation.QueuePriority) -> DispatchOptions {
    DispatchOptions().priority(priority)
  }

  /// The same options with a priority, as `DispatchOptions.priority(_:)`.
  public func priority(_ priority: Operation.QueuePriority) -> DispatchOptions {
    controlled { $0.priority = PriorityInbox.Level(priority) }
  }
}

extension PriorityInbox.Level {
  init(_ priority: Operation.QueuePriority) {
    // By value: some platforms have more cases, others no others.
    switch priority.rawValue {
    case ...Operation.QueuePriority.veryLow.rawValue: self = .veryLow
    case ..<Operation.QueuePriority.normal.rawValue: self = .low
    case Operation.QueuePriority.normal.rawValue: self = .normal
    case ..<Operation.QueuePriority.veryHigh.rawValue: self = .high
    default: self = .veryHigh
    }
  }
}
