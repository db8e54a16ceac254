extension Dictionary {
  /// Removes a value, and gives memory back once most places are empty, in amortised constant time.
  ///
  /// A dictionary whose values are only removed keeps the memory of the most that it had.
  @discardableResult
  mutating func removeAndShrink(_ key: Key) -> Value? {
    let removed = removeValue(forKey: key)
    if capacity > 64, count < capacity / 8 {
      var smaller = Dictionary(minimumCapacity: 2 * count)
      smaller.merge(self) { present, _ in present }
      self = smaller
    }
    return removed
  }
}
