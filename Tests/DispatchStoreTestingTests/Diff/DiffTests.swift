import DispatchStoreTesting
import Foundation
import Testing

private struct Address: Equatable {
  var street = "Lane"
  var city = "Basel"
  var number = 1
}

private enum Level: Equatable {
  case guest
  case member(since: Int, badge: String?)
  case owner(Address)
}

private struct Person: Equatable {
  var name = "Ann"
  var age = 41
  var level = Level.guest
  var address = Address()
  var nickname: String?
  var tags: Set<String> = []
  var scores: [String: Int] = [:]
}

/// Without `==`.
private struct Opaque {
  var first = 1
  var second = 2
  var inner: [StoreRun] = []

  struct StoreRun {
    var value = 0
  }
}

private final class Node {
  var value: Int
  var next: Node?

  init(_ value: Int) { self.value = value }
}

protocol DiffRoute: Sendable {}

enum ShopRoute: DiffRoute {
  case home
  struct Order: DiffRoute { var number = 1 }
}

enum HelpRoute: DiffRoute {
  case home
  struct Order: DiffRoute { var number = 1 }
}

/// Without `==`.
private struct Screen {
  var route: any DiffRoute
  var title = "Home"
}

@Suite("A difference")
struct DiffTests {
  @Test func ofEqualValuesIsNone() {
    #expect(Diff.text(expected: Person(), actual: Person()) == nil)
    #expect(Diff.text(expected: Opaque(), actual: Opaque()) == nil)
    #expect(Diff.text(expected: Node(1), actual: Node(1)) == nil)
  }

  @Test func ofLeavesHasTwoLines() {
    #expect(Diff.text(expected: 1, actual: 2) == "− 1\n+ 2")
    #expect(Diff.text(expected: "a", actual: "b") == "− \"a\"\n+ \"b\"")
    #expect(Diff.text(expected: Int?.none, actual: 2) == "− nil\n+ 2")
  }

