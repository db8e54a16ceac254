/// An object that gets the record of each dispatch in flight, to inspect it from other threads.
///
/// The seam for tables and diagnoses of dispatches in flight. A dispatcher without a watcher pays nothing. With one,
/// each dispatch has a record with details from its beginning, and a trace.
protocol DispatchWatcher: AnyObject, Sendable {
  /// Called when a dispatch begins: on the dispatching thread, before any hook, with no lock held.
  func watch(_ trace: DispatchTrace, of dispatcher: Dispatcher)

  /// Called when a dispatch has ended, after its completion and hooks, before threads and tasks that wait for it
  /// resume.
  func forget(_ trace: DispatchTrace)
}

/// A watcher's view of a dispatch in flight: its record and its progress.
///
/// A reference to the trace keeps the record from being reused. The dispatch refers to the trace only until its end.
final class DispatchTrace: Sendable {
  let dispatch: Dispatch
  let id: DispatchID
  let parent: DispatchID?
  /// The actions as dispatched: one, unless it is a sequence.
  let actions: [any ActionType]
  let isSequence: Bool
  let mode: Dispatcher.Mode
  let callSite: CallSite
  /// For a `.sync` dispatch, the one whose code waits for it.
  let caller: Dispatch?
  /// The time of the beginning, by the dispatcher's clock, in nanoseconds.
  let began: Int64
  private let progress: Locked<Progress>

  /// The progress of a dispatch.
  struct Progress {
    /// The time when a part of the dispatch last began or ended.
    var moved: Int64
    /// The stores in `waitFor` order.
    ///
    /// Empty until the order is known.
    var stores: [StoreProgress] = []
    /// For a sequence, the number of its actions that have ended.
    var endedSteps = 0
  }

  struct StoreProgress {
    let identifier: String
    var startedAt: Int64?
    var hasEnded = false
  }

  init(
    _ dispatch: Dispatch, _ actions: [any ActionType], isSequence: Bool, _ mode: Dispatcher.Mode,
    caller: Dispatch?, at time: Int64
  ) {
    self.dispatch = dispatch
    (id, parent, callSite) = (dispatch.id, dispatch.parent, dispatch.callSite)
    (self.actions, self.isSequence, self.mode) = (actions, isSequence, mode)
    self.caller = caller
    began = time
    progress = Locked(Progress(moved: time))
  }

  /// The current progress.
  var present: Progress { progress.withLock { $0 } }

  /// The time when a part of the dispatch last began or ended.
  var moved: Int64 { progress.withLock { $0.moved } }

  /// Notes the order of the stores.
  func prepare(_ identifiers: [String]) {
    progress.withLock { progress in
      progress.stores = identifiers.map { StoreProgress(identifier: $0) }
    }
  }

  /// Notes that a store starts, perhaps in another attempt.
  func storeStarts(_ index: Int, at time: Int64) {
    progress.withLock { progress in
      progress.moved = max(progress.moved, time)
      guard progress.stores.indices.contains(index) else { return }
      progress.stores[index].startedAt = time
      progress.stores[index].hasEnded = false
    }
  }

  /// Notes that a store, or an attempt of it, has ended.
  func storeEnded(_ index: Int, at time: Int64) {
    progress.withLock { progress in
      progress.moved = max(progress.moved, time)
      if progress.stores.indices.contains(index) { progress.stores[index].hasEnded = true }
    }
  }

  /// Notes that an action of the sequence has ended.
  func stepEnded(at time: Int64) {
    progress.withLock { progress in
      progress.moved = max(progress.moved, time)
      progress.endedSteps += 1
    }
  }
}
