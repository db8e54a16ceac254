/// The events of a spooled log, in batches, so that a replay measures its own time without that for reading.
///
/// Memory does not grow with the history.
struct EventBatches: Sendable {
  let log: SpooledLog
  /// Copies of the history to replay side by side.
  let copies: Int
  /// How many events a batch holds at most.
  var capacity = 1 << 12
  /// Called after each batch with the number of replayed events and the number of all.
  let progress: @Sendable (Int, Int) -> Void

  /// How many events there are.
  var eventCount: Int { log.summary.eventCount(copies: copies) }

  /// Calls the closure with each batch, in order.
  ///
  /// Within a commit, one copy follows the other.
  func forEach(_ body: ([Event]) throws -> Void) throws {
    var batch: [Event] = []
    var done = 0
    batch.reserveCapacity(capacity)
    func flush() throws {
      try body(batch)
      done += batch.count
      progress(done, eventCount)
      batch.removeAll(keepingCapacity: true)
    }
    try log.forEachCommit { commit in
      for copy in 0..<copies {
        try commit.forEachEvent(inCopy: copy) { event in
          batch.append(event)
          if batch.count == capacity { try flush() }
        }
      }
    }
    if !batch.isEmpty { try flush() }
  }
}
