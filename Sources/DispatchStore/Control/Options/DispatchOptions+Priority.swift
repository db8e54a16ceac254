public import Foundation

extension DispatchOptions {
  /// Starts the dispatch before waiting ones of a lower priority, on the concurrent queue or in its lane.
  ///
  /// Works in mode `async`, and in lanes with priorities (`Dispatcher.usePriorities(in:)`). Other lanes stay first
  /// in, first out, and `.sync` has no queue. The default is normal, also for lanes that wait for the queue. A lower
  /// priority is passed over 16 times in a row at most, so that none starves. The priority affects the start alone,
  /// not the threads' quality of service. Cost: the dispatch's record, and a lock that all dispatches of other
  /// priorities than the normal one take.
  public static func priority(_ priority: Operation.QueuePriority) -> DispatchOptions {
    DispatchOptions().controlled { [level = PriorityInbox.Level(priority)] in $0.priority = level }
  }
}

extension PriorityInbox.Level {
  init(_ priority: Operation.QueuePriority) {
    // By value: the platforms have different cases.
    switch priority.rawValue {
    case ...Operation.QueuePriority.veryLow.rawValue: self = .veryLow
    case ..<Operation.QueuePriority.normal.rawValue: self = .low
    case Operation.QueuePriority.normal.rawValue: self = .normal
    case ..<Operation.QueuePriority.veryHigh.rawValue: self = .high
    default: self = .veryHigh
    }
  }
}
