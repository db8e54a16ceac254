/// A set of operations' places: a bit each.
struct OperationSet: Hashable {
  private var words: [UInt64]

  init(capacity: Int) {
    words = Array(repeating: 0, count: (capacity + 63) / 64)
  }

  mutating func insert(_ place: Int) {
    words[place >> 6] |= 1 << UInt64(place & 63)
  }

  mutating func remove(_ place: Int) {
    words[place >> 6] &= ~(1 << UInt64(place & 63))
  }
}
