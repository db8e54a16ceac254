import Synchronization

/// The last known index of an element, from which a search starts.
@usableFromInline
final class IndexHint: Sendable {
  private let known = Atomic(0)

  @usableFromInline
  init() {}

  @usableFromInline
  var index: Int {
    get { known.load(ordering: .relaxed) }
    set { known.store(newValue, ordering: .relaxed) }
  }
}

// Inlinable, so that the search is compiled for the elements' type.
extension MutableCollection
where Self: RandomAccessCollection, Element: Identifiable, Index == Int {
  /// The index of the element with this identity, found in time linear in how far it has moved.
  ///
  /// Searches on both sides of the last index, because insertions and removals move an element by a little.
  @inlinable
  func index(of id: Element.ID, near hint: IndexHint) -> Int? {
    let start = hint.index
    if start >= startIndex, start < endIndex, self[start].id == id { return start }
    var below = Swift.min(start, endIndex) - 1
    var above = Swift.max(start + 1, startIndex)
    while below >= startIndex || above < endIndex {
      if below >= startIndex, below < endIndex, self[below].id == id {
        hint.index = below
        return below
      }
      if above < endIndex, self[above].id == id {
        hint.index = above
        return above
      }
      below -= 1
      above += 1
    }
    return nil
  }

  /// Changes the element with this identity in place; returns false if there is none.
  @inlinable
  mutating func modifyElement(
    _ id: Element.ID, near hint: IndexHint, _ body: (UnsafeMutablePointer<Element>) -> Void
  ) -> Bool {
    guard let index = index(of: id, near: hint) else { return false }
    withUnsafeMutablePointer(to: &self[index]) { body($0) }
    return true
  }
}

extension Dictionary {
  /// Changes the value for a key in place; returns false if there is none.
  @inlinable
  mutating func modifyValue(
    for key: Key, _ body: (UnsafeMutablePointer<Value>) -> Void
  ) -> Bool {
    guard let index = index(forKey: key) else { return false }
    withUnsafeMutablePointer(to: &values[index]) { body($0) }
    return true
  }
}
