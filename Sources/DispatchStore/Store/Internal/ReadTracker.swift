import Observation
import Synchronization

/// Notifies code that tracks its reads of a store, such as `withObservationTracking`, of the store's changes.
///
/// A store has one from its first tracked read on. It is registered as an observer as long as a tracked read has not
/// been followed by a change: tracking ends with the first change, so that a store which is read no longer by tracked
/// code is not observed either.
final class ReadTracker: ObserverRecord, @unchecked Sendable {
  // because the store's lock guards what changes
  let probe: ReadProbe
  let progress: ReadProgress
  /// Those that found out about tracked reads of the store at the same time: they go with the store.
  private var others: [ReadProbe] = []
  /// The version that the last tracked read has seen at least.
  private var lastRead: UInt64 = 0
  private var lastPath: LastPath?

  private typealias LastPath = (version: UInt64, notice: UInt64, path: any TrackedRead.Path)
  /// Equal to all others, and never late.
  private let anyRead: any TrackedRead.Path

  init(of storage: StoreStorage, _ probe: ReadProbe) {
    self.probe = probe
    progress = ReadProgress(of: storage)
    anyRead = TrackedRead.path(.max, in: 0, of: progress)
    super.init(on: nil)
    progress.tracker = self
  }

  /// Tracked code is about to read the store.
  func track(in storage: StoreStorage, on thread: ThreadState) {
    let notice = thread.trackedNotice
    let (version, present) = storage.withObservers { notifications in
      if slot == nil { notifications.add(self, from: storage.version &+ 1) }
      lastRead = storage.version
      let isSame = lastPath?.version == lastRead && lastPath?.notice == notice
      return (lastRead, isSame ? lastPath?.path : nil)
    }
    let path = present ?? TrackedRead.path(version, in: notice, of: progress)
    if present == nil {
      var last: LastPath? = (version, notice, path)
      // The former one is released outside of the lock.
      storage.withLock { _ in swap(&lastPath, &last) }
    }
    probe.registrar.access(probe, keyPath: path)
  }

  private static let noticeCount = Atomic<UInt64>(0)

  /// Called in the delivery turn, so that no two mutations meet: the registrar could notify one tracking of both.
  override func notify(of change: ObservedChange) {
    guard let storage = progress.storage else { return }
    storage.withObservers { notifications in
      progress.note(change.version)
      if lastRead < change.version { notifications.remove(self) }
    }
    let thread = ThreadState.current
    let outer = thread.trackedNotice
    thread.trackedNotice = Self.noticeCount.add(1, ordering: .relaxed).newValue
    defer { thread.trackedNotice = outer }
    probe.registrar.withMutation(of: probe, keyPath: anyRead) {}
  }

  /// Keeps a probe by which a read of the store was tracked, too.
  func keep(_ probe: ReadProbe, in storage: StoreStorage) {
    storage.withLock { _ in others.append(probe) }
  }
}

/// How far those that track a store have been notified; it keeps neither the store nor its tracker alive, since the
/// registrations of the tracker's registrar refer to it.
final class ReadProgress: @unchecked Sendable {
  // because `storage` and `tracker` are set before another thread has it
  private(set) weak var storage: StoreStorage?
  weak var tracker: ReadTracker?
  private let notified = Atomic<UInt64>(0)
  private let isLate = Atomic(false)

  init(of storage: StoreStorage) {
    self.storage = storage
  }

  /// Those that are registered are about to be notified of a version.
  func note(_ version: UInt64) {
    notified.max(version, ordering: .sequentiallyConsistent)
  }

  /// A read that has seen this version at least is being registered, under the registrar's lock.
  ///
  /// If those that were registered have been notified of a later version, this one came too late for that, and is
  /// notified now, by another thread. If not, the next notification finds it: it locks that lock after this.
  func check(_ version: UInt64) {
    guard notified.load(ordering: .sequentiallyConsistent) > version,
      !isLate.exchange(true, ordering: .sequentiallyConsistent)
    else { return }
    let job: @Sendable () -> Void = { self.notifyLate() }
    if let world = ThreadState.current.simulated?.world {
      world.run(.substitute, job)
    } else {
      HelperThreads.run(job)
    }
  }

  private func notifyLate() {
    guard let tracker, let storage else { return }
    // Takes the registrar's lock, which a registration has meanwhile: it may check several times.
    tracker.probe.registrar.willSet(tracker.probe, keyPath: \.registrar)
    isLate.store(false, ordering: .sequentiallyConsistent)
    storage.notifyOfPresent(tracker, on: .current)
  }
}
