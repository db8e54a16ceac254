/// An observer of the stores of one replay, for the replay's duration.
///
/// Its functions are called on the thread that replays, out of the measured time.
protocol ReplayObserver: Sendable {
  /// Called when the stores are made, and before the first action is dispatched.
  ///
  /// - Parameter inFlight: Counts the actions in flight, in the modes that limit them.
  func begin(_ stores: Stores, _ inFlight: (@Sendable () -> Int)?)

  /// Called when all actions of a batch are dispatched, and have ended if the replay is measured.
  ///
  /// Throws if the replay is not to go on.
  func check() throws(Failure)

  /// Called when the last action has ended: that of the history, or the last one before a cut.
  func finish(isCut: Bool) throws(Failure)

  /// Called when the replay is given up.
  func stop()
}

extension [any ReplayObserver] {
  /// Calls a closure that replays, observed by these observers.
  func observe(
    _ stores: Stores, _ inFlight: (@Sendable () -> Int)?, _ replay: () throws -> RunResult
  ) throws -> RunResult {
    for observer in self { observer.begin(stores, inFlight) }
    do {
      let result = try replay()
      for observer in self {
        // Actions that have not ended go on changing the stores.
        if let cut = result.cut, cut.unfinished > 0 {
          observer.stop()
        } else {
          try observer.finish(isCut: result.cut != nil)
        }
      }
      return result
    } catch {
      for observer in self { observer.stop() }
      throw error
    }
  }
}
