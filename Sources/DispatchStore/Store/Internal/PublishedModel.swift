import Foundation
import Synchronization

/// The model of the last commit, for readers that take no lock.
///
/// A few slots, one of which is current. A reader counts itself into the current slot, looks whether that still is
/// current, and copies the model; the thread that commits writes to a slot that is not current and has no reader, and
/// then makes it current. So a reader never waits, and the committing thread only where readers were interrupted while
/// they copied, in all the other slots. Commits follow each other under the store's lock.
@usableFromInline
final class PublishedModel<Model: Sendable>: @unchecked Sendable {
  // because a slot is written only while it has no reader, as above
  private let slots: UnsafeMutablePointer<Slot>
  private let current = Atomic(0)
  private static var count: Int { 4 }

  /// Of a cache line and more, so that readers of one slot do not disturb the others.
  private struct Slot: ~Copyable {
    let readers = Atomic(0)
    var model: Model?
    var version: UInt64 = 0
    let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)
  }

  init(_ model: Model) {
    slots = .allocate(capacity: Self.count)
    for index in 0..<Self.count { (slots + index).initialize(to: Slot()) }
    slots[0].model = model
  }

  deinit {
    slots.deinitialize(count: Self.count)
    slots.deallocate()
  }

  /// The last commit's model, with its version; on any thread.
  func read() -> (model: Model, version: UInt64) {
    while true {
      let index = current.load(ordering: .sequentiallyConsistent)
      slots[index].readers.add(1, ordering: .sequentiallyConsistent)
      defer { slots[index].readers.subtract(1, ordering: .releasing) }
      // In this order: a thread that writes to the slot has made another one current, and then found no reader.
      if current.load(ordering: .sequentiallyConsistent) == index {
        return (slots[index].model.unsafelyUnwrapped, slots[index].version)
      }
    }
  }

  /// Called under the store's lock.
  func publish(_ model: Model, _ version: UInt64) {
    let former = current.load(ordering: .relaxed)
    let next = unusedSlot(other: former)
    slots[next].model = model
    slots[next].version = version
    current.store(next, ordering: .sequentiallyConsistent)
    // What readers no longer come to is not kept until the slot is needed.
    for index in 0..<Self.count where index != next && isUnused(index) { slots[index].model = nil }
  }

  private func unusedSlot(other former: Int) -> Int {
    while true {
      for step in 1..<Self.count {
        let index = (former + step) % Self.count
        if isUnused(index) { return index }
      }
      sched_yield()
    }
  }

  private func isUnused(_ index: Int) -> Bool {
    slots[index].readers.load(ordering: .sequentiallyConsistent) == 0
  }
}
