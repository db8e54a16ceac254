/// The consumer's side of a stream.
///
/// The iterator owns it, and its release ends the subscription.
@usableFromInline
final class StreamSubscription: @unchecked Sendable {  // because one task at a time uses it
  private let stream: StreamStorage
  /// Removes the follower from the store.
  private var unsubscribe: (() -> Void)?
  private let isSuspending: Bool
  /// Whether the next change has the present state, since none was delivered.
  private var beginsWithPresent: Bool
  /// The task that called `next` last, if the stream observes its waits.
  private var consumer: UInt?

  /// - Parameter beginsWithPresent: Whether the first change has the present state. A stream may drop the note of that
  ///   for one of a later commit.
  init(
    _ stream: StreamStorage, isSuspending: Bool, beginsWithPresent: Bool,
    _ unsubscribe: @escaping () -> Void
  ) {
    (self.stream, self.isSuspending, self.unsubscribe) = (stream, isSuspending, unsubscribe)
    self.beginsWithPresent = beginsWithPresent
  }

  deinit {
    end()
  }

  @usableFromInline
  nonisolated(nonsending) func next() async -> KeptNote? {
    if isSuspending { observeWaits(of: TaskWait.currentTask) }
    let note = await stream.next()
    if note == nil { end() }
    return beginsWithPresent ? note?.asPresent() : note
  }

  /// Notes that a change was delivered, and not skipped.
  @usableFromInline
  func hasDelivered() { beginsWithPresent = false }

  private func end() {
    if isSuspending { observeWaits(of: nil) }
    unsubscribe.take()?()
    stream.close()
  }

  private func observeWaits(of task: UInt?) {
    guard task != consumer else { return }
    if let consumer { TaskWaitTable.remove(stream, from: consumer) }
    if let task { TaskWaitTable.add(stream, to: task) }
    consumer = task
  }
}
