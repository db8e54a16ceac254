import Synchronization

// Reads that the toolchain's Observation may track.
extension StoreStorage {
  /// Notes that code which may be tracked is about to read the store.
  ///
  /// Called before the read, so that no later change is missed.
  ///
  /// Costs a call of a registrar, and more only if the code is tracked.
  @usableFromInline
  final func noteRead(on thread: ThreadState) {
    let bits = tracker.load(ordering: .acquiring)
    if bits != 0 {
      let isTracked = Self.tracker(at: bits)._withUnsafeGuaranteedRef {
        $0.probe.isTracked(on: thread)
      }
      guard isTracked || !ReadProbe.isRight else { return }
    } else if let probe = thread.fields.pointee.readProbe {
      guard probe._withUnsafeGuaranteedRef({ $0.isTracked(on: thread) }) else { return }
    } else if !isTrackedByNewProbe(on: thread) {
      return
    }
    trackRead(on: thread)
  }

  @inline(never)
  private func isTrackedByNewProbe(on thread: ThreadState) -> Bool {
    guard ReadProbe.isRight else { return true }
    let probe = ReadProbe()
    thread.fields.pointee.readProbe = .passRetained(probe)
    return probe.isTracked(on: thread)
  }

  @inline(never)
  private func trackRead(on thread: ThreadState) {
    if thread.isInSection { return AtomicStep.checkRead(of: self, on: thread) }
    yieldPoint(.observe, on: thread, identifier)
    makeTracker(on: thread).track(in: self, on: thread)
  }

  /// Returns the store's tracker, or makes one with the probe that detected the read.
  ///
  /// Registrations at that probe thus end with the store.
  private func makeTracker(on thread: ThreadState) -> ReadTracker {
    let present = tracker.load(ordering: .acquiring)
    if present != 0 { return Self.tracker(at: present).takeUnretainedValue() }
    let probe = thread.takeReadProbe() ?? ReadProbe()
    let made = Unmanaged.passRetained(ReadTracker(of: self, probe))
    let (isDone, other) = tracker.compareExchange(
      expected: 0, desired: UInt(bitPattern: made.toOpaque()), ordering: .acquiringAndReleasing)
    if isDone { return made.takeUnretainedValue() }
    made.release()
    let tracker = Self.tracker(at: other).takeUnretainedValue()
    tracker.keep(probe, in: self)
    return tracker
  }

  private static func tracker(at bits: UInt) -> Unmanaged<ReadTracker> {
    .fromOpaque(UnsafeRawPointer(bitPattern: bits).unsafelyUnwrapped)
  }

  final func releaseTracker() {
    let bits = tracker.load(ordering: .acquiring)
    if bits != 0 { Self.tracker(at: bits).release() }
  }

  /// Notifies an observer of the current version, in the delivery turn, and from the next commit on.
  final func notifyOfPresent(_ observer: ObserverRecord, on thread: ThreadState) {
    yieldPoint(.observe, on: thread, identifier)
    lockToRead(on: thread)
    withObserversLocked { $0.remove(observer) }
    carryOut(
      unlockAdding(observer, KeptChange(version: version), on: thread), on: thread)
  }
}
