import Synchronization

/// One content of a tracked collection.
public struct TrackingCheckpoint: Sendable, Equatable {
  /// Of the log; no two logs have the same.
  @usableFromInline let log: UInt64
  /// How often the content of this log, and of those that it was copied from, has changed.
  @usableFromInline var number: UInt64

  init(log: UInt64, number: UInt64) {
    (self.log, self.number) = (log, number)
  }

  /// Whether both stand for the same content.
  @inlinable
  public static func == (one: Self, other: Self) -> Bool {
    one.log == other.log && one.number == other.number
  }
}

/// A change log without its element types.
///
/// All values that refer to a log have the same content, since one that changes takes a copy where it is not
/// the only one. So a position stands for one content: that of the one value which has appended to this log.
@usableFromInline
class ChangeLogState: @unchecked Sendable {
  // because only the one value that refers to it changes it, but for `mark`
  /// The present content.
  @exclusivity(unchecked) @usableFromInline final var position: TrackingCheckpoint
  /// The content before the first entry.
  @exclusivity(unchecked) @usableFromInline final var base: TrackingCheckpoint
  /// How many elements it had.
  @exclusivity(unchecked) @usableFromInline final var baseCount = 0
  /// Since this number there has been one entry for each change.
  @exclusivity(unchecked) @usableFromInline final var exactFrom: UInt64
  /// 0 where no reader is known; else one more than the number of the content that was read last.
  ///
  /// Readers set it while they share the log with others. It decides what is kept, not what is right.
  private final let mark: Atomic<UInt64>
  /// Whether a reader has gone since the last one has read: perhaps there is none any longer.
  private final let isAbandoned: Atomic<Bool>

  private static let last = Atomic<UInt64>(0)

  private static func nextLog() -> UInt64 { last.add(1, ordering: .relaxed).newValue }

  init() {
    position = TrackingCheckpoint(log: Self.nextLog(), number: 0)
    base = position
    exactFrom = 0
    mark = Atomic(0)
    isAbandoned = Atomic(false)
  }

  /// The state of a copy: its content is the same, and has another position.
  ///
  /// - Parameter mark: The other log's mark, read once, since a reader may set it meanwhile.
  init(copying other: ChangeLogState, _ mark: UInt64) {
    let number = other.position.number
    position = TrackingCheckpoint(log: Self.nextLog(), number: number + 1)
    // Where no reader is known, the other one's content may have changed without a note.
    base = mark == 0 ? position : mark == number + 1 ? other.position : other.base
    baseCount = other.baseCount
    exactFrom = position.number
    self.mark = Atomic(mark)
    isAbandoned = Atomic(other.mayBeUnread)
  }

  final var presentMark: UInt64 { mark.load(ordering: .relaxed) }

  @usableFromInline
  final var isRecording: Bool { mark.load(ordering: .relaxed) != 0 }

  /// Whether all entries have been read, as far as is known here.
  @usableFromInline
  final var isRead: Bool { mark.load(ordering: .relaxed) == position.number + 1 }

  /// All entries have been read.
  @usableFromInline
  final func markRead() {
    mark.store(position.number + 1, ordering: .relaxed)
    if mayBeUnread { isAbandoned.store(false, ordering: .relaxed) }
  }

  /// Whether perhaps no reader is left.
  @usableFromInline
  final var mayBeUnread: Bool { isAbandoned.load(ordering: .relaxed) }

  /// A reader has gone: if there is no other, no more is noted than a few changes.
  final func readerHasGone() {
    isAbandoned.store(true, ordering: .relaxed)
  }

  /// Changes are to be noted from now on.
  @usableFromInline
  final func beginRecording() {
    if !isRecording { markRead() }
  }

  /// No change is noted until another reader comes; what is read then of former checkpoints is unknown.
  final func endRecording() {
    position = TrackingCheckpoint(log: Self.nextLog(), number: 0)
    (base, exactFrom) = (position, 0)
    mark.store(0, ordering: .relaxed)
  }

  /// The entries that have been read are about to be dropped.
  @usableFromInline
  final func beginEntries() {
    (base, exactFrom) = (position, position.number)
  }
}

/// What was changed in a tracked collection since its readers read it last.
@usableFromInline
final class ChangeLog<Key: Hashable & Sendable, Value: Sendable>: ChangeLogState,
  @unchecked Sendable
{
  // because its superclass is
  @usableFromInline typealias Entry = KeyedChanges<Key, Value>.Touched

  @exclusivity(unchecked) @usableFromInline var entries: [Entry]
  /// How many entries there are before those of one key are made one.
  @exclusivity(unchecked) @usableFromInline var limit = ChangeLog.minimumLimit

  @inlinable static var minimumLimit: Int { 1_024 }

  @usableFromInline
  override init() {
    entries = []
    super.init()
  }

  private init(copying other: ChangeLog, _ mark: UInt64) {
    entries = mark == other.position.number + 1 ? [] : other.entries
    limit = other.limit
    super.init(copying: other, mark)
  }

  /// The log of a value that has the same content, and is about to change.
  @usableFromInline
  func copy() -> ChangeLog { ChangeLog(copying: self, presentMark) }

  /// Notes a change; only the one value that refers to this log does.
  ///
  /// - Parameter count: How many elements there were before.
  @inlinable
  func note(_ key: Key, _ old: Value?, count: Int) {
    if isRead {
      entries.removeAll(keepingCapacity: entries.count < Self.minimumLimit)
      limit = Self.minimumLimit
      beginEntries()
    }
    if entries.isEmpty { baseCount = count }
    entries.append(Entry(key: key, old: old))
    position.number += 1
    if entries.count >= limit || mayBeUnread && entries.count >= Self.minimumLimit {
      compact(count: count)
    }
  }

  /// Keeps the first entry of each key; none, where they are more than there were and are elements, or where
  /// perhaps nothing reads them.
  @usableFromInline
  func compact(count: Int) {
    var keys = Set<Key>(minimumCapacity: entries.count)
    entries.removeAll { !keys.insert($0.key).inserted }
    limit = 2 * max(entries.count, Self.minimumLimit / 2)
    exactFrom = position.number
    if mayBeUnread || entries.count > count + baseCount + Self.minimumLimit / 2 {
      entries = []
      limit = Self.minimumLimit
      endRecording()
    }
  }

  /// The entries since a checkpoint; nil where that is unknown.
  @inlinable
  func entries(since checkpoint: TrackingCheckpoint) -> [Entry]? {
    if checkpoint == position { return [] }
    if checkpoint == base { return entries }
    guard checkpoint.log == position.log, checkpoint.number >= exactFrom else { return nil }
    return Array(entries.suffix(Int(position.number - checkpoint.number)))
  }
}
