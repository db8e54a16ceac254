import Testing

@testable import DispatchStore

/// Where an element is searched, whatever was found before.
struct ElementIndexTests {
  private struct Item: Identifiable {
    let id: Int
    var isFound = false
  }

  @Test func isFoundWhereverItIsAndWhereverItWas() {
    let hint = IndexHint()
    var items: [Item] = []
    func expect(_ ids: [Int]) {
      items = ids.map { Item(id: $0) }
      for id in [3, 5, 3, 1, 9, 0] {
        #expect(items.index(of: id, near: hint) == ids.firstIndex(of: id))
      }
    }
    expect([])
    expect([3])
    expect([5, 3])
    expect([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect([9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    expect([1])
    expect([])
    expect([2, 4, 6, 3])
  }

  @Test func isFoundInASliceToo() {
    let hint = IndexHint()
    var slice = [1, 2, 3, 4, 5, 6].map { Item(id: $0) }[2...]
    #expect(slice.index(of: 1, near: hint) == nil)
    for id in 3...6 { #expect(slice.index(of: id, near: hint) == id - 1) }
    slice = slice.dropLast(3)
    #expect(slice.index(of: 3, near: hint) == 2)
    #expect(slice.modifyElement(3, near: hint) { $0.pointee.isFound = true })
    #expect(!slice.modifyElement(4, near: hint) { $0.pointee.isFound = true })
    #expect(slice.map(\.isFound) == [true])
  }
}
