import Dispatch
import DispatchStore

/// Writes a replay's changes of the answers to a file, in batches, while the replay runs.
///
/// Its functions are called on the thread that replays, out of the measured time.
///
/// The deltas of the four stores come on one queue. That queue is suspended until the next batch, and the deltas of a
/// store are merged into one. So a commit waits for no write and wakes no thread, and the kept delta has each key
/// once at most.
final class FollowedReplay: @unchecked Sendable {
  // Unchecked because: only the thread that replays touches `tokens` and `timer`.
  private let title: ReplayTitle
  private let copies: Int
  private let file: FollowedFile
  private let interval: DispatchTimeInterval
  /// Suspended between batches; resumed and suspended on `batches` alone while that has its timer.
  private let queue = DispatchQueue(label: "churn.follow")
  private let batches = DispatchQueue(label: "churn.follow.batches")
  private var timer: (any DispatchSourceTimer)?
  private var tokens: [ObserverToken] = []

  /// - Parameter interval: The time from one batch to the next.
  init(
    _ title: ReplayTitle, copies: Int, to file: FollowedFile,
    every interval: DispatchTimeInterval = .milliseconds(100)
  ) {
    (self.title, self.copies, self.file, self.interval) = (title, copies, file, interval)
  }

  /// Calls a closure that replays, and writes what it changes.
  func follow(_ stores: Stores, during replay: () throws -> RunResult) throws -> RunResult {
    begin(stores)
    defer { stop() }
    let result = try replay()
    // Actions that have not ended go on changing the stores.
    if (result.cut?.unfinished ?? 0) == 0 { try finish(stores, isCut: result.cut != nil) }
    return result
  }

  private func begin(_ stores: Stores) {
    file.write(FollowLine.replay(title, copies: copies).text)
    queue.suspend()
    tokens = [
      follow(stores.files, \.files), follow(stores.authors, \.authors),
      follow(stores.folders, \.churn), follow(stores.days, \.commits),
    ]
    let timer = DispatchSource.makeTimerSource(queue: batches)
    timer.setEventHandler { [queue] in Self.runBatch(queue) }
    timer.schedule(deadline: .now() + interval, repeating: interval)
    timer.resume()
    self.timer = timer
  }

  private func follow<Model, Action, Key: FigureKey, Value: FollowedValue>(
    _ store: Store<Model, Action>,
    _ elements: any KeyPath<Model, TrackedDictionary<Key, Value>> & Sendable
  ) -> ObserverToken {
    store.observe(.deltas(elements), on: .queue(queue)) { [file, name = store.identifier] change in
      file.write(FollowLine.text(of: change.value, store: name))
    }
  }

  /// Writes the changes since the last batch, and waits for that.
  func writeBatch() {
    batches.sync { Self.runBatch(queue) }
  }

  private static func runBatch(_ queue: DispatchQueue) {
    queue.resume()
    queue.sync {}
    queue.suspend()
  }

  /// Throws if the replay is not to go on, since a write has failed.
  func check() throws(Failure) {
    try file.check()
  }

  private func finish(_ stores: Stores, isCut: Bool) throws(Failure) {
    endBatches()
    // When its dispatch has ended, the call with a commit's delta is in the queue. An observer that has made many
    // calls goes behind the waiting calls, and then has at most one delta. So the second call here comes after that.
    for _ in 1...2 { queue.sync {} }
    let commits = stores.authors.withModel(\.commits)
    let changes = stores.files.withModel(\.changes)
    let line = FollowLine.end(title, isCut: isCut, commits: commits, changes: changes)
    file.write(line.text)
    try file.check()
  }

  private func stop() {
    for token in tokens { token.cancel() }
    tokens = []
    endBatches()
  }

  /// Ends the batches: from now on the queue runs.
  private func endBatches() {
    guard let timer else { return }
    self.timer = nil
    timer.cancel()
    // Behind a batch that is being written; no other comes after it.
    batches.sync { queue.resume() }
  }
}
