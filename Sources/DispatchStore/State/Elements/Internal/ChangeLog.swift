import Synchronization

/// A mark for one content of a tracked collection.
@usableFromInline
struct TrackingCheckpoint: Sendable, Equatable {
  /// The unique identifier of the log.
  @usableFromInline let log: UInt64
  /// The number of changes to the content of this log, and of the logs that it was copied from.
  @usableFromInline var number: UInt64

  /// Whether both stand for the same content.
  @inlinable
  static func == (one: Self, other: Self) -> Bool {
    one.log == other.log && one.number == other.number
  }
}

/// A change log without its element types.
///
/// All values that refer to a log have the same content, because a changing value copies a shared log first. So a
/// position stands for one content: that of the only value that has appended to this log.
@usableFromInline
class ChangeLogState: @unchecked Sendable {
  // because only the one value that refers to it changes it, except for `mark`, the readers and the hold's number
  /// The position of the current content.
  @exclusivity(unchecked) @usableFromInline final var position: TrackingCheckpoint
  /// The position of the content before the first entry.
  @exclusivity(unchecked) @usableFromInline final var base: TrackingCheckpoint
  /// The position at which a reader has begun while others had entries to read; else `base`.
  @exclusivity(unchecked) @usableFromInline final var middle: TrackingCheckpoint
  /// The index of the first entry after `middle`.
  @exclusivity(unchecked) @usableFromInline final var middleIndex = 0
  /// The number since which there is exactly one entry per change.
  @exclusivity(unchecked) @usableFromInline final var exactFrom: UInt64
  /// Zero if no reader is known; else twice one more than the number of the content that was last read.
  ///
  /// One more if a reader has only begun there, and others have yet to read the entries.
  /// Readers set it while other values share the log. The mark affects only how much is kept, never correctness.
  private final let mark: Atomic<UInt64>
  /// The readers of this log and its copies.
  final let readers: ChangeLogReaders

  /// The hold of an undo on this log, if `heldIn` is the hold's number, and the index of its first entry.
  @exclusivity(unchecked) private final var hold: ChangeLogHold?
  @exclusivity(unchecked) private final var heldIn: UInt64 = 0
  @exclusivity(unchecked) @usableFromInline final var heldFrom = 0

  private static let last = Atomic<UInt64>(0)

  private static func nextLog() -> UInt64 { last.add(1, ordering: .relaxed).newValue }

  init() {
    position = TrackingCheckpoint(log: Self.nextLog(), number: 0)
    (base, middle) = (position, position)
    exactFrom = 0
    mark = Atomic(0)
    readers = ChangeLogReaders()
  }

  /// Copies the state for a value with the same content, at a new position.
  ///
  /// - Parameters:
  ///   - mark: The other log's mark, read once, because a reader may set it meanwhile.
  ///   - count: The number of the other log's entries.
  init(copying other: ChangeLogState, _ mark: UInt64, _ count: Int) {
    let isRead = mark == other.readMark
    position = TrackingCheckpoint(log: Self.nextLog(), number: other.position.number + 1)
    // Without a known reader, the other content may have changed unrecorded.
    base = mark == 0 ? position : isRead ? other.position : other.base
    (middle, middleIndex) =
      mark == 0 || isRead
      ? (base, 0)
      : mark == other.begunMark ? (other.position, count) : (other.middle, other.middleIndex)
    exactFrom = position.number
    (hold, heldIn) = (other.hold, other.heldIn)
    heldFrom = isRead ? 0 : other.heldFrom
    self.mark = Atomic(mark)
    readers = other.readers
  }

  /// Whether an undo needs each entry since its beginning.
  final var isHeld: Bool { hold.map { $0.number == heldIn } ?? false }

  /// Whether the content derives from that at the beginning of the hold, so that the log has each change since then.
  @usableFromInline
  final func isHeld(by hold: ChangeLogHold) -> Bool { self.hold === hold && hold.number == heldIn }

  /// Keeps each entry from now on until the hold ends.
  ///
  /// - Parameter count: The number of present entries.
  @usableFromInline
  final func keep(for hold: ChangeLogHold, from count: Int) {
    if self.hold !== hold { self.hold = hold }
    (heldIn, heldFrom) = (hold.number, count)
  }

  final var presentMark: UInt64 { mark.load(ordering: .relaxed) }

  @usableFromInline
  final var isRecording: Bool { isFollowed || isHeld }

  /// Whether a reader is known.
  @usableFromInline
  final var isFollowed: Bool { mark.load(ordering: .relaxed) != 0 }

  /// The mark of the current content, once it was read.
  fileprivate final var readMark: UInt64 { 2 * (position.number + 1) }

  /// The mark of the current content, if a reader has only begun there.
  fileprivate final var begunMark: UInt64 { readMark + 1 }

  /// Whether all entries have been read, as far as this log knows.
  final var isRead: Bool { presentMark == readMark }

  /// Whether a reader has read the current content, or has begun there.
  @usableFromInline
  final var isMarked: Bool { presentMark | 1 == begunMark }

  /// Whether others have yet to read the entries before the mark.
  @usableFromInline
  final var isUnread: Bool { presentMark & 1 == 1 }

  /// Records that all entries have been read, but for an undo that may need them.
  @usableFromInline
  final func markRead() {
    mark.store(isHeld ? begunMark : readMark, ordering: .relaxed)
  }

  /// Records that a reader begins with the current content, and that others have yet to read the entries.
  final func markBegun() {
    mark.store(begunMark, ordering: .relaxed)
  }

  /// Whether it records for readers that have all ended.
  @usableFromInline
  final var isAbandoned: Bool { isFollowed && readers.isEmpty && !isHeld }

