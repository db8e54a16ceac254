import Synchronization

/// A reader of the changes to a tracked collection, in the exclusive section of the store that has the collection.
///
/// If another collection is assigned, the reader goes over to that one.
@usableFromInline
struct ChangeReader: Sendable {
  /// The mark of the content that was read last; nil if it recorded no changes.
  @usableFromInline var checkpoint: TrackingCheckpoint?
  /// The readers of that content, of which this is one.
  private var readers: ChangeLogReaders?

  @usableFromInline
  init() {}

  /// Begins with the current content.
  ///
  /// Marks it as read: otherwise changes that nobody has read would be before the checkpoint in the log, and a copy of
  /// the log would know only what is before them.
  @usableFromInline
  mutating func begin(_ log: ChangeLogState) {
    if readers !== log.readers {
      readers?.remove()
      log.readers.add()
      readers = log.readers
    }
    log.markRead()
    checkpoint = log.position
  }

  /// Returns the elements that were changed since the last call, perhaps back to their old value.
  ///
  /// If a key appears more than once, its first entry has the element as it was at the last call. Nil if the content
  /// does not derive from the one read then, or if one of them records no changes.
  @inlinable
  mutating func take<Key, Value>(
    _ recorded: RecordedChanges<Key, Value>?
  ) -> [ChangeLog<Key, Value>.Entry]? {
    guard let log = recorded?.log else {
      end()
      return nil
    }
    guard let checkpoint, let entries = log.entries(since: checkpoint) else {
      begin(log)
      return nil
    }
    log.markRead()
    self.checkpoint = log.position
    return entries
  }

  /// Ends reading; unless there is another reader, recording soon stops.
  @usableFromInline
  mutating func end() {
    readers?.remove()
    (checkpoint, readers) = (nil, nil)
  }
}

/// The number of the readers of a log, and of all that were copied from it.
///
/// Shared by these logs, so a reader that ends is counted out of the content that the store has by then, too.
final class ChangeLogReaders: Sendable {
  private let count = Atomic(0)

  var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

  func add() { count.add(1, ordering: .relaxed) }

  func remove() { count.subtract(1, ordering: .relaxed) }
}
