extension TrackedDictionary {
  /// Records each change from now on, until the hold ends.
  @inlinable
  mutating func hold(by hold: ChangeLogHold) {
    // Written by the only value that refers to it: copies with the log may be on other threads.
    if !isKnownUniquelyReferenced(&log) { log = log.copy() }
    log.keep(for: hold)
  }

  /// Undoes the changes since the hold began, in place.
  ///
  /// Observers of elements and deltas find no change afterwards. Returns the elements that it has replaced.
  @inlinable
  mutating func undoHeld() -> [Value] {
    if log.heldEntries.isEmpty { return [] }
    if !isKnownUniquelyReferenced(&log) { log = log.copy() }
    var undone: [Value] = []
    for entry in log.heldEntries.dropFirst(forgottenCount).reversed() {
      if let value = elements[entry.key] { undone.append(value) }
      elements[entry.key] = entry.old
    }
    log.dropHeld()
    return undone
  }

  /// The number of changes that an undo forgets; not zero only if a bug is planted.
  @usableFromInline
  var forgottenCount: Int { isPlanted(.undoForgetsElement) ? 1 : 0 }

  /// Drops what was recorded for the hold only, once that has ended.
  @inlinable
  mutating func endHold() {
    if isKnownUniquelyReferenced(&log) {
      log.endHold()
    } else if !log.isFollowed, !log.entries.isEmpty {
      log = log.copy()
    }
  }
}
