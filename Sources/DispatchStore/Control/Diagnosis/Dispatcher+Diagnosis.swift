extension Dispatcher {
  /// The present diagnosis: `diagnosis(suspectingAfter:)` with a second.
  public var diagnosis: Diagnosis { diagnosis(suspectingAfter: .seconds(1)) }

  /// Takes a diagnosis: the dispatches in flight, and their waits.
  ///
  /// May be called from any thread, while everything goes on. Each dispatch is looked at under its own locks, for
  /// some copies, and no code of the program runs under them. Linear in the number of dispatches in flight. Register
  /// an `InFlightDispatches`, or a `Watchdog`, with the dispatcher before.
  ///
  /// - Parameter age: The time after which a running block is suspected to wait invisibly: for one of its own
  ///   dispatches, or for the first that its lane holds back.
  public func diagnosis(suspectingAfter age: Duration) -> Diagnosis {
    let source = middlewares.lazy.compactMap { $0 as? any InFlightSource }.first
    return .of(self, table: source?.table, suspectingAfter: age.wholeNanoseconds)
  }
}