  @Test func showsChangedFieldsAndCountsTheOthers() {
    let bob = Person(name: "Bob", address: Address(number: 2), nickname: "bo")
    #expect(
      Diff.text(expected: Person(), actual: bob) == """
          Person(
        −   name: "Ann"
        +   name: "Bob"
            … 2 unchanged
            address: Address(
              … 2 unchanged
        −     number: 1
        +     number: 2
            )
        −   nickname: nil
        +   nickname: "bo"
            … 2 unchanged
          )
        """)
  }

  @Test func lookInsidePayloadsOfOneCase() {
    let (old, new) = (Level.member(since: 1, badge: nil), Level.member(since: 2, badge: nil))
    #expect(
      Diff.text(expected: old, actual: new) == """
          .member(
        −   since: 1
        +   since: 2
            … 1 unchanged
          )
        """)
    #expect(
      Diff.text(expected: Level.guest, actual: .owner(Address())) == """
        − .guest
        + .owner(Address(street: "Lane", city: "Basel", number: 1))
        """)
  }

  @Test func ofSetsAndDictionariesIsInTheOrderOfDescriptions() {
    var (old, new) = (Person(), Person())
    old.tags = ["x", "b", "c"]
    new.tags = ["c", "d", "a"]
    old.scores = ["one": 1, "two": 2, "same": 0]
    new.scores = ["two": 3, "four": 4, "same": 0]
    #expect(
      Diff.text(expected: old, actual: new) == """
          Person(
            … 5 unchanged
            tags: Set(
        +     "a"
        −     "b"
        +     "d"
        −     "x"
              … 1 unchanged
            )
            scores: [
        +     "four": 4
        −     "one": 1
        −     "two": 2
        +     "two": 3
              … 1 unchanged
            ]
          )
        """)
  }

  @Test func findsElementsAgainAroundInsertionsAndRemovals() {
    #expect(
      Diff.text(expected: [1, 2, 3, 4, 5, 6], actual: [0, 1, 2, 4, 5, 7]) == """
          [
        +   [0]: 0
            … 2 unchanged
        −   [2]: 3
            … 2 unchanged
        −   [5]: 6
        +   [5]: 7
          ]
        """)
  }

  @Test func showsTheIDOfAnElementThatChanged() {
    struct Item: Identifiable, Equatable {
      var id: Int
      var title: String
      var isDone = false
    }
    let old = (1...5).map { Item(id: $0, title: "item \($0)") }
    var new = old
    new[2].isDone = true
    new.removeLast()
    #expect(
      Diff.text(expected: old, actual: new) == """
          [
            … 2 unchanged
            [2]: Item(
              id: 3
              … 1 unchanged
        −     isDone: false
        +     isDone: true
            )
            … 1 unchanged
        −   [4]: Item(id: 5, title: "item 5", isDone: false)
          ]
        """)
  }

  @Test func ofLongTextsGoesLineByLine() {
    #expect(
      Diff.text(expected: "one\ntwo\nthree\nfour", actual: "one\n2\nthree\nfour\nfive") == """
          \"""
            … 1 unchanged
        −   two
        +   2
            … 2 unchanged
        +   five
          \"""
        """)
  }

  @Test func comparesWhatHasNoEqualityByItsFields() {
    let new = Opaque(first: 1, second: 3, inner: [Opaque.StoreRun(), Opaque.StoreRun(value: 1)])
    #expect(
      Diff.text(expected: Opaque(inner: [Opaque.StoreRun()]), actual: new) == """
          Opaque(
            … 1 unchanged
        −   second: 2
        +   second: 3
            inner: [
              … 1 unchanged
        +     [1]: StoreRun(value: 1)
            ]
          )
        """)
  }

  @Test func endsWhereObjectsReferBackToThemselves() {
    let (old, new) = (Node(1), Node(2))
    old.next = old
    new.next = new
    #expect(
      Diff.text(expected: old, actual: new) == """
          Node(
        −   value: 1
        +   value: 2
            … 1 unchanged
          )
        """)
    #expect(
      Diff.text(expected: Node(1), actual: nil as Node?) == "− Node(value: 1, next: nil)\n+ nil")
  }

  @Test func hasNoAddresses() {
    let pointer = UnsafeMutablePointer<Int>.allocate(capacity: 2)
    defer { pointer.deallocate() }
    let text = Diff.text(expected: Optional(pointer), actual: nil)
    #expect(text == "− 0x…\n+ nil")
  }

  @Test func saysWhereOnlyEqualityDistinguishesValues() {
    #expect(
      Diff.text(expected: Double.nan, actual: Double.nan) == """
          nan
          (prints the same, but == returns false)
        """)
  }

  @Test func distinguishesValuesOfDifferentTypesThatPrintTheSame() {
    let old = Screen(route: ShopRoute.home)
    #expect(Diff.text(expected: old, actual: Screen(route: ShopRoute.home)) == nil)
    #expect(
      Diff.text(expected: old, actual: Screen(route: HelpRoute.home)) == """
          Screen(
            route: .home
            (prints the same, but is of type DispatchStoreTestingTests.HelpRoute, not \
        DispatchStoreTestingTests.ShopRoute)
            … 1 unchanged
          )
        """)
    let order = Screen(route: ShopRoute.Order())
    #expect(Diff.text(expected: order, actual: Screen(route: ShopRoute.Order())) == nil)
    #expect(Diff.text(expected: order, actual: Screen(route: HelpRoute.Order())) != nil)
  }

  @Test func usesTheDescriptionsOfFoundationsValues() {
    let id = UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
    #expect(
      Diff.text(expected: Date(timeIntervalSince1970: 0) as Date?, actual: nil)
        == "− 1970-01-01 00:00:00 +0000\n+ nil")
    #expect(
      Diff.text(expected: [id], actual: []) == """
          [
        −   [0]: 00010203-0405-0607-0809-0A0B0C0D0E0F
          ]
        """)
    #expect(
      Diff.text(expected: Data([1, 255]), actual: Data()) == "− 2 bytes <01ff>\n+ 0 bytes <>")
  }

  @Test func countsWhatIsTooMuchToShow() {
    let text = Diff.text(expected: [], actual: Array(0..<100))
    #expect(text?.hasSuffix("+   [19]: 19\n+   … 80 more\n  ]") == true)
  }
}
