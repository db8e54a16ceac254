/// The table's view of a dispatch in flight: its record and its progress.
///
/// A reference to the trace keeps the record from being reused.
final class InFlightTrace: DispatchTrace {
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
    /// Whether the hooks before the start have returned.
    var isPrepared = false
    /// The stores in `waitFor` order.
    ///
    /// Empty until those hooks have returned.
    var stores: [StoreProgress] = []
    /// For a sequence, the number of its actions that have ended.
    var endedSteps = 0
  }

  struct StoreProgress {
    let identifier: String
    var startedAt: Int64?
    var hasEnded = false
  }

  init(_ dispatch: Dispatch, _ info: DispatchInfo, caller: Dispatch?, at time: Int64) {
    (self.dispatch, self.caller) = (dispatch, caller)
    (id, parent, callSite) = (info.id, info.parent, info.callSite)
    (actions, isSequence, mode) = (info.actions, info.isSequence, info.mode)
    began = time
    progress = Locked(Progress(moved: time))
  }

  /// The current progress.
  var present: Progress { progress.withLock { $0 } }

  /// The time when a part of the dispatch last began or ended.
  var moved: Int64 { progress.withLock { $0.moved } }

  func prepare(_ identifiers: [String]) {
    progress.withLock { progress in
      progress.isPrepared = true
      progress.stores = identifiers.map { StoreProgress(identifier: $0) }
    }
  }

  func storeStarts(_ index: Int, at time: Int64) {
    progress.withLock { progress in
      progress.moved = max(progress.moved, time)
      guard progress.stores.indices.contains(index) else { return }
      progress.stores[index].startedAt = time
      progress.stores[index].hasEnded = false
    }
  }

  func storeEnded(_ index: Int, at time: Int64) {
    progress.withLock { progress in
      progress.moved = max(progress.moved, time)
      if progress.stores.indices.contains(index) { progress.stores[index].hasEnded = true }
    }
  }

  func stepEnded(at time: Int64) {
    progress.withLock { progress in
      progress.moved = max(progress.moved, time)
      progress.endedSteps += 1
    }
  }
}