  /// Takes a position that no checkpoint knows, and notes that no reader is known.
  final func forgetPosition() {
    position = TrackingCheckpoint(log: Self.nextLog(), number: 0)
    beginEntries()
    mark.store(0, ordering: .relaxed)
  }

  /// Moves the base to the current content, before the entries already read are dropped.
  @usableFromInline
  final func beginEntries() {
    (base, exactFrom) = (position, position.number)
    (middle, middleIndex) = (base, 0)
  }
}

/// The changes to a tracked collection since its readers last read it.
@usableFromInline
final class ChangeLog<Key: Hashable, Value>: ChangeLogState, @unchecked Sendable {
  // because its superclass is, and `TrackedDictionary`, which makes it, has only `Sendable` elements
  /// An element that was inserted, removed or changed.
  @usableFromInline
  struct Entry {
    @usableFromInline let key: Key
    /// The element before; nil if there was none.
    @usableFromInline let old: Value?

    @inlinable
    init(key: Key, old: Value?) {
      (self.key, self.old) = (key, old)
    }
  }

  @exclusivity(unchecked) @usableFromInline var entries: [Entry]
  /// The number of entries at which the log is compacted.
  @exclusivity(unchecked) @usableFromInline var limit = ChangeLog.minimumLimit

  @inlinable static var minimumLimit: Int { 1_024 }

  @usableFromInline
  override init() {
    entries = []
    super.init()
  }

  private init(copying other: ChangeLog, _ mark: UInt64) {
    let isNeeded = mark == 0 ? other.isHeld : mark != other.readMark
    entries = isNeeded ? other.entries : []
    limit = other.limit
    super.init(copying: other, mark, other.entries.count)
  }

  /// Returns the log for a value that has the same content, and is about to change.
  @usableFromInline
  func copy() -> ChangeLog { ChangeLog(copying: self, presentMark) }

  /// Drops entries that are no longer needed, before a change is recorded.
  @inlinable
  func makeRoom(in elements: [Key: Value]) {
    if isMarked { dropRead() }
    if entries.count >= limit { compact(in: elements) }
  }

  /// Records a change; called only by the one value that refers to this log.
  @inlinable
  func note(_ key: Key, _ old: Value?) {
    entries.append(Entry(key: key, old: old))
    position.number += 1
  }

  /// Drops all entries, and stops recording until a reader begins.
  ///
  /// Changes since earlier checkpoints are then unknown.
  @usableFromInline
  func endRecording() {
    entries = []
    limit = Self.minimumLimit
    forgetPosition()
  }

  /// Drops the entries, or, if others have yet to read them, notes the place at which a reader has begun.
  @inlinable
  func dropRead() {
    if isUnread {
      (middle, middleIndex) = (position, entries.count)
      return
    }
    entries.removeAll(keepingCapacity: entries.count < Self.minimumLimit)
    limit = Self.minimumLimit
    beginEntries()
  }

  /// Keeps only the first entry of each key, and none of an element that was inserted and removed again.
  ///
  /// Before `middle` and after it apart, so the entries don't outnumber the elements at `base`, there and now together.
  @usableFromInline
  func compact(in elements: [Key: Value]) {
    if isHeld { return }
    func compacted(_ part: ArraySlice<Entry>, keeping needed: Set<Key> = []) -> [Entry] {
      var keys = Set<Key>(minimumCapacity: part.count)
      return part.filter { entry in
        if !keys.insert(entry.key).inserted { return false }
        return entry.old != nil || elements[entry.key] != nil || needed.contains(entry.key)
      }
    }
    let later = compacted(entries[middleIndex...])
    if middleIndex > 0 {
      let earlier = compacted(entries[..<middleIndex], keeping: Set(later.map(\.key)))
      (entries, middleIndex) = (earlier + later, earlier.count)
    } else {
      entries = later
    }
    limit = 2 * max(entries.count, Self.minimumLimit / 2)
    exactFrom = position.number
  }

  /// The entries since a checkpoint; nil if unknown.
  @inlinable
  func entries(since checkpoint: TrackingCheckpoint) -> [Entry]? {
    if checkpoint == position { return [] }
    if checkpoint == base { return entries }
    if checkpoint == middle { return Array(entries[middleIndex...]) }
    guard checkpoint.log == position.log, checkpoint.number >= exactFrom else { return nil }
    return Array(entries.suffix(Int(position.number - checkpoint.number)))
  }

  // MARK: Undo

  @inlinable
  func keep(for hold: ChangeLogHold) {
    if isMarked { dropRead() }
    keep(for: hold, from: entries.count)
  }

  /// The changes since the hold began, in order.
  @inlinable
  var heldEntries: ArraySlice<Entry> { entries.dropFirst(heldFrom) }

  /// Drops the entries of changes that were undone.
  @inlinable
  func dropHeld() {
    if middleIndex > heldFrom { (middle, middleIndex) = (base, 0) }
    entries.removeSubrange(heldFrom...)
    // A position of its own, for the content of an earlier one.
    position.number += 1
    exactFrom = position.number
  }

  /// Drops the entries that nobody needs once the hold has ended.
  @inlinable
  func endHold() {
    if isFollowed || entries.isEmpty { return }
    entries.removeAll(keepingCapacity: entries.count < Self.minimumLimit)
  }
}

/// An undo's hold on change logs: the log of one collection, and those of its copies.
///
/// A number, since copies of the log may outlive the hold on any thread.
@usableFromInline
final class ChangeLogHold: Sendable {
  private let current = Atomic<UInt64>(0)

  /// The number of the present hold; after its end, a number that no log has.
  var number: UInt64 { current.load(ordering: .relaxed) }

  @usableFromInline
  init() {}

  /// Begins or ends a hold.
  @usableFromInline
  func advance() {
    current.add(1, ordering: .relaxed)
  }
}
