/// What of a store's state has no type of the user's: it is reached without looking a generic type up.
///
/// Also its observers, and the turn to tell them.
@usableFromInline
class StoreStorage: @unchecked Sendable {
  // because every access to what changes holds `lock`
  let identifier: String
  /// At hand, because a global is looked up by a call.
  let threadKey = ThreadState.key
  let lock = Lock()
  /// The number of commits so far.
  @exclusivity(unchecked) @usableFromInline final var version: UInt64 = 0
  /// Whether somebody may have to be told.
  @exclusivity(unchecked) final var isObserved = false
  @exclusivity(unchecked) private final var core = NotificationQueue()

  init(identifier: String) {
    self.identifier = identifier
  }

  deinit {
    lock.destroy()
  }

  /// Enters the exclusive section for a commit of which nobody has to be told.
  ///
  /// Nobody can begin to observe before the section is left. False, and not entered, where somebody
  /// observes the store already.
  @usableFromInline
  final func enter(on thread: ThreadState) -> Bool {
    ExclusiveSection.check(self, "changed", on: thread)
    yieldPoint(.commit, on: thread, identifier)
    lock.lock()
    if isObserved {
      lock.unlock()
      return false
    }
    thread.exclusive = self
    return true
  }

  /// Enters the exclusive section to read the model in place.
  @usableFromInline
  final func enterToRead(on thread: ThreadState) {
    ExclusiveSection.check(self, "read", on: thread)
    yieldPoint(.read, on: thread, identifier)
    lock.lock()
    thread.exclusive = self
  }

  @usableFromInline
  final func leaveUnchanged(on thread: ThreadState) {
    thread.exclusive = nil
    lock.unlock()
  }

  @usableFromInline
  final func leave(on thread: ThreadState) {
    version &+= 1
    thread.exclusive = nil
    lock.unlock()
  }

  /// Enters the exclusive section for a commit of which somebody may have to be told.
  @usableFromInline
  final func enterToTell(on thread: ThreadState) {
    yieldPoint(.commit, on: thread, identifier)
    lock.lock()
    thread.exclusive = self
  }

  /// Leaves it, and tells the observers of the change, where they are to hear of it.
  @usableFromInline
  final func leaveAndTell(
    _ change: ObservedChange?, for owner: (any CommitOwner)?, on thread: ThreadState
  ) {
    // The turn is drawn where the lock is left, so that telling follows commit order.
    version &+= 1
    let turn =
      change.map { change in
        withCore { $0.notice(of: change, owner: owner, mayWait: thread.turns.isEmpty) }
      } ?? .none
    thread.exclusive = nil
    lock.unlock()
    take(turn, on: thread)
  }

  @inline(__always)
  final func withLock<Result, Failure: Error>(
    _ body: (inout NotificationQueue) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try withCore(body)
  }

  /// For a caller who holds the lock.
  @inline(__always)
  private final func withCore<Result, Failure: Error>(
    _ body: (inout NotificationQueue) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    defer { isObserved = core.isObserved }
    return try body(&core)
  }
}

/// A store's model, its observers and its lock, without the store.
@usableFromInline
final class ModelStorage<Model: Sendable, Action: ActionType>: StoreStorage, @unchecked Sendable {
  // because every access to what changes holds `lock`
  @usableFromInline
  let model: UnsafeMutablePointer<Model>

  @usableFromInline
  init(identifier: String, model: Model) {
    self.model = .allocate(capacity: 1)
    self.model.initialize(to: model)
    super.init(identifier: identifier)
  }

  deinit {
    model.deinitialize(count: 1)
    model.deallocate()
  }
}
