import Observation
import Synchronization

/// Notifies code that tracks its reads of a store, such as `withObservationTracking`, of the store's changes.
///
/// A store has one from its first tracked read on. It is registered as an observer until a change follows the last
/// tracked read. Tracking ends with the first change, so a store that tracked code no longer reads is not observed
/// either.
final class ReadTracker: ObserverRecord, @unchecked Sendable {
  // because the store's lock guards all mutable state
  let probe: ReadProbe
  let progress: ReadProgress
  /// Probes that detected tracked reads of the store at the same time.
  ///
  /// Kept as long as the store.
  private var others: [ReadProbe] = []
  /// The lowest version that the last tracked read can have seen.
  private var lastRead: UInt64 = 0
  private var lastPath: LastPath?

  private typealias LastPath = (version: UInt64, notice: UInt64, path: any TrackedRead.Path)
  /// A path that equals all others, and is never late.
  private let anyRead: any TrackedRead.Path

  init(of storage: StoreStorage, _ probe: ReadProbe) {
    self.probe = probe
    progress = ReadProgress(of: storage)
    anyRead = TrackedRead.path(.max, in: 0, of: progress)
    super.init(isInTurn: true)
    progress.tracker = self
  }

  /// Notes that tracked code is about to read the store.
  func track(in storage: StoreStorage, on thread: ThreadState) {
    let notice = thread.fields.pointee.trackedNotice
    let (version, present) = storage.withObservers { notifications in
      if slot == nil { notifications.add(self, from: storage.version &+ 1) }
      lastRead = storage.version
      let isSame = lastPath?.version == lastRead && lastPath?.notice == notice
      return (lastRead, isSame ? lastPath?.path : nil)
    }
    let path = present ?? TrackedRead.path(version, in: notice, of: progress)
    if present == nil {
      var last: LastPath? = (version, notice, path)
      // Releases the former path outside of the lock.
      storage.withLock { _ in swap(&lastPath, &last) }
    }
    probe.registrar.access(probe, keyPath: path)
  }

  private static let noticeCount = Atomic<UInt64>(0)

  /// Notifies tracked code.
  ///
  /// Called in the delivery turn, because the registrar could notify one tracking of two mutations.
  override func notify(of change: ObservedChange) {
    guard let storage = progress.storage else { return }
    storage.withObservers { notifications in
      progress.note(change.version)
      if lastRead < change.version { notifications.remove(self) }
    }
    let thread = ThreadState.current
    let outer = thread.fields.pointee.trackedNotice
    thread.fields.pointee.trackedNotice = Self.noticeCount.add(1, ordering: .relaxed).newValue
    defer { thread.fields.pointee.trackedNotice = outer }
    probe.registrar.withMutation(of: probe, keyPath: anyRead) {}
  }

  /// Keeps another probe by which a read of the store was tracked.
  func keep(_ probe: ReadProbe, in storage: StoreStorage) {
    storage.withLock { _ in others.append(probe) }
  }
}

/// The last version of which the trackers of a store were notified.
///
/// Weak towards the store and its tracker, since the registrations of the tracker's registrar refer to it.
final class ReadProgress: @unchecked Sendable {
  // because `storage` and `tracker` are set before another thread has it
  private(set) weak var storage: StoreStorage?
  weak var tracker: ReadTracker?
  private let notified = Atomic<UInt64>(0)
  private let isLate = Atomic(false)

  init(of storage: StoreStorage) {
    self.storage = storage
  }

  /// Notes that registered trackings are about to be notified of a version.
  func note(_ version: UInt64) {
    notified.max(version, ordering: .sequentiallyConsistent)
  }

  /// Checks a read that is being registered, under the registrar's lock.
  ///
  /// The read has seen at least this version.
  ///
  /// If trackings were notified of a later version before, this one missed it, and another thread notifies it now. If
  /// not, the next notification finds it, because that takes the registrar's lock afterwards.
  func check(_ version: UInt64) {
    guard notified.load(ordering: .sequentiallyConsistent) > version,
      !isLate.exchange(true, ordering: .sequentiallyConsistent)
    else { return }
    HelperThreads.run(in: ThreadState.current.simulated?.world) { self.notifyLate() }
  }

  private func notifyLate() {
    guard let tracker, let storage else { return }
    // Takes the registrar's lock, to wait for the registration in progress, which may check several times.
    tracker.probe.registrar.willSet(tracker.probe, keyPath: \.registrar)
    isLate.store(false, ordering: .sequentiallyConsistent)
    storage.notifyOfPresent(tracker, on: .current)
  }
}
