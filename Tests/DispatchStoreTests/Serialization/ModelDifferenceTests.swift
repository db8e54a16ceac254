import DispatchStore
import DispatchStoreTesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ModelDifferenceTests {
  private struct Order: Sendable, Equatable {
    var total = 0
    var note: String?
  }

  private enum Phase: Sendable {
    case idle
    case loading(progress: Double, by: String)
    case failed(Order)
  }

  /// A type that is observed by identity: other threads may be changing it.
  private final class Engine: Sendable {}

  private struct Shop: Sendable {
    var name = "shop"
    var orders: [String: Order] = [:]
    var items: [Order] = []
    var selected: Order?
    var phase = Phase.idle
    var tags: Set<String> = []
    var ratio = 0.5
    var pair = (1, 2)
    var engine: Engine?
  }

  private func differences(_ change: (inout Shop) -> Void, from old: Shop = Shop()) -> [String] {
    var new = old
    change(&new)
    return ModelDifference.all(from: old, to: new).map(\.description)
  }

  @Test func namesFieldsInTheOrderOfTheirDeclarations() {
    #expect(differences { _ in } == [])
    #expect(
      differences {
        $0.pair.1 = 3
        $0.name = "store"
      } == [#"name: "shop" → "store""#, "pair.1: 2 → 3"])
  }

  @Test func namesEntriesByKeyAndTheirPartsBehind() {
    var old = Shop()
    old.orders = ["ann": Order(total: 1), "bob": Order(total: 2)]
    #expect(
      differences(
        {
          $0.orders["ann"]?.total = 5
          $0.orders["bob"] = nil
          $0.orders["cid"] = Order(total: 3)
        }, from: old) == [
          #"orders["ann"].total: 1 → 5"#,
          #"orders["bob"]: Order(total: 2, note: nil) → nil"#,
          #"orders["cid"]: nil → Order(total: 3, note: nil)"#,
        ])
  }

  @Test func namesElementsByIndexAroundInsertionsAndRemovals() {
    var old = Shop()
    old.items = (0..<10).map { Order(total: $0) }
    #expect(
      differences(
        {
          $0.items[8].total = 80
          $0.items.remove(at: 2)
          $0.items.insert(Order(total: 99), at: 5)
        }, from: old) == [
          "items[2]: Order(total: 2, note: nil) → nil",
          "items[5]: nil → Order(total: 99, note: nil)",
          "items[8].total: 8 → 80",
        ])
  }

  @Test func goesIntoOptionalsAndCases() {
    var old = Shop()
    old.selected = Order(total: 1)
    old.phase = .loading(progress: 0.25, by: "a")
    #expect(
      differences(
        {
          $0.selected?.note = "n"
          $0.phase = .loading(progress: 0.5, by: "a")
        }, from: old) == [
          #"selected?.note: nil → "n""#, "phase.loading.progress: 0.25 → 0.5",
        ])
    #expect(differences({ $0.selected = nil }, from: old)[0].hasSuffix("→ nil"))
    #expect(differences({ $0.phase = .idle }, from: old)[0].hasPrefix("phase: .loading("))
    old.phase = .failed(Order())
    #expect(
      differences({ $0.phase = .failed(Order(total: 1)) }, from: old) == [
        "phase.failed.total: 0 → 1"
      ])
  }

  @Test func namesMembersOfSets() {
    var old = Shop()
    old.tags = ["a", "b"]
    #expect(
      differences({ $0.tags = ["b", "c"] }, from: old) == [
        #"tags["a"]: "a" → nil"#, #"tags["c"]: nil → "c""#,
      ])
  }

  @Test func comparesObjectsByIdentityAndNumbersThatAreNoneAsTheSame() {
    var old = Shop()
    (old.ratio, old.engine) = (.nan, Engine())
    #expect(differences({ $0.ratio = .nan }, from: old) == [])
    #expect(differences({ $0.engine = Engine() }, from: old) == ["engine?: Engine → Engine"])
    #expect(differences({ $0.ratio = 1 }, from: old) == ["ratio: nan → 1.0"])
  }

  @Test func aNumberThatIsNoneIsNoDifferenceOfAnEquatableTypeEither() {
    struct Sample: Equatable, Sendable { var ratio = Double.nan, count = 0 }
    #expect(ModelDifference.all(from: Sample(), to: Sample()).isEmpty)
    #expect(
      ModelDifference.all(from: [Sample()], to: [Sample(count: 1)]).map(\.description)
        == ["self[0].count: 0 → 1"])
  }

  /// A tree of types without `==`: each element is reflected a bounded number of times for each level.
  @Test func comparesDeepTreesWithoutEqualityToo() {
    struct Node: Sendable {
      var value: Int
      var children: [Node] = []

      init(depth: Int, leaf: Int) {
        value = depth
        children = depth == 0 ? [] : [Node(depth: depth - 1, leaf: leaf)]
        if depth == 0 { value = leaf }
      }
    }
    let differences = ModelDifference.all(
      from: Node(depth: 40, leaf: 1), to: Node(depth: 40, leaf: 2))
    let path = Array(repeating: "children[0]", count: 40).joined(separator: ".")
    #expect(differences.map(\.keyPath) == [path + ".value"])
  }

  @Test func hasTheValuesThemselves() throws {
    let differences = ModelDifference.all(from: ["a": Order(total: 1)], to: ["a": Order(total: 2)])
    let difference = try #require(differences.first)
    #expect(difference.keyPath == #"self["a"].total"#)
    #expect(difference.old as? Int == 1)
    #expect(difference.new as? Int == 2)
    #expect(ModelDifference.all(from: 1, to: 2).map(\.description) == ["self: 1 → 2"])
  }

  /// An equality that is coarser than the fields, and one that is finer.
  @Test func followsTheEqualityOfATypeThatHasOne() {
    struct Coarse: Equatable, Sendable {
      var shown = 0, hidden = 0
      static func == (left: Coarse, right: Coarse) -> Bool { left.shown == right.shown }
    }
    struct Never: Equatable, Sendable {
      var value = 0
      static func == (left: Never, right: Never) -> Bool { false }
    }
    #expect(ModelDifference.all(from: Coarse(), to: Coarse(hidden: 1)).isEmpty)
    #expect(ModelDifference.all(from: Never(), to: Never()).map(\.keyPath) == ["self"])
  }

  /// Each element is compared a bounded number of times, however many there are.
  @Test(arguments: [1_000, 10_000])
  func comparesLargeCollectionsInLinearTime(_ count: Int) {
    let comparisons = EventCount(of: .max)
    struct Counted: Equatable, Sendable {
      var value: Int
      let comparisons: EventCount
      static func == (left: Counted, right: Counted) -> Bool {
        left.comparisons.add()
        return left.value == right.value
      }
    }
    let old = (0..<count).map { Counted(value: $0, comparisons: comparisons) }
    var new = old
    new[count / 2].value = -1
    #expect(
      ModelDifference.all(from: old, to: new).map(\.keyPath) == ["self[\(count / 2)].value"])
    #expect(comparisons.count <= 4 * count)
    let before = comparisons.count
    let byKey = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($0, $1) })
    var changed = byKey
    changed[3]?.value = -1
    #expect(ModelDifference.all(from: byKey, to: changed).map(\.keyPath) == ["self[3].value"])
    #expect(comparisons.count - before <= 4 * count)
  }

  @Test func isTheChangeOfARecordedActionAndOfAnObserversChange() async {
    let dispatcher = Dispatcher()
    let counter = dispatcher.register(store: .counter())
    let recorder = StateRecorder<Counter, CounterAction>()
    dispatcher.register(recorder.hook)
    let lines = Recorder<String>()
    let old = counter.model
    let token = counter.observe(.model) { change in
      for difference in ModelDifference.all(from: old, to: change.value) {
        lines.record("\(difference)")
      }
    }
    _ = await counter.dispatch(.add(1)).result
    _ = await counter.dispatch(.note("n")).result
    #expect(
      recorder.entries.map {
        ModelDifference.all(from: $0.oldModel, to: $0.newModel).map(\.description)
      } == [
        ["count: 0 → 1"], [#"notes[0]: nil → "n""#],
      ])
    #expect(
      lines.all == [
        "count: 0 → 1", "count: 0 → 1", #"notes[0]: nil → "n""#,
      ])
    token.cancel()
  }
}
