/// Shortens a failing list, by removing elements as long as it still fails.
///
/// See Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002.
enum Shortening {
  /// Returns a failing part of `elements` from which no single element can be removed.
  ///
  /// - Parameter fails: Returns whether a part fails; nil to stop with the shortest one so far.
  static func shorten<Element>(
    _ elements: [Element], while fails: ([Element]) -> Bool?
  ) -> [Element] {
    var shortest = elements
    var size = (shortest.count + 1) / 2
    while size > 0, !shortest.isEmpty {
      var hasShrunk = false
      var start = 0
      while start < shortest.count {
        var shorter = shortest
        shorter.removeSubrange(start..<min(start + size, shorter.count))
        guard let isFailing = fails(shorter) else { return shortest }
        if isFailing {
          shortest = shorter
          hasShrunk = true
        } else {
          start += size
        }
      }
      if size == 1, !hasShrunk { break }
      if size > 1 { size = (size + 1) / 2 }
    }
    return shortest
  }
}
