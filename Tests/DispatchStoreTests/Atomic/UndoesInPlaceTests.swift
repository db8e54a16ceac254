import DispatchStore
import DispatchStoreTesting
import Testing

private struct Item: Equatable, Sendable {
  var count = 0
}

private struct Warehouse: Sendable {
  var items = TrackedDictionary<Int, Item>()
  var shelf = Shelf()
  var notes: [String] = []

  struct Shelf: Sendable {
    var labels = TrackedDictionary<String, Int>()
    var name = ""
  }
}

private struct Change: AtomicAction {
  var fails = true
  let body: @Sendable (inout Warehouse) -> Void
}

private typealias WarehouseStore = Store<Warehouse, HandledAction>

/// A store that names its dictionaries, and one after it that may fail.
private func makeStores(
  _ dispatcher: Dispatcher, _ model: Warehouse = Warehouse()
) -> WarehouseStore {
  let store = dispatcher.register(
    store: Store(identifier: "warehouse", model: model) {
      On(withoutReply: Change.self) { model, change in change.body(&model) }
    })
  dispatcher.register(
    store: Store(identifier: "check", model: 0) {
      On(withoutReply: Change.self) { if $1.fails { throw ShiftFailure() } }
    }, waitFor: ["warehouse"])
  return store
}

@Suite(.timeLimit(.minutes(10)))
struct UndoesInPlaceTests {
  @Test func changesOfNamedDictionariesAndOfTheRestAreUndone() async {
    var model = Warehouse(items: [1: Item(count: 1), 2: Item(count: 2)])
    model.shelf.labels = ["a": 1]
    model.notes = ["first"]
    let dispatcher = Dispatcher()
    let store = makeStores(dispatcher, model).undoesInPlace(\.items)
      .undoesInPlace(\.shelf.labels)
    let change: @Sendable (inout Warehouse) -> Void = { model in
      model.items[1]?.count = 10
      model.items[1]?.count = 11
      model.items[2] = nil
      model.items[3] = Item(count: 3)
      model.items[3] = nil
      model.items[2] = Item(count: 20)
      model.shelf.labels.removeAll()
      model.shelf.labels["b"] = 2
      model.shelf.name = "changed"
      model.notes.append("second")
    }
    let failed = dispatcher.dispatch(Change(body: change), mode: .sync)
    #expect(failed.resultIfEnded?.error is ShiftFailure)
    #expect(store.version == 0)
    #expect(store.model.items == [1: Item(count: 1), 2: Item(count: 2)])
    #expect(store.model.shelf.labels == ["a": 1] && store.model.shelf.name == "")
    #expect(store.model.notes == ["first"])
    dispatcher.dispatch(Change(fails: false, body: change), mode: .sync)
    #expect(store.version == 1)
    #expect(store.model.items == [1: Item(count: 11), 2: Item(count: 20)])
    #expect(store.model.shelf.labels == ["b": 2] && store.model.shelf.name == "changed")
    #expect(store.model.notes == ["first", "second"])
  }

  @Test func contentsThatAreReplacedAreUndone() async {
    let dispatcher = Dispatcher()
    let store = makeStores(dispatcher, Warehouse(items: [1: Item(), 2: Item()]))
      .undoesInPlace(\.items)
    dispatcher.dispatch(
      Change { $0.items.replaceContents(with: [2: Item(count: 5), 3: Item()]) }, mode: .sync)
    #expect(store.model.items == [1: Item(), 2: Item()])
  }

  @Test func aChangedCopyThatIsAssignedIsUndone() async {
    let dispatcher = Dispatcher()
    let store = makeStores(dispatcher, Warehouse(items: [1: Item()])).undoesInPlace(\.items)
    let kept = Recorder<TrackedDictionary<Int, Item>>()
    for fails in [true, false, true] {
      let before = store.model.items
      dispatcher.dispatch(
        Change(fails: fails) { model in
          model.items[4] = Item(count: 4)
          var copy = model.items
          copy[1]?.count += 1
          kept.record(copy)
          model.items = copy
          model.items[5] = Item(count: 5)
          kept.record(model.items)
        }, mode: .sync)
      #expect(store.model.items == (fails ? before : kept.all.last!))
    }
    #expect(kept.all[0] == [1: Item(count: 1), 4: Item(count: 4)])
  }

