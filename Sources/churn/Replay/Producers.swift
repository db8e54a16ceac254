import Foundation

/// The threads or tasks that dispatch the events of a batch.
struct Producers: Sendable {
  let count: Int

  /// Splits the indices of a batch among the producers.
  ///
  /// All changes of a path go to the same producer, and so do all commits of an author. The producer's program order
  /// is then the order within each lane.
  func split(_ batch: [Event]) -> [[Int]] {
    guard count > 1 else { return [Array(batch.indices)] }
    var shares: [[Int]] = Array(repeating: [], count: count)
    for (index, event) in batch.enumerated() {
      let hash =
        switch event {
        case .changed(let change): change.path.hashValue
        case .committed(let commit): commit.author.hashValue
        }
      shares[Int(UInt(bitPattern: hash) % UInt(count))].append(index)
    }
    return shares
  }

  /// Calls the closure with all shares, each on a separate thread; with a single one on this thread.
  ///
  /// Returns when all calls have returned.
  func run(_ shares: [[Int]], _ work: @escaping @Sendable ([Int]) -> Void) {
    guard shares.count > 1 else { return shares.forEach(work) }
    let threads = DispatchGroup()
    for share in shares {
      threads.enter()
      Thread.detachNewThread {
        work(share)
        threads.leave()
      }
    }
    threads.wait()
  }

  /// Calls the closure with all shares, each in a task; the calling thread waits.
  func runInTasks(_ shares: [[Int]], _ work: @escaping @Sendable ([Int]) async -> Void) {
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      await withDiscardingTaskGroup { group in
        for share in shares { group.addTask { await work(share) } }
      }
      done.signal()
    }
    done.wait()
  }
}
