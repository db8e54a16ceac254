/// Observes the stores of one replay, for as long as that takes.
///
/// Its functions are called on the thread that replays, out of the measured time.
protocol ReplayObserver: Sendable {
  /// Whether it observes the elements of the answers, so that the models are to keep these.
  var followsAnswers: Bool { get }

  /// The stores are made, and the first action is not dispatched yet.
  ///
  /// - Parameter inFlight: Counts the actions in flight, in the modes that it limits.
  func begin(_ stores: Stores, _ inFlight: InFlightLimiter?)

  /// All actions so far have ended; throws where the replay is not to go on.
  func check() throws(Failure)

  /// The last action has ended.
  func finish() throws(Failure)

  /// The replay is given up.
  func stop()
}

extension [any ReplayObserver] {
  /// Calls a closure that replays, observed by these.
  func observe<Result>(
    _ stores: Stores, _ inFlight: InFlightLimiter?, _ replay: () throws -> Result
  ) throws -> Result {
    for observer in self { observer.begin(stores, inFlight) }
    do {
      let result = try replay()
      for observer in self { try observer.finish() }
      return result
    } catch {
      for observer in self { observer.stop() }
      throw error
    }
  }
}
