/// How saving goes.
public struct PersistenceStatus: Sendable {
  /// The kind and place of the database.
  public let database: String
  /// The number of times that a process has become the database's owner, this one included.
  public let epoch: Int64
  /// The number of the last group of commits that was saved.
  public internal(set) var group: Int64
  /// The number of commits that are not saved yet.
  public internal(set) var lag: Int
  /// The last error; nil once a group is saved after it.
  public internal(set) var lastError: PersistenceError?
  /// Whether saving has failed for good; a closed persistence has not.
  public internal(set) var hasFailed = false
  /// Whether the lease is over by this process's clock, so that another process may own the database, and newer state
  /// may be there; never with SQLite, which has no lease.
  public internal(set) var isLeaseOver = false

  init(database: String, owner: PersistenceOwner) {
    (self.database, epoch, group, lag) = (database, owner.epoch, owner.group, 0)
  }
}

extension Persistence {
  /// How saving goes at this moment.
  public var status: PersistenceStatus {
    let isLeaseOver = writer.driver.isLeaseOver
    return state.withLock { $0.presentStatus(isLeaseOver) }
  }

  /// The status now and after each group that was saved or has failed, in order; the newest one only, for a slow
  /// consumer.
  public var statuses: AsyncStream<PersistenceStatus> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: PersistenceStatus.self, bufferingPolicy: .bufferingNewest(1))
    let isLeaseOver = writer.driver.isLeaseOver
    let number = state.withLock { state in
      state.lastObserver += 1
      // Before the observer is in the list: a newer status must not be replaced by this one.
      continuation.yield(state.presentStatus(isLeaseOver))
      state.statusObservers[state.lastObserver] = continuation
      return state.lastObserver
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.state.withLock { $0.statusObservers.removeValue(forKey: number) }
    }
    return stream
  }

  /// Tells observers the present status, or leaves that to the thread that tells them an earlier one.
  func publishStatus() {
    let isLeaseOver = writer.driver.isLeaseOver
    let isMine = state.withLock { state in
      if state.statusObservers.isEmpty { return false }
      let observers = state.statusObservers.sorted { $0.key < $1.key }.map(\.value)
      // Enqueued under the lock, so that the statuses come in order, and to an observer none from before it.
      return statusNotices.put(
        StatusNotice(status: state.presentStatus(isLeaseOver), observers: observers))
    }
    guard isMine else { return }
    statusNotices.deliver { notice in
      for observer in notice.observers { observer.yield(notice.status) }
    }
  }
}

/// A status for those who observed it when it was published.
struct StatusNotice: Sendable {
  let status: PersistenceStatus
  let observers: [AsyncStream<PersistenceStatus>.Continuation]
}

extension Persistence.State {
  fileprivate func presentStatus(_ isLeaseOver: Bool) -> PersistenceStatus {
    var status = status
    (status.lag, status.isLeaseOver) = (Int(commit.lag), isLeaseOver)
    return status
  }
}
