/// The dispatches that had not ended when a drain returned.
public struct DrainReport: Sendable {
  /// Whether all dispatches have ended, and streams have caught up if the drain includes them.
  public let isComplete: Bool
  /// The dispatches that have not ended, in the order in which they were dispatched.
  ///
  /// Nil if the dispatcher keeps no table of them (`Dispatcher.tracksInFlight`).
  public let unfinished: [InFlightDispatch]?
  /// Groups that ended with steps that were not undone, because `shutDown()` was called before.
  public let uncompensated: [UncompensatedGroup]
  private let dispatcher: String

  init(
    isComplete: Bool, unfinished: [InFlightDispatch]?, uncompensated: [UncompensatedGroup],
    dispatcher: String
  ) {
    self.isComplete = isComplete
    self.unfinished = unfinished
    self.uncompensated = uncompensated
    self.dispatcher = dispatcher
  }
}

extension DrainReport: CustomStringConvertible {
  /// A summary, then a line for each dispatch that has not ended, and for each group that was not undone.
  public var description: String {
    ([progress] + uncompensated.map { "  Not undone: \($0)" }).joined(separator: "\n")
  }

  private var progress: String {
    if isComplete { return "Dispatcher \"\(dispatcher)\" is drained." }
    guard let unfinished else {
      return """
        Dispatcher "\(dispatcher)" is not drained: dispatches are in flight, or its streams lag. Set its \
        tracksInFlight to know which.
        """
    }
    if unfinished.isEmpty { return "Dispatcher \"\(dispatcher)\" is drained, but its streams lag." }
    return
      (["Dispatcher \"\(dispatcher)\" is not drained: \(unfinished.count) in flight."]
      + unfinished.map { "  \($0)" }).joined(separator: "\n")
  }
}
