import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What one thread knows of the registries of dispatchers, so that dispatching shares no memory.
///
/// Its thread looks things up and notes what it found. Any thread may make it forget a dispatcher: a
/// store that is unregistered is not kept by threads that once dispatched to it.
final class RespondersCache: @unchecked Sendable {
  // because `isHeld` guards the slots
  struct Key {
    let dispatcher: UInt64
    let actionType: ObjectIdentifier
    let storeIdentifier: String?

    fileprivate var place: Int {
      var bits = dispatcher &+ UInt64(UInt(bitPattern: actionType) >> 4)
      if let storeIdentifier {
        // The string's own words: where its text is elsewhere, that is found all the same.
        let words = unsafeBitCast(storeIdentifier, to: (UInt64, UInt64).self)
        bits = (bits ^ words.0 ^ (words.1 &* 31)) &* 0x9E37_79B9_7F4A_7C15
        bits ^= bits >> 32
      }
      return Int(truncatingIfNeeded: bits) & (RespondersCache.count - 1)
    }
  }

  private struct Slot {
    var key: Key
    var version: UInt64
    let responders: Responders
    /// The dispatches that it was given out to.
    var givenOut: Int

    func retire() { responders.retire(after: givenOut) }
  }

  fileprivate static let count = 32
  private let slots: UnsafeMutablePointer<Slot?>
  /// Held for some instructions, and never while other code runs.
  private let isHeld = Atomic(false)

  init() {
    slots = .allocate(capacity: Self.count)
    slots.initialize(repeating: nil, count: Self.count)
    Self.all.withLock { $0[ObjectIdentifier(self)] = Unmanaged.passUnretained(self) }
  }

  /// Its thread has gone.
  deinit {
    for place in 0..<Self.count { slots[place]?.retire() }
    slots.deinitialize(count: Self.count)
    slots.deallocate()
  }

  func threadEnds() {
    Self.all.withLock { $0[ObjectIdentifier(self)] = nil }
  }

  private func hold() {
    while !isHeld.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged {
      sched_yield()
    }
  }

  private func letGo() {
    isHeld.store(false, ordering: .releasing)
  }

  /// The responders as of a version of the registry, given out to one dispatch; nil where not known.
  func take(_ key: Key, version: UInt64) -> Unmanaged<Responders>? {
    let slot = slots + key.place
    hold()
    defer { letGo() }
    guard let known = slot.pointee, known.version == version,
      known.key.actionType == key.actionType, known.key.dispatcher == key.dispatcher,
      known.key.storeIdentifier == key.storeIdentifier
    else { return nil }
    slot.pointee!.givenOut += 1
    return Unmanaged.passUnretained(known.responders)
  }

  /// Notes responders, and gives them out to one dispatch.
  func put(_ responders: Responders, for key: Key, version: UInt64) -> Unmanaged<Responders> {
    let slot = slots + key.place
    hold()
    let evicted = slot.pointee
    slot.pointee = Slot(key: key, version: version, responders: responders, givenOut: 1)
    letGo()
    evicted?.retire()
    return Unmanaged.passUnretained(responders)
  }

  private func takeSlots(of dispatcher: UInt64) -> [Slot] {
    var taken: [Slot] = []
    hold()
    for place in 0..<Self.count where slots[place]?.key.dispatcher == dispatcher {
      taken.append(slots[place].take()!)
    }
    letGo()
    return taken
  }

  // MARK: All threads

  private static let all = Locked<[ObjectIdentifier: Unmanaged<RespondersCache>]>([:])

  /// Makes all threads forget a dispatcher's stores and middlewares.
  static func forget(_ dispatcher: UInt64) {
    // What goes with them may run code of the user's: outside the locks.
    let slots = all.withLock { caches in
      caches.values.flatMap { $0.takeUnretainedValue().takeSlots(of: dispatcher) }
    }
    for slot in slots { slot.retire() }
  }
}
