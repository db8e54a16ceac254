/// The numbers that a world assigns in order, so that they are equal in each run.
struct WorldNumbers {
  private var identifiers: UInt64 = 0
  private var last: UInt64 = 0

  /// Returns transaction identifiers for a thread.
  mutating func nextIdentifiers() -> Range<UInt64> {
    defer { identifiers += 100 }
    return identifiers..<identifiers + 100
  }

  mutating func next() -> UInt64 {
    last += 1
    return last
  }
}
