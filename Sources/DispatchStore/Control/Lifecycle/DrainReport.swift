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
  /// The number of saved schedules that are left to the next process.
  public let scheduleCount: Int
  /// The number of pieces of saved work of durable effects that are left to the next process.
  public let pendingEffectCount: Int
  let dispatcher: String
  /// The effects whose runs go on, in words.
  let effects: [String]
}

extension DrainReport: CustomStringConvertible {
  /// A summary, then a line for each dispatch that has not ended, each effect that runs, and each group that was not
  /// undone.
  public var description: String {
    let lines = effects.map { "  \($0)" } + uncompensated.map { "  Not undone: \($0)" }
    return ([progress] + left + lines).joined(separator: "\n")
  }

  private var left: [String] {
    if scheduleCount + pendingEffectCount == 0 { return [] }
    return [
      "  Left to the next process: \(scheduleCount) scheduled, \(pendingEffectCount) of durable effects."
    ]
  }

  private var progress: String {
    if isComplete { return "Dispatcher \"\(dispatcher)\" is drained." }
    guard let unfinished else {
      return """
        Dispatcher "\(dispatcher)" is not drained: dispatches are in flight, or its streams lag. Set its \
        tracksInFlight to know which.
        """
    }
    if unfinished.isEmpty {
      let rest = "its streams lag, or the commits of a dispatch that has ended are not saved"
      return
        "Dispatcher \"\(dispatcher)\" is not drained: \(effects.isEmpty ? rest : "effects run")."
    }
    return
      (["Dispatcher \"\(dispatcher)\" is not drained: \(unfinished.count) in flight."]
      + unfinished.map { "  \($0)" }).joined(separator: "\n")
  }
}
