/// Objects that one thread keeps for reuse: the last one of each type, for a few types.
struct Spares {
  private struct Slot {
    var type: ObjectIdentifier?
    var object: AnyObject?
  }

  private static let count = 8
  private let slots: UnsafeMutablePointer<Slot>

  init() {
    slots = .allocate(capacity: Self.count)
    slots.initialize(repeating: Slot(), count: Self.count)
  }

  func destroy() {
    slots.deinitialize(count: Self.count)
    slots.deallocate()
  }

  private func slot(of type: ObjectIdentifier) -> UnsafeMutablePointer<Slot> {
    slots + Int(truncatingIfNeeded: UInt(bitPattern: type) >> 5) & (Self.count - 1)
  }

  /// The spare object of a type; the caller gets the only reference.
  func take(_ type: ObjectIdentifier) -> AnyObject? {
    let slot = slot(of: type)
    return slot.pointee.type == type ? slot.pointee.object.take() : nil
  }

  /// Keeps an object, and releases the one that was in its slot.
  func put(_ object: consuming AnyObject, of type: ObjectIdentifier) {
    let slot = slot(of: type)
    slot.pointee.type = type
    slot.pointee.object = object
  }
}
