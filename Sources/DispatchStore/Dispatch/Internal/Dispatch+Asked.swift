import Synchronization

/// What others ask of a dispatch, on any thread.
extension Dispatch {
  /// Reads the state, where it was handed over to the details.
  private func read<Value>(_ body: (DispatchState) -> Value) -> Value? {
    details?.state.withLock { $0.map(body) }
  }

  var hasEnded: Bool { details?.hasEnded.load(ordering: .acquiring) ?? false }

  var result: DispatchResult? { hasEnded ? read(\.result) ?? nil : nil }

  var isCancelled: Bool { read(\.isCancelled) ?? false }

  /// The dispatches before it, while it waits for them.
  var dispatchesBefore: [Dispatch] { read(\.before) ?? [] }

  /// Whether it has no action.
  var isEmpty: Bool { details?.request?.actions.isEmpty ?? false }

  /// Whether it runs, or waits to: it still needs its scheduler.
  var needsScheduler: Bool { read(\.needsScheduler) ?? true }

  /// Whether it waits for other dispatches.
  var isHeldBack: Bool { !dispatchesBefore.isEmpty }

  /// Whether a `.sync` caller need not stay: others only have to tell what was left to them.
  var onlyTellingIsLeft: Bool {
    (read(\.round) ?? nil)?.onlyTellingIsLeft == true
  }

  /// Calls back once the dispatch has ended: at once where it has, else from the thread that ends it.
  func whenEnded(_ waiter: @escaping @Sendable () -> Void) {
    if details != nil { yieldPoint(.await, id.description) }
    let details = involve()
    if isPlanted(.forgottenWaiter) {
      if result != nil { return waiter() }
      yieldPoint(.await, id.description)
      _ = details.withState { $0.wait(waiter) }
      return
    }
    if !details.withState({ $0.wait(waiter) }) { waiter() }
  }
}
