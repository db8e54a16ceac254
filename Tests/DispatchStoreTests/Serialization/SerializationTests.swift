import DispatchStore
import Foundation
import Testing

/// Models to and from encoded forms.
@Suite(.timeLimit(.minutes(10)))
struct SerializationTests {
  private struct Line: Codable, Hashable, Sendable {
    var item: String
    var price: Decimal
  }

  private class Base: Codable {
    var base = 1
  }

  private final class Derived: Base {
    var derived = 2

    private enum Key: CodingKey { case derived }

    override init() { super.init() }

    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      derived = try container.decode(Int.self, forKey: .derived)
      try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(derived, forKey: .derived)
      try super.encode(to: container.superEncoder())
    }
  }

  private enum State: String, Codable, Sendable { case open, closed }

  private struct Shop: Codable, Hashable, Sendable {
    var name = "shop"
    var orders: [String: [Line]] = [:]
    var byNumber: [Int: State] = [:]
    var large = UInt64.max
    var small: Int8 = -3
    var ratio = Float(0.1)
    var infinite = Double.infinity
    var made = Date(timeIntervalSince1970: 12.5)
    var bytes = Data([1, 2, 255])
    var link = URL(string: "https://example.com/a?b")!
    var note: String?
    var pairs: [[Bool]] = [[true], []]
  }

  private static var shop: Shop {
    var shop = Shop()
    shop.orders = ["ann": [Line(item: "tea", price: Decimal(string: "1.50")!)], "bob": []]
    shop.byNumber = [1: .open, 2: .closed]
    return shop
  }

  private struct Reset: ActionType {}

  private func makeStore(_ shop: Shop) -> Store<Shop, Reset> {
    Store(model: shop, reducer: FunctionReducer<Shop, Reset> { shop, _ in shop = Shop() })
  }

  @Test func aModelIsTheSameAfterEncodingAndDecodingInEachForm() throws {
    let store = makeStore(Self.shop)
    let other = makeStore(Shop())
    let plain = try PlainEncoder().encode(store.model)
    other.inject(model: try PlainDecoder().decode(Shop.self, from: plain))
    #expect(other.model == Self.shop)
    other.inject(model: Shop())
    let data = try PropertyListEncoder().encode(store.model)
    other.inject(model: try PropertyListDecoder().decode(Shop.self, from: data))
    #expect(other.model == Self.shop)
    var finite = Self.shop
    finite.infinite = 1
    store.inject(model: finite)
    let json = try JSONEncoder().encode(store.model)
    other.inject(model: try JSONDecoder().decode(Shop.self, from: json))
    #expect(other.model == finite)
    let tree = try JSONDecoder().decode(PlainValue.self, from: json)
    #expect(tree["byNumber"]?["1"] == "open")
  }

  @Test func aPlainTreeHasTheNamesOfTheModel() throws {
    let plain = try PlainEncoder().encode(Self.shop)
    #expect(plain["name"] == "shop")
    #expect(plain["orders"]?["ann"]?[0]?["item"] == "tea")
    #expect(plain["large"] == .unsigned(.max))
    #expect(plain["bytes"] == .data(Data([1, 2, 255])))
    #expect(plain["note"] == nil)
    #expect(plain["pairs"] == [[true], []])
  }

  /// Takes each nested container twice, as a type does whose parts are written in two places.
  private struct Split: Encodable {
    enum Part: CodingKey { case size, list }
    enum Side: CodingKey { case width, height }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Part.self)
      for (side, length) in [(Side.width, 1), (Side.height, 2)] {
        var size = container.nestedContainer(keyedBy: Side.self, forKey: .size)
        try size.encode(length, forKey: side)
        var list = container.nestedUnkeyedContainer(forKey: .list)
        try list.encode(length)
      }
    }
  }

  @Test func aNestedContainerThatIsTakenAgainContinues() throws {
    let plain = try PlainEncoder().encode(Split())
    #expect(plain == ["size": ["width": 1, "height": 2], "list": [1, 2]])
  }

  @Test func aTreeWithDataAndDatesIsTheSameAfterAPropertyList() throws {
    let tree: PlainValue = [
      "made": .date(Date(timeIntervalSince1970: 12)), "bytes": .data(Data([1, 2, 255])),
      "list": [.data(Data([7])), "x", 3],
    ]
    for format in [PropertyListSerialization.PropertyListFormat.binary, .xml] {
      let encoder = PropertyListEncoder()
      encoder.outputFormat = format
      let data = try encoder.encode(tree)
      #expect(try PropertyListDecoder().decode(PlainValue.self, from: data) == tree)
    }
  }

  @Test func aDecimalIsDecodedFromATreeThatComesFromJSON() throws {
    let prices = ["1.50", "0.1", "7", "123456789.125"].map { Decimal(string: $0)! }
    let json = try JSONEncoder().encode(prices)
    let tree = try JSONDecoder().decode(PlainValue.self, from: json)
    #expect(try PlainDecoder().decode([Decimal].self, from: tree) == prices)
    #expect(throws: DecodingError.self) { try PlainDecoder().decode(Decimal.self, from: "1.5") }
  }

  @Test func classesWithSuperclassesAndSingleValuesAreEncodedToo() throws {
    let plain = try PlainEncoder().encode([Derived()])
    #expect(plain == [["derived": 2, "super": ["base": 1]]])
    #expect(try PlainDecoder().decode([Derived].self, from: plain)[0].base == 1)
    #expect(try PlainEncoder().encode(5) == 5)
    #expect(try PlainEncoder().encode(Int?.none) == nil)
    #expect(try PlainDecoder().decode(Double.self, from: 5) == 5)
    #expect(try PlainDecoder().decode([Int?].self, from: [1, nil]) == [1, nil])
    #expect(throws: EncodingError.self) { try PlainEncoder().encode(Int128.max) }
    #expect(try PlainDecoder().decode(Int128.self, from: PlainEncoder().encode(Int128(7))) == 7)
  }

  @Test func theInjectedModelIsOneCommitWithItsAction() throws {
    let store = makeStore(Shop())
    let changes = Recorder<Change<Shop, Reset>>()
    let token = store.observe(.model) { changes.record($0) }
    let plain = try PlainEncoder().encode(Self.shop)
    store.inject(model: try PlainDecoder().decode(Shop.self, from: plain), action: Reset())
    #expect(changes.all.map(\.version) == [1])
    #expect(changes.all[0].action != nil)
    token.cancel()
  }

  @Test func whatCannotBeDecodedSaysWhere() throws {
    var form = try PlainEncoder().encode(Self.shop)
    guard case .object(var values) = form else { return }
    values["orders"] = ["ann": [["item": 5, "price": 1]]]
    form = .object(values)
    #expect {
      try PlainDecoder().decode(Shop.self, from: form)
    } throws: { error in
      guard case DecodingError.typeMismatch(_, let context) = error else { return false }
      return context.codingPath.map(\.stringValue) == ["orders", "ann", "0", "item"]
        && context.debugDescription == "A String is expected, and an integer is here: 5."
    }
    values["orders"] = nil
    #expect(throws: DecodingError.self) {
      try PlainDecoder().decode(Shop.self, from: .object(values))
    }
    #expect(throws: DecodingError.self) { try PlainDecoder().decode(Int8.self, from: 300) }
  }

  /// Another thread changes the model meanwhile: what is encoded is one of its states.
  @Test func whatIsEncodedIsOneStateOfTheModel() async throws {
    struct Pair: Codable, Sendable { var a = 0, b = 0 }
    let store = Store<Pair, Reset>(
      model: Pair(), reducer: FunctionReducer<Pair, Reset> { pair, _ in pair = Pair() })
    let rounds = Load.count(1_000)
    let torn = Recorder<PlainValue>()
    await onOwnThreads(3) { index in
      for _ in 0..<rounds {
        if index == 0 {
          guard let plain = try? PlainEncoder().encode(store.model) else { continue }
          if plain["a"] != plain["b"] { torn.record(plain) }
        } else {
          store.updateModel { ($0.a, $0.b) = ($0.a + 1, $0.b + 1) }
        }
      }
    }
    #expect(torn.all == [])
    #expect(store.model.a == 2 * rounds)
  }
}
