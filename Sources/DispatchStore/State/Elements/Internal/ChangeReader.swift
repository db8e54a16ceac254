import Synchronization

/// A reader of the changes to a tracked collection, in the exclusive section of the store that has the collection.
///
/// If another collection is assigned, the reader goes over to that one.
@usableFromInline
struct ChangeReader: Sendable {
  /// The mark of the content that was read last; nil if it recorded no changes.
  @usableFromInline var checkpoint: TrackingCheckpoint?
  /// The place among the readers of that content.
  private var place: ChangeLogReaders.Place?

  @usableFromInline
  init() {}

  /// Begins with the current content, and leaves other readers what they have yet to read.
  ///
  /// That is what an action has touched that was undone, or that has declared to change nothing.
  @usableFromInline
  mutating func begin<Key, Value>(_ log: ChangeLog<Key, Value>) {
    if place?.readers !== log.readers { place = ChangeLogReaders.Place(log.readers) }
    checkpoint = log.position
    if !log.isFollowed || log.isRead || log.readers.isAlone { return log.markRead() }
    if log.entries.count == log.middleIndex {
      // The content is the same again, once an action was undone.
      checkpoint = log.middle
    } else {
      log.markBegun()
    }
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

  /// Ends reading.
  ///
  /// Unless there is another reader, the next change drops what is recorded, and records nothing.
  @usableFromInline
  mutating func end() {
    (checkpoint, place) = (nil, nil)
  }
}

/// The number of the readers of a log, and of all that were copied from it.
///
/// Shared by these logs, so a reader that ends is counted out of the content that the store has by then, too.
final class ChangeLogReaders: Sendable {
  private let count = Atomic(0)

  var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

  /// Whether there is only one.
  var isAlone: Bool { count.load(ordering: .relaxed) == 1 }

  /// A reader's place, until its release.
  ///
  /// An object, since a reader may go with its store, while a copy of the content lives on.
  final class Place: Sendable {
    let readers: ChangeLogReaders

    init(_ readers: ChangeLogReaders) {
      self.readers = readers
      readers.count.add(1, ordering: .relaxed)
    }

    deinit {
      readers.count.subtract(1, ordering: .relaxed)
    }
  }
}
