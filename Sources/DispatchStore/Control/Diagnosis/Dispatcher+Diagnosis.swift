extension Dispatcher {
  /// What is in flight now, and what waits for what: `diagnosis(suspectingAfter:)` with a second.
  public var diagnosis: DispatchStore::Diagnosis { diagnosis(suspectingAfter: .seconds(1)) }

  /// What is in flight now, and what waits for what.
  ///
  /// From any thread, while everything goes on; each dispatch is looked at under its own locks, for some copies, and no
  /// code of the program runs under them. Linear in what is in flight. The dispatcher needs an `InFlightDispatches`, or
  /// a `Watchdog`, that was registered before.
  ///
  /// - Parameter age: A block that has run for so long may wait for what the library can't see: for what it has
  ///   dispatched, or for the first that its lane holds back.
  public func diagnosis(suspectingAfter age: Duration) -> DispatchStore::Diagnosis {
    let source = middlewares.lazy.compactMap { $0 as? any InFlightSource }.first
    return .of(self, table: source?.table, suspectingAfter: age.wholeNanoseconds)
  }
}
