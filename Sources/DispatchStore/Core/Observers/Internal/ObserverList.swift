/// Observers in order of registration.
///
/// Adding and removing take amortised constant time.
///
/// Each observer knows its slot, so removal needs no search. A removed one leaves a tombstone. Once more than half of
/// the slots are tombstones, they are compacted.
struct ObserverList {
  /// An observer, and the first commit of which it is notified.
  struct Registration {
    let observer: ObserverRecord
    let firstVersion: UInt64

    @inline(__always)
    fileprivate var unretained: (Unmanaged<ObserverRecord>, UInt64) {
      (.passUnretained(observer), firstVersion)
    }
  }

  /// The slots in order of registration.
  ///
  /// Nil is a tombstone.
  private(set) var slots: [Registration?] = []
  private var holeCount = 0
  /// The number of observers that need the model.
  private(set) var modelCount = 0
  /// The number of observers that need the owner of a commit of which they keep a part.
  private(set) var ownerCount = 0

  var count: Int { slots.count - holeCount }
  var isEmpty: Bool { count == 0 }

  /// Calls a closure with each observer in a copy of the slots.
  ///
  /// The copy keeps the observers alive.
  ///
  /// Skips reference counting for each observer, which would cost more than half of the call.
  @inline(__always)
  static func forEach(
    in slots: [Registration?], _ body: (_ observer: ObserverRecord, _ firstVersion: UInt64) -> Void
  ) {
    slots.withUnsafeBufferPointer { slots in
      for index in slots.indices {
        guard let (observer, firstVersion) = slots[index]?.unretained else { continue }
        observer._withUnsafeGuaranteedRef { body($0, firstVersion) }
      }
    }
  }

  mutating func append(_ observer: ObserverRecord, from firstVersion: UInt64) {
    if observer.needsModel { modelCount += 1 }
    if observer.needsOwner { ownerCount += 1 }
    observer.slot = slots.count
    slots.append(Registration(observer: observer, firstVersion: firstVersion))
  }

  /// Removes an observer to which the caller has another reference.
  ///
  /// Does nothing if it was removed before.
  mutating func remove(_ observer: ObserverRecord) {
    guard let slot = observer.slot else { return }
    observer.slot = nil
    if observer.needsModel { modelCount -= 1 }
    if observer.needsOwner { ownerCount -= 1 }
    slots[slot] = nil
    holeCount += 1
    if holeCount * 2 > slots.count { replaceAll(by: slots.filter { $0 != nil }) }
  }

  private mutating func replaceAll(by kept: [Registration?]) {
    for (slot, registration) in kept.enumerated() { registration?.observer.slot = slot }
    slots = kept
    holeCount = 0
  }
}
