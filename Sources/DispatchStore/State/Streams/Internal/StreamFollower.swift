/// The observer of one subscription to a stream.
///
/// Only the store keeps it alive.
final class StreamFollower: Follower, @unchecked Sendable {
  // because its superclass is, and the store's lock guards `lastNote`
  private let stream: StreamStorage
  private let merges: Bool
  /// The last note that was kept, if the store's last model is to replace it.
  private var lastNote: KeptNote?

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
    // A note that the stream does not keep may have its last reference here, in the section.
    if reader.readLast != nil {
      if let lastNote { kept.release(lastNote) }
      lastNote = note
    }
    let push = stream.state.withLock { state in
      state.push(note) { commit.isPresentModel ? nil : StreamHold.begin(commit, &kept) }
    }
    if push.isDue { kept.schedule(self) }
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

  /// Replaces a note that was not taken by one with the last model; the consumer skips a commit that it has taken.
  override func storeGoes(_ commit: CommitInProgress) {
    guard let lastNote, let readLast = reader.readLast else { return }
    let last = lastNote.with(readLast(commit))
    stream.state.withLock { $0.replaceKept(by: last) }
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