  @Test(arguments: [false, true])
  func anotherValueThatIsAssignedStopsTheProgram(fails: Bool) async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { [fails] in
      let dispatcher = Dispatcher()
      makeStores(dispatcher).undoesInPlace(\.items)
      dispatcher.dispatch(Change(fails: fails) { $0.items = [1: Item()] }, mode: .sync)
    }
    #expect(
      result.message.contains("Store \"warehouse\": a reduction of an atomic action has assigned"))
    #expect(result.message.contains("replaceContents(with:)"))
  }

  /// Its content would be that of the copy by which the rest of the model is undone.
  @Test func aDictionaryInAnObjectStopsTheProgram() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Store(model: Shared()) { On(withoutReply: Change.self) { _, _ in } }
        .undoesInPlace(\.items)
    }
    #expect(result.message.contains("it leads through an object"))
  }

  private final class Shared: @unchecked Sendable {  // because it is used by one thread
    var items = TrackedDictionary<Int, Item>()
  }

  /// More changes than a log keeps without compacting it.
  @Test func manyChangesAreUndone() async {
    let dispatcher = Dispatcher()
    let model = Warehouse(
      items: TrackedDictionary(uniqueKeysWithValues: (0..<3_000).map { ($0, Item(count: $0)) }))
    let store = makeStores(dispatcher, model).undoesInPlace(\.items)
    for observes in [false, true] {
      let seen = Recorder<KeyedDelta<Int, Item>>()
      let token = observes ? store.observe(.deltas(\.items)) { seen.record($0.value) } : nil
      dispatcher.dispatch(
        Change { model in
          for round in 1...3 {
            for key in 0..<3_000 { model.items[key]?.count += round }
          }
        }, mode: .sync)
      #expect(store.model.items == model.items)
      store.updateModel { $0.items[7]?.count = -1 }
      store.updateModel { $0.items[7]?.count = 7 }
      if observes {
        #expect(seen.all.map(\.changed.count) == [1, 1] && !seen.all.contains(where: \.isReset))
      }
      withExtendedLifetime(token) {}
    }
  }

  @Test(arguments: 0..<40)
  func deltasAndElementsStayRightWhateverIsUndone(seed: UInt64) async {
    var random = SeededGenerator(seed: seed)
    let dispatcher = Dispatcher()
    let store = makeStores(dispatcher).undoesInPlace(\.items)
    let rows = Recorder<(TrackedDictionary<Int, Item>, Bool)>()
    var expected: [Int: Item] = [:]
    let element = Recorder<Item?>()
    var token: ObserverToken?
    var other: ObserverToken?
    var copies: [TrackedDictionary<Int, Item>] = []
    for step in 0..<60 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0:
        _ = rows.removeAll()
        rows.record((TrackedDictionary(), false))
        token = store.observe(.deltas(\.items), initial: true) { change in
          var row = rows.all.last!.0
          change.value.apply(to: &row)
          rows.record((row, change.value.isReset))
        }
      case 1: (token, other) = (nil, nil)
      case 2: other = store.observe(.element(\.items, 3)) { element.record($0.value) }
      case 3: copies.append(store.model.items)
      case 4: copies = []
      case 5:
        let key = Int.random(in: 0..<8, using: &random)
        store.updateModel { $0.items[key] = Item(count: step) }
        expected[key] = Item(count: step)
      default:
        let keys = (0..<Int.random(in: 0..<5, using: &random)).map { _ in
          Int.random(in: 0..<8, using: &random)
        }
        let (fails, removes) = (Bool.random(using: &random), Bool.random(using: &random))
        let copiesInside = Bool.random(using: &random)
        let kept = Recorder<TrackedDictionary<Int, Item>>()
        dispatcher.dispatch(
          Change(fails: fails) { model in
            for key in keys {
              model.items[key] = removes ? nil : Item(count: step)
              if copiesInside { kept.record(model.items) }
            }
          }, mode: .sync)
        if !fails { for key in keys { expected[key] = removes ? nil : Item(count: step) } }
        copies += kept.all
      }
      #expect(store.model.items.dictionary == expected)
      if token != nil { #expect(rows.all.last?.0.dictionary == expected, "seed \(seed), \(step)") }
    }
    withExtendedLifetime((token, other)) {}
  }

  @Test func anUndoneActionIsNoDelta() async {
    let dispatcher = Dispatcher()
    let store = makeStores(dispatcher, Warehouse(items: [1: Item(), 2: Item()]))
      .undoesInPlace(\.items)
    let (deltas, elements) = (Recorder<KeyedDelta<Int, Item>>(), Recorder<Item?>())
    let token = store.observe(.deltas(\.items)) { deltas.record($0.value) }
    let other = store.observe(.element(\.items, 1)) { elements.record($0.value) }
    dispatcher.dispatch(Change { $0.items[1]?.count = 9 }, mode: .sync)
    dispatcher.dispatch(Change(fails: false) { $0.items[2]?.count = 5 }, mode: .sync)
    dispatcher.dispatch(Change { $0.items[1] = nil }, mode: .sync)
    store.updateModel { $0.notes.append("") }
    store.updateModel { $0.items[1]?.count = 1 }
    #expect(deltas.all.map { Array($0.changed.keys) } == [[2], [1]])
    #expect(deltas.all.allSatisfy { !$0.isReset && $0.removed.isEmpty && $0.inserted.isEmpty })
    #expect(elements.all == [Item(count: 1)])
    withExtendedLifetime((token, other)) {}
  }

  /// Elements that can't be compared would all count as changed.
  @Test func anUndoneActionIsNoDeltaOfElementsThatAreNotEquatable() async {
    struct Opaque: Sendable { var count = 0 }
    struct Model: Sendable {
      var items: TrackedDictionary<Int, Opaque> = [1: Opaque(), 2: Opaque()]
    }
    struct Set: AtomicAction { let key: Int, fails: Bool }
    let dispatcher = Dispatcher()
    let store = dispatcher.register(
      store: Store(identifier: "opaque", model: Model()) {
        On(withoutReply: Set.self) { model, set in
          model.items[set.key]?.count += 1
          if set.fails { throw ShiftFailure() }
        }
      }
    ).undoesInPlace(\.items)
    let deltas = Recorder<[Int]>()
    let token = store.observe(.deltas(\.items)) { deltas.record($0.value.changed.keys.sorted()) }
    dispatcher.dispatch(Set(key: 1, fails: true), mode: .sync)
    dispatcher.dispatch(Set(key: 2, fails: false), mode: .sync)
    #expect(deltas.all == [[2]])
    withExtendedLifetime(token) {}
  }

  @Test func theElementsOfAnUndoneOrFinishedActionAreReleased() async {
    final class Box: Sendable {}
    struct Model: Sendable { var items = TrackedDictionary<Int, Box>() }
    struct Put: AtomicAction { let box: Box?, fails: Bool }
    let dispatcher = Dispatcher()
    dispatcher.register(
      store: Store(identifier: "boxes", model: Model()) {
        On(withoutReply: Put.self) { model, put in
          model.items[1] = put.box
          if put.fails { throw ShiftFailure() }
        }
      }
    ).undoesInPlace(\.items)
    weak var undone: Box?
    weak var replaced: Box?
    do {
      let (one, other) = (Box(), Box())
      (undone, replaced) = (one, other)
      dispatcher.dispatch(Put(box: one, fails: true), mode: .sync)
      dispatcher.dispatch(Put(box: other, fails: false), mode: .sync)
      dispatcher.dispatch(Put(box: nil, fails: false), mode: .sync)
    }
    #expect(undone == nil && replaced == nil)
  }

  /// The reply shares the notes of the dictionary.
  @Test func theElementsOfAFinishedActionAreReleasedWithItsReply() async {
    final class Box: Sendable {}
    struct Model: Sendable { var items = TrackedDictionary<Int, Box>() }
    struct Put: AtomicAction {
      typealias Reply = TrackedDictionary<Int, Box>
      let box: Box?
    }
    let dispatcher = Dispatcher()
    dispatcher.register(
      store: Store(identifier: "boxes", model: Model()) {
        On(Put.self) { model, put in
          model.items[1] = put.box
          return model.items
        }
      }
    ).undoesInPlace(\.items)
    weak var replaced: Box?
    do {
      let box = Box()
      replaced = box
      dispatcher.dispatch(Put(box: box), mode: .sync)
      dispatcher.dispatch(Put(box: nil), mode: .sync)
    }
    #expect(replaced == nil)
  }

  @Test func aComputedDictionaryIsUndone() async {
    struct Model: Sendable {
      private var stored = TrackedDictionary<Int, Int>()
      var items: TrackedDictionary<Int, Int> {
        get { stored }
        set { stored = newValue }
        _modify { yield &stored }
      }
    }
    struct Put: AtomicAction { let key: Int, fails: Bool }
    let dispatcher = Dispatcher()
    let store = dispatcher.register(
      store: Store(identifier: "computed", model: Model()) {
        On(withoutReply: Put.self) { model, put in
          model.items[put.key] = put.key
          if put.fails { throw ShiftFailure() }
        }
      }
    ).undoesInPlace(\.items)
    dispatcher.dispatch(Put(key: 1, fails: false), mode: .sync)
    dispatcher.dispatch(Put(key: 2, fails: true), mode: .sync)
    #expect(store.model.items == [1: 1])
  }
}
