/// The observer of one subscription to a stream.
///
/// Only the store keeps it alive.
final class StreamFollower: Follower, @unchecked Sendable {
  // because its superclass is
  private let stream: StreamStorage
  private let merges: Bool

  /// - Parameter merges: Whether at most one value is kept, into which later ones are merged.
  init(
    _ reader: CommitReader, _ stream: StreamStorage, merges: Bool, initial: Bool,
    note: @escaping Note
  ) {
    (self.stream, self.merges) = (stream, merges)
    super.init(reader, isInTurn: false, initial: initial, note: note)
  }

  override func put(
    _ note: KeptNote, of commit: CommitInProgress, _ kept: inout KeptCommit
  ) -> Bool {
    guard let note = merged(note, &kept) else {
      if stream.state.withLock({ $0.mergedAway() }) { kept.schedule(self) }
      return true
    }
    let push = stream.state.withLock { state in
      state.push(note) { commit.isPresentModel ? nil : StreamHold.begin(commit, &kept) }
    }
    if push.isDue { kept.schedule(self) }
    // The last reference to the note may be here, in the section.
    if !push.isKept { kept.release(note) }
    return push.isKept
  }

  /// Returns the note to keep after another one has arrived, or nil if the two cancel out.
  ///
  /// The store's lock keeps other commits out meanwhile. A consumer that comes now finds nothing, and suspends until
  /// the merged note is kept.
  private func merged(_ note: KeptNote, _ kept: inout KeptCommit) -> KeptNote? {
    guard merges, let value = note.value,
      let former = stream.state.withLock({ $0.takeBack() }), let earlier = former.value
    else { return note }
    kept.release(former)
    return reader.merge?(earlier, value).map(note.with)
  }

  /// Resumes the consumer from this thread, or ends waits for it.
  ///
  /// Its task continues on its own executor.
  override func scheduleCall() {
    yieldPoint(.wakeConsumer)
    stream.wake()
  }

  override var needsNoTurn: Bool { true }
}
