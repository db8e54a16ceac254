import Foundation
import Synchronization

/// The model of the last commit, for readers that take no lock.
///
/// A few slots, one of which is current. A reader counts itself into the current slot, looks whether that still is
/// current, and copies the model; the thread that commits writes to a slot that is not current and has no reader, and
/// then makes it current. So a reader never waits, and the committing thread only where readers were interrupted while
/// they copied, in all the other slots. Commits follow each other under the store's lock.
///
/// This code is not compiled for the program's types: it uses no type that is made of the model's, such as an optional
/// or a tuple of it, because looking that up costs a reader several times what it does besides.
@usableFromInline
final class PublishedModel<Model: Sendable>: @unchecked Sendable {
  // because a slot is written only while it has no reader, as above
  private let slots = PublishedSlots()
  /// In each slot whose version is not nil.
  private let models = UnsafeMutablePointer<Model>.allocate(capacity: PublishedSlots.count)

  init(_ model: Model) {
    models.initialize(to: model)
    slots.setVersion(0, of: 0)
  }

  deinit {
    for slot in 0..<PublishedSlots.count where slots.version(of: slot) != nil {
      (models + slot).deinitialize(count: 1)
    }
    models.deallocate()
  }

  /// The last commit's model; on any thread.
  @usableFromInline
  func read() -> Model {
    let slot = slots.enter()
    let model = models[slot]
    slots.leave(slot)
    return model
  }

  /// The last commit's number; on any thread.
  func readVersion() -> UInt64 {
    let slot = slots.enter()
    let version = slots.version(of: slot)
    slots.leave(slot)
    return version.unsafelyUnwrapped
  }

  /// Called under the store's lock.
  ///
  /// - Returns: The models that it replaces, and those that readers no longer come to.
  func publish(_ model: Model, _ version: UInt64) -> [any Sendable] {
    var former: [any Sendable] = []
    func empty(_ slot: Int) {
      guard slots.version(of: slot) != nil else { return }
      slots.setVersion(nil, of: slot)
      former.append((models + slot).move())
    }
    let next = slots.unused()
    empty(next)
    (models + next).initialize(to: model)
    slots.setVersion(version, of: next)
    slots.makeCurrent(next)
    for slot in 0..<PublishedSlots.count where slot != next && slots.isUnused(slot) { empty(slot) }
    return former
  }
}

/// Which slot is current, and how many readers each one has.
private final class PublishedSlots: @unchecked Sendable {
  // because a slot's version is written only while it has no reader
  private let slots = UnsafeMutablePointer<Slot>.allocate(capacity: count)
  private let current = Atomic(0)
  static var count: Int { 4 }

  /// Of a cache line and more, so that readers of one slot do not disturb the others.
  private struct Slot: ~Copyable {
    let readers = Atomic(0)
    /// Nil where the slot has no model.
    var version: UInt64?
    let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)
  }

  init() {
    for slot in 0..<Self.count { (slots + slot).initialize(to: Slot()) }
  }

  deinit {
    slots.deinitialize(count: Self.count)
    slots.deallocate()
  }

  /// Counts a reader into the current slot, in which nothing is written until it has left that.
  func enter() -> Int {
    while true {
      let slot = current.load(ordering: .sequentiallyConsistent)
      slots[slot].readers.add(1, ordering: .sequentiallyConsistent)
      // In this order: a thread that writes to the slot has made another one current, and then found no reader.
      if current.load(ordering: .sequentiallyConsistent) == slot { return slot }
      leave(slot)
    }
  }

  func leave(_ slot: Int) {
    slots[slot].readers.subtract(1, ordering: .releasing)
  }

  func version(of slot: Int) -> UInt64? { slots[slot].version }

  func setVersion(_ version: UInt64?, of slot: Int) {
    slots[slot].version = version
  }

  func makeCurrent(_ slot: Int) {
    current.store(slot, ordering: .sequentiallyConsistent)
  }

  /// A slot that is not current and has no reader.
  func unused() -> Int {
    let former = current.load(ordering: .relaxed)
    while true {
      for step in 1..<Self.count {
        let slot = (former + step) % Self.count
        if isUnused(slot) { return slot }
      }
      sched_yield()
    }
  }

  func isUnused(_ slot: Int) -> Bool {
    slots[slot].readers.load(ordering: .sequentiallyConsistent) == 0
  }
}
