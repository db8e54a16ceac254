/// Reads a source for one subscription.
///
/// `reader` works in the exclusive section, without types; `receive` works where the change is delivered.
@usableFromInline
struct StateReader<Value: Sendable>: Sendable {
  @usableFromInline let reader: CommitReader
  /// Makes the content of a change, or nil if the value has not changed since the last call.
  ///
  /// Only one call at a time is made.
  @usableFromInline let receive: @Sendable (KeptNote) -> ChangeContent<Value>?

  @usableFromInline
  init(
    _ reader: CommitReader, receive: @escaping @Sendable (KeptNote) -> ChangeContent<Value>?
  ) {
    (self.reader, self.receive) = (reader, receive)
  }
}

/// Reads commits for one subscription, in the store's exclusive section.
@usableFromInline
struct CommitReader: Sendable {
  @usableFromInline
  typealias Begin = @Sendable (_ model: UnsafeRawPointer, _ version: UInt64) -> KeptValue?
  @usableFromInline
  typealias Read = @Sendable (CommitInProgress, _ last: KeptValue?) -> KeptValue?

  @usableFromInline
  typealias Merge = @Sendable (_ kept: KeptValue, _ next: KeptValue) -> KeptValue?

  /// Reads the state with which the subscription begins.
  let begin: Begin
  /// Reads a commit, or returns nil if the state has not changed.
  ///
  /// Receives the value that was kept last, if the reader compares with it.
  let read: Read
  /// Whether `read` compares with the value that was kept last.
  let keepsLast: Bool
  /// Whether `read` also gets the commits of which observers are not notified; it returns nil for these.
  let keepsHidden: Bool
  /// Stops reading.
  let end: (@Sendable () -> Void)?
  /// Merges a kept value and the next one; returns nil if they cancel out.
  let merge: Merge?
  /// Reads the last model of a store that goes.
  let readLast: (@Sendable (CommitInProgress) -> KeptValue)?
  /// Adds the follower elsewhere than to the store's list of observers.
  let attach: (@Sendable (StoreStorage, Follower) -> Void)?

  @usableFromInline
  init(
    begin: @escaping Begin = { _, _ in nil }, read: @escaping Read = { _, _ in nil },
    keepsLast: Bool = false, keepsHidden: Bool = false,
    end: (@Sendable () -> Void)? = nil, merge: Merge? = nil,
    readLast: (@Sendable (CommitInProgress) -> KeptValue)? = nil,
    attach: (@Sendable (StoreStorage, Follower) -> Void)? = nil
  ) {
    (self.begin, self.read, self.keepsLast) = (begin, read, keepsLast)
    self.keepsHidden = keepsHidden
    (self.end, self.merge, self.readLast, self.attach) = (end, merge, readLast, attach)
  }
}
