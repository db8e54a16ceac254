/// The events of a spooled log, in batches, so that a replay measures its own time without the time to read.
///
/// Memory does not grow with the history.
struct EventBatches: Sendable {
  let log: SpooledLog
  /// Copies of the history to replay side by side.
  let copies: Int
  /// The maximum number of events in a batch.
  var capacity = 1 << 12
  /// The number of events, from the first on, that an earlier run has replayed.
  var skipped = 0
  /// Whether an earlier run was saved, whose stores may have taken in more.
  var isResumed = false
  /// Called after each batch with the number of replayed events and the number of all.
  let progress: @Sendable (Int, Int) -> Void

  /// The number of events.
  var eventCount: Int { log.summary.eventCount(copies: copies) }

  /// The number of events that are left.
  var leftCount: Int { eventCount - skipped }

  /// Calls the closure with each batch, in order.
  func forEach(_ body: ([Event]) throws -> Void) throws {
    try takeEach { batch in
      try body(batch)
      return batch.count
    }
  }

  /// Calls the closure with each batch, in order, until it takes fewer events than the batch has.
  ///
  /// Within a commit, one copy follows the other.
  ///
  /// - Returns: The number of events taken.
  @discardableResult
  func takeEach(_ body: ([Event]) throws -> Int) throws -> Int {
    var done = 0
    do {
      try forEachBatch { batch in
        let taken = try body(batch)
        done += taken
        progress(skipped + done, eventCount)
        if taken < batch.count { throw End() }
      }
    } catch is End {}
    return done
  }

  private struct End: Error {}

  private func forEachBatch(_ body: ([Event]) throws -> Void) throws {
    var batch: [Event] = []
    var left = skipped
    batch.reserveCapacity(capacity)
    try log.forEachCommit { commit in
      for copy in 0..<copies {
        try commit.forEachEvent(inCopy: copy) { event in
          if left > 0 {
            left -= 1
            return
          }
          batch.append(event)
          guard batch.count == capacity else { return }
          try body(batch)
          batch.removeAll(keepingCapacity: true)
        }
      }
    }
    if !batch.isEmpty { try body(batch) }
  }

  /// The event with this number, counted from 0 after those that are skipped; reads the log up to there.
  func event(at number: Int) throws -> Event? {
    var (found, passed): (Event?, Int) = (nil, 0)
    do {
      try forEachBatch { batch in
        if number - passed < batch.count {
          found = batch[number - passed]
          throw End()
        }
        passed += batch.count
      }
    } catch is End {}
    return found
  }
}
