import Logging
import Metrics

/// A change that is written as a whole or not at all.
enum Change: Sendable {
  /// Goods that were added, and their new price.
  case goods(sku: String, add: Int, price: Int)
  /// An order's new state, the goods it gives back, the payment it now waits for, and its key.
  case order(Order, returned: Int, payment: Payment?, key: String?)
}

/// Writes changes to the database. All that come during a commit share the next one.
actor Journal {
  private typealias Waiter = (change: Change, continuation: CheckedContinuation<Void, any Error>)

  private let database: any Storage
  private let logger: Logger
  private let batchSizes = Recorder(label: "shop_commit_changes")
  private let durations = Timer(label: "shop_commit_seconds")
  private var waiting: [Waiter] = []
  private var isWriting = false

  /// Whether the last commit succeeded.
  private(set) var isHealthy = true

  init(database: any Storage, logger: Logger) {
    self.database = database
    self.logger = logger
  }

  /// Returns when the change is on disk.
  func commit(_ change: Change) async throws {
    try await withCheckedThrowingContinuation { continuation in
      waiting.append((change, continuation))
      guard !isWriting else { return }
      isWriting = true
      Task { await writeAll() }
    }
  }

  private func writeAll() async {
    while !waiting.isEmpty {
      let batch = waiting
      waiting = []
      let result = await write(batch.map(\.change))
      for waiter in batch { waiter.continuation.resume(with: result) }
    }
    isWriting = false
  }

  private func write(_ changes: [Change]) async -> Result<Void, any Error> {
    let start = ContinuousClock.now
    do {
      try await database.write(changes)
      isHealthy = true
      batchSizes.record(changes.count)
      durations.record(duration: .now - start)
      return .success(())
    } catch {
      isHealthy = false
      logger.error("The database can't be written.", metadata: ["error": "\(error)"])
      return .failure(ShopError(.unavailable, "The database can't be written. Try again."))
    }
  }
}
