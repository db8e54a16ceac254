import Foundation
import Synchronization

/// The model of the last commit, for readers that take no lock.
///
/// There are a few slots, one of them current. A reader enters the current slot, checks that it is still current, and
/// copies the model. The committing thread writes to a slot that is not current and has no reader, then makes it
/// current. So a reader never waits. The committing thread waits only if readers were interrupted while copying in
/// all other slots. The store's lock orders commits.
///
/// This code is not specialised for the program's types. It therefore uses no type built from the model's, such as an
/// optional or a tuple. The metadata lookup would cost a reader several times the rest.
@usableFromInline
final class PublishedModel<Model: Sendable>: @unchecked Sendable {
  // because a slot is written only while it has no reader, as above
  private let slots = PublishedSlots()
  /// The models.
  ///
  /// A slot is initialized if its version is not nil.
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

  /// Returns the last commit's model.
  ///
  /// Callable on any thread.
  @usableFromInline
  func read() -> Model {
    let slot = slots.enter()
    let model = models[slot]
    slots.leave(slot)
    return model
  }

  /// Returns the last commit's number.
  ///
  /// Callable on any thread.
  func readVersion() -> UInt64 {
    let slot = slots.enter()
    let version = slots.version(of: slot)
    slots.leave(slot)
    return version.unsafelyUnwrapped
  }

  /// Publishes the model of a commit.
  ///
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

/// The current slot, and the number of readers of each slot.
private final class PublishedSlots: @unchecked Sendable {
  // because a slot's version is written only while it has no reader
  private let slots = UnsafeMutablePointer<Slot>.allocate(capacity: count)
  private let current = Atomic(0)
  static var count: Int { 4 }

  /// A slot of a cache line or more, so that readers of one slot do not disturb the others.
  private struct Slot: ~Copyable {
    let readers = Atomic(0)
    /// The version of the slot's model, or nil if it has none.
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

  /// Enters the current slot as a reader.
  ///
  /// Nothing writes to the slot until the reader has left it.
  func enter() -> Int {
    while true {
      let slot = current.load(ordering: .sequentiallyConsistent)
      slots[slot].readers.add(1, ordering: .sequentiallyConsistent)
      // The order matters: a writer to the slot first made another one current, and then found no reader.
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

  /// Returns a slot that is not current and has no reader.
  func unused() -> Int {
    let former = current.load(ordering: .relaxed)
    var tries = 0
    while true {
      for step in 1..<Self.count {
        let slot = (former + step) % Self.count
        if isUnused(slot) { return slot }
      }
      tries += 1
      // Asleep, it also leaves its processor to readers of a lower priority.
      if tries < Self.mostTries { sched_yield() } else { usleep(Self.pause) }
    }
  }

  /// So often it tries before it sleeps for so many microseconds between two tries.
  private static let mostTries = 16
  private static let pause: UInt32 = 20

  func isUnused(_ slot: Int) -> Bool {
    slots[slot].readers.load(ordering: .sequentiallyConsistent) == 0
  }
}
