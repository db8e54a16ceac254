/// What gets the record of each dispatch while that is in flight, to look at it from other threads.
///
/// The seam for tables and diagnoses of what is in flight. A dispatcher without one pays nothing; with one, each
/// dispatch has a record with details from its beginning, and a trace.
protocol DispatchWatcher: Middleware {
  /// A dispatch begins: on the dispatching thread, before any hook of it, with no lock held.
  func watch(_ trace: DispatchTrace, of dispatcher: Dispatcher)

  /// It has ended: its completion and hooks have run; threads and tasks that wait for it resume afterwards.
  func forget(_ trace: DispatchTrace)
}

/// What watchers know of a dispatch in flight: its record, and how far it has come.
///
/// A reference to the trace keeps the record from being used again. The dispatch refers to it until its end only.
final class DispatchTrace: Sendable {
  let dispatch: Dispatch
  let id: TransactionID
  let parent: TransactionID?
  /// As dispatched; one, unless it is a sequence.
  let actions: [any ActionType]
  let isSequence: Bool
  let mode: Dispatcher.Mode
  let callSite: CallSite
  /// Of a `.sync` dispatch, the one whose code goes on only after it.
  let caller: Dispatch?
  /// By the dispatcher's clock, in nanoseconds.
  let began: Int64
  private let progress: Locked<Progress>

  /// How far a dispatch has come.
  struct Progress {
    /// When something of it has begun or ended last.
    var moved: Int64
    /// In `waitFor` order; empty until the order is known.
    var stores: [StoreProgress] = []
    /// Of a sequence, how many of its actions have ended.
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

  /// How far it has come by now.
  var present: Progress { progress.withLock { $0 } }

  /// When something of it has begun or ended last.
  var moved: Int64 { progress.withLock { $0.moved } }

  /// The order of its stores is known.
  func prepare(_ identifiers: [String]) {
    progress.withLock { progress in
      progress.stores = identifiers.map { StoreProgress(identifier: $0) }
    }
  }

  /// A store starts, perhaps once more.
  func storeStarts(_ index: Int, at time: Int64) {
    progress.withLock { progress in
      progress.moved = max(progress.moved, time)
      guard progress.stores.indices.contains(index) else { return }
      progress.stores[index].startedAt = time
      progress.stores[index].hasEnded = false
    }
  }

  /// A store, or an attempt of it, has ended.
  func storeEnded(_ index: Int, at time: Int64) {
    progress.withLock { progress in
      progress.moved = max(progress.moved, time)
      if progress.stores.indices.contains(index) { progress.stores[index].hasEnded = true }
    }
  }

  /// An action of the sequence has ended.
  func stepEnded(at time: Int64) {
    progress.withLock { progress in
      progress.moved = max(progress.moved, time)
      progress.endedSteps += 1
    }
  }
}
