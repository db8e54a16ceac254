/// An object that keeps a trace of each dispatch in flight, for other threads that look at it.
///
/// The seam for tables and diagnoses of dispatches in flight. A dispatcher without a watcher pays nothing. With one,
/// each dispatch has a record with details from its beginning, and a trace.
protocol DispatchWatcher: AnyObject, Sendable {
  /// Called when a dispatch begins: on the dispatching thread, before any hook, with no lock held.
  ///
  /// - Parameters:
  ///   - caller: For a `.sync` dispatch, the one whose code waits for it.
  ///   - time: The time of the beginning, by the dispatcher's clock, in nanoseconds.
  func watch(
    _ dispatch: Dispatch, _ info: DispatchInfo, caller: Dispatch?, at time: Int64
  ) -> any DispatchTrace

  /// Called when a dispatch has ended, after its completion and hooks, before threads and tasks that wait for it
  /// resume.
  func forget(_ id: DispatchID)
}

/// The progress of a dispatch in flight; the dispatch refers to it only until its end.
protocol DispatchTrace: Sendable {
  /// Notes the order of the stores: the hooks before the start have returned.
  func prepare(_ identifiers: [String])

  /// Notes that a store starts, perhaps in another attempt.
  func storeStarts(_ index: Int, at time: Int64)

  /// Notes that a store, or an attempt of it, has ended.
  func storeEnded(_ index: Int, at time: Int64)

  /// Notes that an action of the sequence has ended.
  func stepEnded(at time: Int64)
}
