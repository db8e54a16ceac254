/// Observes the stores of one replay, for as long as that takes.
///
/// Its functions are called on the thread that replays, out of the measured time.
protocol ReplayObserver: Sendable {
  /// Whether it observes the elements of the answers, so that the models are to keep these.
  var followsAnswers: Bool { get }

  /// The stores are made, and the first action is not dispatched yet.
  ///
  /// - Parameter inFlight: Counts the actions in flight, in the modes that limit them.
  func begin(_ stores: Stores, _ inFlight: (@Sendable () -> Int)?)

  /// All actions of a batch are dispatched, and have ended where the replay is measured; throws where it is not to go
  /// on.
  func check() throws(Failure)

  /// The last action has ended: that of the history, or the last one before a cut.
  func finish(isCut: Bool) throws(Failure)

  /// The replay is given up.
  func stop()
}

extension [any ReplayObserver] {
  /// Calls a closure that replays, observed by these.
  func observe(
    _ stores: Stores, _ inFlight: (@Sendable () -> Int)?, _ replay: () throws -> RunResult
  ) throws -> RunResult {
    for observer in self { observer.begin(stores, inFlight) }
    do {
      let result = try replay()
      for observer in self {
        // What has not ended goes on changing the stores.
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
