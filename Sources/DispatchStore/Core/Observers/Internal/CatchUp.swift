/// A wait until the consumers of streams have caught up.
final class CatchUp: Sendable {
  /// Whether they have, once the wait has ended.
  let isComplete = Eventual<Bool>()
  private let streams: [any FollowingStream]
  private let missing: Locked<Int>

  /// Begins to wait for what the streams of stores keep now.
  init(with stores: [StoreStorage]) {
    let thread = ThreadState.current
    streams = stores.flatMap { store -> [any FollowingStream] in
      ExclusiveSection.check(store, "waited for", on: thread)
      return store.withLock { _ in
        store.attachment(StoreStreams.self)?._withUnsafeGuaranteedRef { $0.all } ?? []
      }
    }
    // Counts the asking too, so that the wait ends after it.
    missing = Locked(streams.count + 1)
    for stream in streams where !stream.watch(self) { hasCaughtUp() }
    hasCaughtUp()
  }

  func hasCaughtUp() {
    let left = missing.withLock { missing in
      missing -= 1
      return missing
    }
    if left == 0 { isComplete.set(true) }
  }

  /// Ends the wait early.
  func cancel() {
    for stream in streams { stream.remove(self) }
    isComplete.set(false)
  }

  /// Waits to the end, or until the task is cancelled.
  nonisolated(nonsending) func wait() async {
    let taskWait = TaskWait.begin()
    await withCancellationHandler {
      _ = await isComplete.value
    } onCancel: {
      cancel()
    }
    taskWait?.end()
  }
}
