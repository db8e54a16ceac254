/// Objects that one thread keeps to be used again: the last one of each of a few types.
struct Spares {
  private static let count = 8
  private var types: [ObjectIdentifier?] = Array(repeating: nil, count: count)
  private var objects: [AnyObject?] = Array(repeating: nil, count: count)

  private static func place(of type: ObjectIdentifier) -> Int {
    Int(truncatingIfNeeded: UInt(bitPattern: type) >> 5) & (count - 1)
  }

  /// The spare object of a type, to which nobody else refers.
  mutating func take(_ type: ObjectIdentifier) -> AnyObject? {
    let place = Self.place(of: type)
    return types[place] == type ? objects[place].take() : nil
  }

  /// Keeps an object, in the place of one that was kept before.
  mutating func put(_ object: AnyObject, of type: ObjectIdentifier) {
    let place = Self.place(of: type)
    types[place] = type
    objects[place] = object
  }
}
