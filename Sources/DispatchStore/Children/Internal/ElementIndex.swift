import Synchronization

/// Where an element was found last: where the search begins.
final class IndexHint: Sendable {
  fileprivate let index = Atomic(0)
}

extension MutableCollection
where Self: RandomAccessCollection, Element: Identifiable, Index == Int {
  /// The index of the element with this identity; takes time linear in how far it has moved.
  func index(of id: Element.ID, near hint: IndexHint?) -> Int? {
    guard let hint else { return firstIndex { $0.id == id } }
    guard let found = index(of: id, from: hint.index.load(ordering: .relaxed)) else { return nil }
    hint.index.store(found, ordering: .relaxed)
    return found
  }

  /// Searches on both sides of an index, since what others add and remove moves an element by a little.
  private func index(of id: Element.ID, from start: Int) -> Int? {
    var below = Swift.min(start, endIndex - 1)
    var above = Swift.max(below + 1, startIndex)
    while below >= startIndex || above < endIndex {
      if below >= startIndex, self[below].id == id { return below }
      if above < endIndex, self[above].id == id { return above }
      below -= 1
      above += 1
    }
    return nil
  }

  /// Changes the element with this identity, in place; false where there is none.
  mutating func modifyElement(
    _ id: Element.ID, near hint: IndexHint?, _ body: (inout Element) -> Void
  ) -> Bool {
    guard let index = index(of: id, near: hint) else { return false }
    body(&self[index])
    return true
  }
}
