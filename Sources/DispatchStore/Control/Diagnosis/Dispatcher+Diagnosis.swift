extension Dispatcher {
  /// Takes a diagnosis: the dispatches in flight, and their waits.
  ///
  /// May be called from any thread, while everything goes on. Each dispatch is looked at under its own locks, for
  /// some copies, and no code of the program runs under them. Linear in the number of dispatches in flight. Set
  /// `tracksInFlight`, or a watchdog, before.
  ///
  /// - Parameter age: The time after which a running block is suspected to wait invisibly: for one of its own
  ///   dispatches, or for the first that its lane holds back.
  public func diagnosis(suspectingAfter age: Duration = .seconds(1)) -> Diagnosis {
    .of(self, table: inFlightTable, suspectingAfter: age.wholeNanoseconds)
  }

  /// Reports stalls from now on, in place of an earlier watchdog.
  ///
  /// A dispatch has stalled once it has been in flight for the limit, and no part of it has begun or ended meanwhile.
  ///
  /// ```swift
  /// dispatcher.watchdog(after: .seconds(10))
  /// ```
  ///
  /// A part is a store, an attempt, or an action of a sequence. A commit alone is none, since its dispatch is not
  /// noted. A dispatch that waits for a moving one of this dispatcher has not stalled.
  ///
  /// The report names each dispatch with its waits, and the deadlocks (`Diagnosis`). It comes once for a stall, and
  /// again each time that the stall has lasted twice as long. Dispatches that come to wait for the same one are not
  /// reported again. If that one moves and stalls again, it is reported anew.
  ///
  /// The limit is a time of the dispatcher's clock, and the report is late by a quarter of it at most. A watchdog has
  /// one timer, for any number of dispatches. It knows those that the table of `tracksInFlight` or of an earlier watchdog
  /// has when it is set, and those that are made from then on. Each of these costs the same as with `tracksInFlight`,
  /// which you need not set besides.
  ///
  /// - Parameters:
  ///   - limit: The time without a move after which a dispatch is reported, more than zero; nil for no watchdog. A
  ///     report that is under way goes on.
  ///   - report: Called with each diagnosis, with no lock held, on a thread of the library that no other work needs.
  ///     It is called even if the queue is suspended, or all of its threads block. It may block. By default the
  ///     dispatcher's `onWarning` gets a warning of the kind `stalled` on such a thread, with the diagnosis as its
  ///     message.
  public func watchdog(
    after limit: Duration?, report: (@Sendable (Diagnosis) -> Void)? = nil
  ) {
    let watchdog = limit.map { Watchdog(of: self, limit: $0, report: report) }
    changeInFlight { $0.watchdog = watchdog }?.users.watchdog?.cancel()
    // Also while nothing is in flight: a dispatch that has read the former chain comes to its table, which arms none.
    watchdog?.arm(for: self)
  }
}
