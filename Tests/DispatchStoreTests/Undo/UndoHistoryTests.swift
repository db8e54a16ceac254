import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

private struct Shape: Equatable, Sendable, Codable { var x = 0, name = "" }

private struct Drawing: ModelType, Equatable, Codable {
  var shapes = TrackedDictionary<Int, Shape>()
  var title = ""

  static func == (one: Drawing, other: Drawing) -> Bool {
    one.shapes.dictionary == other.shapes.dictionary && one.title == other.title
  }
}

private struct Edit: ActionType {
  var key: String?
  let body: @Sendable (inout Drawing) -> Void

  init(_ key: String? = nil, _ body: @escaping @Sendable (inout Drawing) -> Void) {
    (self.key, self.body) = (key, body)
  }
}

private struct Last: ActionType {}

/// Adds a letter to a text, and counts it in another store, first or afterwards.
private struct Letter: ActionType {
  let letter: Character
  let isCountedFirst: Bool
  let key = "text"
}

/// Moves a shape in all drawings, in one atomic action.
private struct MoveAll: AtomicAction { let shape: Int, by: Int }

private typealias DrawingStore = Store<Drawing, HandledAction>

private func makeStore(
  _ identifier: String = "drawing", undoesInPlace: Bool = true
) -> DrawingStore {
  let store: DrawingStore = Store(identifier: identifier, model: Drawing()) {
    On(Edit.self) { drawing, edit in edit.body(&drawing) }
    On(MoveAll.self) { drawing, move in
      drawing.shapes[move.shape, default: Shape()].x += move.by
    }
  }
  return undoesInPlace ? store.undoesInPlace(\.shapes) : store
}

/// What may begin to follow a drawing's shapes.
private enum Newcomer: CaseIterable {
  case element, deltas, history

  func follow(_ drawing: DrawingStore) -> AnyObject {
    switch self {
    case .element: drawing.observe(.element(\.shapes, 3)) { _ in }
    case .deltas: drawing.observe(.deltas(\.shapes)) { _ in }
    case .history: UndoHistory(of: drawing)
    }
  }
}

/// The number of elements that changes of a test have taken over when they were merged.
private let moved = Locked(0)

@Suite("Undo histories", .timeLimit(.minutes(10)))
struct UndoHistoryTests {
  private let dispatcher = Dispatcher(name: "studio")

  private func register(_ identifier: String = "drawing") -> DrawingStore {
    dispatcher.register(store: makeStore(identifier))
  }

  private func makeHistory() -> (DrawingStore, UndoHistory) {
    let store = register()
    return (store, UndoHistory(of: store))
  }

  private func edit(_ key: String? = nil, _ body: @escaping @Sendable (inout Drawing) -> Void) {
    dispatcher.dispatch(Edit(key, body), mode: .sync)
  }

  @Test(arguments: Way.all)
  func goBackAndForthStepByStepWithNewVersions(way: Way) async {
    let (store, history) = makeHistory()
    var states = [store.model]
    let edits: [@Sendable (inout Drawing) -> Void] = [
      { $0.shapes[1] = Shape(x: 1) }, { $0.title = "house" },
      {
        $0.shapes[1]?.x = 2
        $0.shapes[2] = Shape(x: 5, name: "door")
        $0.title = "home"
      },
      { $0.shapes[1] = nil },
    ]
    for body in edits {
      edit(nil, body)
      states.append(store.model)
    }
    for state in states.dropLast().reversed() {
      #expect(await history.undo(mode: way.mode).result.isSuccess)
      #expect(store.model == state)
    }
    #expect(!history.canUndo && history.canRedo)
    for state in states.dropFirst() {
      #expect(await history.redo(mode: way.mode).result.isSuccess)
      #expect(store.model == state)
    }
    #expect(history.canUndo && !history.canRedo)
    #expect(store.version == 12)
  }

  @Test(arguments: Way.all, [false, true])
  func undoCommitsThatObserversAreNotToldOf(way: Way, isAtomic: Bool) async {
    let store = dispatcher.registerQuiet()
    let history = UndoHistory(of: store)
    await dispatcher.add(5, by: way, isAtomic: isAtomic)
    await dispatcher.add(7, isHidden: true, by: way, isAtomic: isAtomic)
    await history.undo(mode: way.mode).ended()
    #expect(store.model == 5)
    await history.redo(mode: way.mode).ended()
    #expect(store.model == 12)
  }

  @Test(arguments: Way.all)
  func withoutAStepLeaveTheStoreAndItsVersionAsTheyAre(way: Way) async {
    let store = register()
    edit { $0.title = "before" }
    let history = UndoHistory(of: store)
    #expect(await history.undo(mode: way.mode).result.isSuccess)
    #expect(await history.redo(mode: way.mode).result.isSuccess)
    #expect(store.version == 1 && store.model.title == "before")
  }

  @Test func aChangeAfterAnUndoEndsWhatCouldBeDoneAgain() async {
    let (store, history) = makeHistory()
    edit { $0.title = "one" }
    edit { $0.title = "two" }
    await history.undo().ended()
    edit { $0.title = "three" }
    #expect(!history.canRedo)
    await history.undo().ended()
    #expect(store.model.title == "one")
  }

  /// The count follows the title, and so does a shape of the drawing itself.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func whatAnObserverChangesInAnUndoEndsNoRedo(mode: Dispatcher.Mode) async {
    let drawing = register()
    let count = dispatcher.register(
      store: Store(identifier: "count", model: 0) { On(Last.self) { count, _ in count = 0 } })
    let history = UndoHistory(of: drawing, count)
    let token = drawing.observe(.part(\.title)) { change in
      count.updateModel { $0 = change.value.count }
      drawing.updateModel { $0.shapes[change.value.count] = Shape(name: change.value) }
    }
    for letter in "word" { edit { $0.title.append(letter) } }
    let last = drawing.model
    for length in (0..<4).reversed() {
      #expect(history.canUndo)
      await history.undo(mode: mode).ended()
      #expect(drawing.model.title.count == length && count.model == length)
      #expect(drawing.model.shapes[length + 1] == nil)
    }
    #expect(!history.canUndo)
    for length in 1...4 {
      #expect(history.canRedo)
      await history.redo(mode: mode).ended()
      #expect(drawing.model.title.count == length && count.model == length)
    }
    #expect(!history.canRedo && drawing.model == last)
    token.cancel()
  }

  @Test func whatAnObserverChangesInAnUndoIsAPartOfTheNextStep() async {
    let drawing = register()
    let history = UndoHistory(of: drawing)
    let token = drawing.observe(.part(\.title)) { change in
      drawing.updateModel { $0.shapes[0] = Shape(x: change.value.count) }
    }
    edit { $0.title = "a" }
    edit { $0.title = "ab" }
    await history.undo().ended()
    edit { $0.title = "abc" }
    #expect(!history.canRedo)
    for title in ["a", ""] {
      await history.undo().ended()
      #expect(drawing.model.title == title && drawing.model.shapes[0]?.x == title.count)
    }
    #expect(!history.canUndo)
    token.cancel()
  }

  @Test func whatAStepNoLongerNeedsIsReleasedOutsideOfExclusiveSections() async {
    let inSections = Recorder<Bool>()
    let store = dispatcher.register(
      store: Store(identifier: "witness", model: [Mortal]()) {
        On(Last.self) { witnesses, _ in
          witnesses = [Mortal { inSections.record(ThreadState.current.exclusive != nil) }]
        }
      })
    let history = UndoHistory(of: store, groupedBy: { _ in "all" }, within: .seconds(3_600))
    for _ in 0..<8 { dispatcher.dispatch(Last(), mode: .sync) }
    #expect(inSections.count > 0 && inSections.all.allSatisfy { !$0 })
    await history.undo().ended()
    #expect(store.model.isEmpty && !history.canUndo)
  }

  @Test func anActionOverSeveralStoresIsOneStep() async {
    let stores = ["a", "b", "c"].map { register($0) }
    let history = UndoHistory(of: stores[2], stores[0], stores[1])
    dispatcher.dispatch(MoveAll(shape: 1, by: 5), mode: .sync)
    dispatcher.dispatch(MoveAll(shape: 1, by: 7), mode: .sync)
    let result = await history.undo().result
    #expect(result.stores.map(\.storeIdentifier) == ["c", "a", "b"])
    #expect(stores.map { $0.model.shapes[1]?.x } == [5, 5, 5])
    #expect(stores.map(\.version) == [3, 3, 3])
    await history.undo().ended()
    #expect(stores.allSatisfy { $0.model.shapes.isEmpty })
    await history.redo().ended()
    #expect(stores.map { $0.model.shapes[1]?.x } == [5, 5, 5])
  }

  @Test func onlyTheStoresThatAStepHasChangedGetAVersion() async {
    let (one, other) = (register("one"), register("other"))
    let history = UndoHistory(of: one, other)
    dispatcher.dispatch(Edit { $0.title = "x" }, to: "one", mode: .sync)
    await history.undo().ended()
    #expect(one.version == 2 && other.version == 0)
  }

  @Test func aChangeOutsideOfADispatchIsAStepToo() async {
    let (store, history) = makeHistory()
    store.updateModel { $0.shapes[1] = Shape(x: 1) }
    store.updateModel { $0.shapes[1]?.x = 2 }
    await history.undo().ended()
    #expect(store.model.shapes[1]?.x == 1)
    await history.undo().ended()
    #expect(store.model.shapes.isEmpty)
  }

  @Test func aGroupedDispatchIsOneStepHoweverLongItTakes() async throws {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(name: "studio", clock: clock)
    let store = dispatcher.register(
      store: Store(identifier: "late", model: 0) {
        On(MoveAll.self) { model, _ in model += 1 }
        Perform(Last.self) { _, context in
          try context.updateModel { $0 += 10 }
          clock.advance(by: .seconds(10))
          try context.updateModel { $0 += 100 }
        }
      })
    let history = UndoHistory(of: store, groupedBy: { _ in "all" }, within: .seconds(1))
    dispatcher.dispatch(MoveAll(shape: 1, by: 1), mode: .sync)
    await dispatcher.dispatch(Last()).ended()
    #expect(store.model == 111)
    await history.undo().ended()
    #expect(store.model == 0)
  }

  @Test func mayHaveNoLimit() async {
    let store = register()
    let history = UndoHistory(of: store, limit: .max)
    edit { $0.title = "x" }
    await history.undo().ended()
    #expect(store.model.title.isEmpty)
  }

  @Test func aDispatchUnderWayMayUndoWhileItsDispatcherCloses() async {
    let (store, history) = makeHistory()
    edit { $0.title = "one" }
    let (entered, goOn) = (Latch(), Latch())
    dispatcher.register(
      store: Store(identifier: "last", model: false) {
        Perform(Last.self) { _, context in
          entered.open()
          await goOn.opened()
          let isDone = await history.undo().result.isSuccess
          try context.updateModel { $0 = isDone }
        }
      })
    let last = dispatcher.dispatch(Last())
    await entered.opened()
    dispatcher.close()
    #expect(await history.undo().result.dispatchError?.code == .dispatcherClosed)
    goOn.open()
    #expect(await last.result.isSuccess)
    #expect(store.model.title.isEmpty)
  }

  @Test(arguments: [true, false])
  func consecutiveActionsWithAKeyAreOneStepWithinTheirTime(isRegisteredFirst: Bool) async {
    let clock = VirtualClock()
    let (dispatcher, store) = (Dispatcher(name: "studio", clock: clock), makeStore())
    if isRegisteredFirst { dispatcher.register(store: store) }
    let history = UndoHistory(
      of: store, groupedBy: { ($0 as? Edit)?.key }, within: .seconds(1))
    if !isRegisteredFirst { dispatcher.register(store: store) }
    func type(_ key: String?, _ letter: Character) {
      dispatcher.dispatch(Edit(key) { $0.title.append(letter) }, mode: .sync)
    }
    for letter in "word" { type("title", letter) }
    clock.advance(by: .milliseconds(1_001))
    for letter in "s2" { type("title", letter) }
    type("other", "!")
    type(nil, "?")
    type(nil, "?")
    var titles: [String] = []
    while history.canUndo {
      await history.undo().ended()
      titles.append(store.model.title)
    }
    #expect(titles == ["words2!?", "words2!", "words2", "word", ""])
    for _ in 0..<2 { await history.redo().ended() }
    #expect(store.model.title == "words2")
  }

  /// The number of calls that have merged changes is what a step of many commits costs.
  @Test func theCommitsOfAStepAreMergedALogarithmicNumberOfTimes() {
    final class Change: PartChange {
      let numbers: [Int]
      init(_ numbers: [Int]) { self.numbers = numbers }
      var name: String { "numbers" }
      var elements: [Element]? { nil }
      var canBeUndone: Bool { true }
      func undo(in model: UnsafeMutableRawPointer) {}
      func redo(in model: UnsafeMutableRawPointer) {}
      func merged(with later: any PartChange) -> any PartChange {
        moved.withLock { $0 += numbers.count }
        return Change(numbers + (later as! Change).numbers)
      }
    }
    let rest = ModelRest()
    func commit(_ number: Int, of index: Int) -> TapedCommit {
      let commit = TapedCommit(
        index: index, identifier: "drawing",
        versions: (UInt64(number - 1), UInt64(number)), dispatchIDs: ShortList(),
        isTogether: false, rests: (rest, rest))
      commit.append(Change([number]))
      return commit
    }
    var commits: [TapedCommit] = []
    for number in 1...1_000 {
      _ = commits.add(commit(number, of: 0), to: 0)
      if number % 10 == 0 { _ = commits.add(commit(number / 10, of: 1), to: 0) }
    }
    for (index, count) in [1_000, 100].enumerated() {
      let own = commits.filter { $0.index == index }
      let numbers = own.flatMap(\.partChanges).flatMap { ($0 as! Change).numbers }
      #expect(numbers == Array(1...count))
      #expect(own.count <= 10)
    }
    #expect(moved.withLock(\.self) < 1_100 * 10)
  }

  @Test func groupedDispatchesThatChangeASecondStoreAreOneStep() async {
    let clock = VirtualClock()
    clock.advance(by: .seconds(10))
    let dispatcher = Dispatcher(name: "studio", clock: clock)
    let count = dispatcher.register(
      store: Store(identifier: "count", model: 0) { On(Last.self) { count, _ in count = 0 } })
    let text = dispatcher.register(
      store: Store(identifier: "text", model: "") {
        Perform(Letter.self) { action, context in
          if action.isCountedFirst { count.updateModel { $0 += 1 } }
          try context.updateModel { $0.append(action.letter) }
          if !action.isCountedFirst { count.updateModel { $0 += 1 } }
        }
      })
    let history = UndoHistory(
      of: text, count, groupedBy: { ($0 as? Letter)?.key }, within: .seconds(1))
    for letter in "word" {
      await dispatcher.dispatch(Letter(letter: letter, isCountedFirst: letter == "w")).ended()
    }
    #expect(text.model == "word" && count.model == 4)
    await history.undo().ended()
    #expect(text.model.isEmpty && count.model == 0 && !history.canUndo)
    await history.redo().ended()
    #expect(text.model == "word" && count.model == 4)
  }

  @Test func aDispatchOfWhichACommitCannotBeUndoneIsNoStep() async {
    let palette = register("palette")
    let store: DrawingStore = Store(identifier: "drawing", model: Drawing()) {
      Perform(Last.self) { _, context in
        try context.updateModel { $0.shapes = TrackedDictionary() }
        palette.updateModel { $0.title = "half" }
      }
    }
    let drawing = dispatcher.register(store: store.undoesInPlace(\.shapes))
    let history = UndoHistory(of: drawing, palette)
    #expect(await dispatcher.dispatch(Last()).result.isSuccess)
    #expect(palette.model.title == "half" && !history.canUndo)
    palette.updateModel { $0.title = "after" }
    await history.undo().ended()
    #expect(palette.model.title == "half" && !history.canUndo)
  }

  /// The content is then again as at the start of that action, where the history has read.
  @Test func anActionThatIsUndoneAndAFollowerThatComesAfterItTakeNoStep() async {
    struct Refused: Error {}
    let store = register()
    dispatcher.register(
      store: Store(identifier: "lock", model: 0) {
        On(Edit.self) { _, edit in if edit.key == "refused" { throw Refused() } }
      })
    let history = UndoHistory(of: store)
    func edit(_ shape: Int, _ key: String? = nil) -> Bool {
      let edit = Edit(key) { $0.shapes[shape] = Shape(x: shape) }
      return dispatcher.dispatch(edit, mode: .sync, options: .atomic).resultIfEnded!.isSuccess
    }
    #expect(edit(1))
    #expect(!edit(2, "refused"))
    let token = store.observe(.element(\.shapes, 3)) { _ in }
    #expect(edit(4))
    await history.undo().ended()
    #expect(Array(store.model.shapes.keys) == [1])
    await history.undo().ended()
    #expect(store.model.shapes.isEmpty)
    token.cancel()
  }

  /// Whatever begins to follow the dictionary, while a snapshot shares its storage or not.
  @Test(arguments: Newcomer.allCases, [false, true])
  private func anActionThatOnlyTouchesElementsAndAFollowerThatComesAfterItTakeNoStep(
    newcomer: Newcomer, hasSnapshot: Bool
  ) async {
    let (store, history) = makeHistory()
    let resets = Locked(0)
    let token = store.observe(.deltas(\.shapes)) { change in
      if change.value.isReset { resets.withLock { $0 += 1 } }
    }
    edit { $0.shapes[1] = Shape(x: 1) }
    edit {
      $0.shapes[1]?.x += 0
      $0.shapes[7]?.x += 1
      Reduction.unchanged()
    }
    let snapshot = hasSnapshot ? store.model : nil
    let follower = newcomer.follow(store)
    edit { $0.shapes[2] = Shape(x: 2) }
    await history.undo().ended()
    #expect(Array(store.model.shapes.keys) == [1])
    await history.undo().ended()
    #expect(store.model.shapes.isEmpty && store.version == 4)
    #expect(resets.withLock(\.self) == 0)
    withExtendedLifetime((snapshot, follower, token)) {}
  }

  @Test func aStepIsFoundByEachDispatchThatHasJoinedIt() {
    let rest = ModelRest()
    func commit(_ index: Int, by id: UInt64, _ key: String? = nil) -> TapedCommit {
      let commit = TapedCommit(
        index: index, identifier: "drawing", versions: (0, 1),
        dispatchIDs: ShortList(DispatchID(rawValue: id)), isTogether: false, rests: (rest, rest))
      (commit.key, commit.time) = (key.map { TypedKey($0) }, key == nil ? 0 : 5)
      return commit
    }
    var state = UndoState(limit: 10, interval: 1)
    for id in 1...2 { _ = state.add(commit(0, by: UInt64(id), "text")) }
    _ = state.add(commit(1, by: 1))
    _ = state.add(commit(0, by: 3, "text"))
    #expect(Set(state.past.map(\.place)).count == 1)
  }

  @Test func anActionAfterAnUndoJoinsNoStepFromBefore() async {
    let store = register()
    let history = UndoHistory(
      of: store, groupedBy: { ($0 as? Edit)?.key }, within: .seconds(3_600))
    func type(_ key: String?, _ letter: Character) {
      dispatcher.dispatch(Edit(key) { $0.title.append(letter) }, mode: .sync)
    }
    for letter in "ab" { type("title", letter) }
    type(nil, "!")
    await history.undo().ended()
    type("title", "c")
    await history.undo().ended()
    #expect(store.model.title == "ab")
    await history.redo().ended()
    type("title", "d")
    await history.undo().ended()
    #expect(store.model.title == "abc")
  }

  @Test func stepsAboveTheLimitAreForgottenAndReleased() async {
    let store = register()
    let history = UndoHistory(of: store, limit: 8)
    for number in 1...100 { edit { $0.shapes[number] = Shape(x: number) } }
    var count = 0
    while history.canUndo {
      await history.undo().ended()
      count += 1
    }
    #expect((8...9).contains(count))
    #expect(store.model.shapes.count == 100 - count)
  }

  @Test func forgetsAllStepsWhenToldTo() async {
    let (store, history) = makeHistory()
    edit { $0.title = "one" }
    edit { $0.title = "two" }
    await history.undo().ended()
    history.removeAll()
    #expect(!history.canUndo && !history.canRedo)
    #expect(store.model.title == "one")
  }

  @Test func aDictionaryThatIsAssignedEndsTheHistoryBeforeIt() async {
    let (store, history) = makeHistory()
    edit { $0.shapes[1] = Shape(x: 1) }
    edit { $0.shapes = [2: Shape(x: 2)] }
    #expect(!history.canUndo)
    edit { $0.shapes[2]?.x = 3 }
    await history.undo().ended()
    #expect(store.model.shapes.dictionary == [2: Shape(x: 2)])
  }

  @Test(arguments: 0..<3, [false, true])
  func theEndOfAnotherFollowerTakesNoStepFromAHistory(follower: Int, isDispatched: Bool) async {
    let store = register()
    store.updateModel { drawing in
      for shape in 0..<2_000 { drawing.shapes[shape] = Shape(x: shape) }
    }
    let (history, drawing) = (UndoHistory(of: store), store.model)
    switch follower {
    case 0: store.observe(.element(\.shapes, 1)) { _ in }.cancel()
    case 1: withExtendedLifetime(store.stream(.deltas(\.shapes))) {}
    default: withExtendedLifetime(UndoHistory(of: store)) {}
    }
    if isDispatched {
      edit { $0.shapes.removeAll() }
    } else {
      store.updateModel { $0.shapes.removeAll() }
    }
    #expect(store.model.shapes.isEmpty && history.canUndo)
    await history.undo().ended()
    #expect(store.model == drawing)
  }

  @Test(arguments: [false, true])
  func aCommitThatTakesManyElementsBackLeavesTheStepsBefore(isDispatched: Bool) async {
    let (store, history) = makeHistory()
    edit { $0.title = "before" }
    let edits: @Sendable (inout Drawing) -> Void = { drawing in
      for shape in 0..<3_000 { drawing.shapes[shape] = Shape(x: shape) }
      for shape in 1..<3_000 { drawing.shapes[shape] = nil }
    }
    if isDispatched { edit(nil, edits) } else { store.updateModel(edits) }
    #expect(store.model.shapes.count == 1)
    await history.undo().ended()
    #expect(store.model.shapes.isEmpty && store.model.title == "before")
    await history.undo().ended()
    #expect(store.model.title.isEmpty)
  }

  /// The other follower begins before another dictionary is assigned, the history afterwards.
  @Test(arguments: [false, true])
  func theEndOfAnEarlierFollowerTakesNoStepFromAHistory(ofDeltas: Bool) async {
    let store = register()
    let token =
      ofDeltas
      ? store.observe(.deltas(\.shapes)) { _ in } : store.observe(.element(\.shapes, 1)) { _ in }
    var loaded = Drawing()
    for shape in 0..<2_000 { loaded.shapes[shape] = Shape(x: shape) }
    store.inject(model: loaded)
    let history = UndoHistory(of: store)
    token.cancel()
    edit { $0.shapes.removeAll() }
    #expect(store.model.shapes.isEmpty && history.canUndo)
    await history.undo().ended()
    #expect(store.model == loaded)
  }

  /// With a snapshot, the next change copies the dictionary's notes; without one, so many fill them up.
  @Test(arguments: [false, true])
  func aHistoryThatBeginsAfterChangesThatNobodyHasReadKeepsItsFirstStep(hasSnapshot: Bool) async {
    let store = register()
    store.updateModel { drawing in
      for shape in 0..<2_000 { drawing.shapes[shape] = Shape(x: shape) }
    }
    store.observe(.element(\.shapes, 1)) { _ in }.cancel()
    edit { $0.shapes[1]?.x = -1 }
    let history = UndoHistory(of: store)
    let snapshot = hasSnapshot ? store.model : nil
    edit {
      $0.title = "next"
      if hasSnapshot { $0.shapes[1]?.x = -2 } else { $0.shapes.removeAll() }
    }
    #expect(history.canUndo)
    await history.undo().ended()
    #expect(store.model.shapes[1]?.x == -1 && store.model.shapes.count == 2_000)
    withExtendedLifetime(snapshot) {}
  }

  @Test func observersSeeAnUndoAsACommitOfItsElements() async {
    let store = register()
    edit { $0.shapes = [1: Shape(x: 1), 2: Shape(x: 2)] }
    let history = UndoHistory(of: store)
    let (titles, elements) = (Recorder<String>(), Recorder<Set<Int>>())
    let tokens = [
      store.observe(.part(\.title)) { titles.record($0.value) },
      store.observe(.deltas(\.shapes)) { elements.record(Set($0.value.entries.keys)) },
    ]
    edit { $0.shapes[1] = Shape(x: 5) }
    edit { $0.title = "t" }
    await history.undo().ended()
    await history.undo().ended()
    #expect(titles.all == ["t", ""])
    #expect(elements.all == [[1], [1]])
    withExtendedLifetime(tokens) {}
  }

  @Test(arguments: Way.all)
  func hooksWithStatesAndObserversGetTheStepWithItsModels(way: Way) async {
    let (store, history) = makeHistory()
    let (states, steps) = (StateRecorder<Drawing, HandledAction>(), Recorder<UndoStep?>())
    dispatcher.register(states.hook)
    let token = store.observe(.part(\.title)) { steps.record($0.action?.base as? UndoStep) }
    edit { $0.title = "x" }
    await history.undo(mode: way.mode).ended()
    await history.redo(mode: way.mode).ended()
    #expect(states.changes.map(\.oldModel.title) == ["", "x", ""])
    #expect(states.changes.map(\.newModel.title) == ["x", "", "x"])
    #expect(states.entries.map(\.commitCount) == [1, 1, 1])
    #expect(steps.all == [nil, .undo, .redo])
    token.cancel()
  }

  @Test func aStoreWithAnActionTypeOfItsOwnHasNoActionForAnUndo() async {
    let store = dispatcher.register(store: .counter("counter"))
    let history = UndoHistory(of: store)
    let (states, actions) = (StateRecorder<Counter, CounterAction>(), Recorder<CounterAction?>())
    dispatcher.register(states.hook)
    let token = store.observe(.part(\.count)) { actions.record($0.action) }
    await store.send(.add(1))
    await history.undo().ended()
    await store.send(.add(2))
    #expect(states.entries.map(\.newModel.count) == [1, 2])
    #expect(actions.all == [.add(1), nil, .add(2)])
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func anObserverMayChangeTheStoreThatAnUndoSets(
    mode: Dispatcher.Mode, isSaved: Bool
  ) async throws {
    let dispatcher =
      isSaved ? Dispatcher(name: "studio") : Dispatcher(name: "studio", persistence: nil)
    if isSaved { try await MemoryDatabase().open(for: dispatcher) }
    let store = try await dispatcher.register(store: makeStore(), persisted: .elements(\.shapes))
    let (history, steps) = (UndoHistory(of: store), Recorder<UndoStep?>())
    let tokens = [
      store.observe(.part(\.title)) { change in
        store.updateModel { $0.shapes[1] = Shape(name: change.value + "!") }
      },
      store.observe(.element(\.shapes, 1)) { steps.record($0.action?.base as? UndoStep) },
    ]
    await dispatcher.send(Edit { $0.title = "x" })
    #expect(await history.undo(mode: mode).result.isSuccess)
    #expect(store.model.title == "" && store.model.shapes[1] == Shape(name: "!"))
    #expect(steps.all == [nil, .undo, .undo])
    for token in tokens { token.cancel() }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anObserverMayChangeAStoreWithAnActionTypeOfItsOwn(mode: Dispatcher.Mode) async {
    let store = dispatcher.register(store: .counter("counter"))
    let (history, actions) = (UndoHistory(of: store), Recorder<CounterAction?>())
    let tokens = [
      store.observe(.part(\.count)) { change in
        store.updateModel { $0.notes.append("\(change.value)") }
      },
      store.observe(.part(\.notes)) { actions.record($0.action) },
    ]
    await store.send(.add(1))
    await history.undo(mode: mode).ended()
    #expect(store.model == Counter(notes: ["0"]))
    #expect(actions.all == [.add(1), nil, nil])
    for token in tokens { token.cancel() }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func effectsFollowAnUndo(mode: Dispatcher.Mode) async {
    let store = register()
    let (history, seen) = (UndoHistory(of: store), Recorder<String>())
    dispatcher.register(
      effect: Effect(UndoStep.self) { step, _ in seen.record("\(step) \(store.model.title)") })
    edit { $0.title = "x" }
    await history.undo(mode: mode).settled()
    await history.redo(mode: mode).settled()
    #expect(seen.all == ["undo ", "redo x"])
  }

  @Test func middlewareSeesTheStepAndMayVetoIt() async {
    let (store, history) = makeHistory()
    edit { $0.title = "x" }
    let hook = dispatcher.register(.before(UndoStep.self) { _, _ in .veto(reason: "locked") })
    let result = await history.undo().result
    #expect(result.dispatchError?.code == .vetoed)
    #expect(store.model.title == "x" && history.canUndo)
    dispatcher.unregister(middleware: hook)
    await history.undo().ended()
    #expect(store.model.title == "")
  }

  @Test func withoutADispatcherAnUndoEndsWithAnErrorThatNamesTheStores() async {
    let store = makeStore()
    let history = UndoHistory(of: store)
    store.updateModel { $0.title = "x" }
    let result = await history.undo().result
    #expect(result.dispatchError?.code == .notRegistered)
    #expect(result.dispatchError?.storeIdentifiers == ["drawing"])
    #expect(store.model.title == "x")
  }

  @Test func aHistoryThatIsReleasedKeepsNothing() async {
    let store = register()
    weak var released: Token?
    do {
      let token = Token()
      released = token
      let history = UndoHistory(
        of: store,
        groupedBy: { _ in
          withExtendedLifetime(token) {}
          return nil
        })
      edit { $0.title = "x" }
      #expect(history.canUndo)
    }
    edit { $0.title = "y" }
    #expect(released == nil)
    #expect(!store.storage.isObserved)
  }

  @Test(arguments: Way.all)
  func aHistoryMayBeReleasedInAReducer(way: Way) async {
    let store = register()
    let history = Locked<UndoHistory?>(UndoHistory(of: store))
    edit { $0.shapes[1] = Shape(x: 1) }
    let last = Edit { drawing in
      drawing.title = "released"
      withExtendedLifetime(history.exchange(nil)) {}
    }
    await dispatcher.run(last, way)
    #expect(store.model.title == "released" && store.model.shapes[1]?.x == 1)
    #expect(!store.storage.isObserved)
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .serial(lane: "a")])
  func anUndoThatWaitsWhenItsHistoryIsReleasedOverwritesNothing(mode: Dispatcher.Mode) async {
    let store = register()
    var history: UndoHistory? = UndoHistory(of: store)
    edit { $0.title = "one" }
    edit { $0.title = "two" }
    dispatcher.queue.isSuspended = true
    let undo = history?.undo(mode: mode)
    history = nil
    store.updateModel { $0.title = "three" }
    dispatcher.queue.isSuspended = false
    #expect(await undo?.result.isSuccess == true)
    #expect(store.model.title == "three" && store.version == 3)
    #expect(!store.storage.isObserved)
  }

  @Test func changesOfManyThreadsAreUndoneInTheirOrder() async {
    let stores = ["a", "b"].map { register($0) }
    let history = UndoHistory(of: stores[0], stores[1], limit: 10_000)
    await withTaskGroup { group in
      for task in 0..<4 {
        group.addTask { [dispatcher] in
          for number in 0..<100 {
            let name = "\(task)-\(number)"
            switch task {
            case 0: dispatcher.dispatch(MoveAll(shape: number % 3, by: 1), mode: .sync)
            case 1:
              await dispatcher.send(Edit { $0.shapes[number % 3]?.name = name })
            default:
              await dispatcher.send(
                Edit { $0.title = name }, to: task == 2 ? "a" : "b", mode: .serial(lane: task))
            }
          }
        }
      }
    }
    let last = stores.map(\.model)
    while history.canUndo { await history.undo().ended() }
    #expect(stores.allSatisfy { $0.model == Drawing() })
    while history.canRedo { await history.redo().ended() }
    #expect(stores.map(\.model) == last)
  }

  @Test(arguments: Way.all)
  func anUndoOfPersistentStoresIsSavedAsOneCommit(way: Way) async throws {
    let (database, first) = (MemoryDatabase(), Dispatcher(name: "first"))
    try await run(database, first, edits: 2) { stores, history in
      #expect(await history.undo(mode: way.mode).result.isSuccess)
      #expect(stores.map { $0.model.shapes[1]?.x } == [1, 1, 1])
    }
    try await run(database, Dispatcher(name: "second"), edits: 0) { stores, _ in
      #expect(stores.map { $0.model.shapes[1]?.x } == [1, 1, 1])
      #expect(stores.map(\.version) == [3, 3, 3])
    }
  }

  @Test(arguments: [false, true])
  func aHistoryOfAStoreBeginsAnewWhenItsStateIsLoaded(byElements: Bool) async throws {
    let (database, form) =
      (MemoryDatabase(), { byElements ? .elements(\.shapes) : .model })
      as (MemoryDatabase, () -> PersistedForm<Drawing>)
    func start(_ store: DrawingStore, _ name: String) async throws -> (Dispatcher, Persistence) {
      let dispatcher = Dispatcher(name: name)
      let persistence = try await database.open(for: dispatcher)
      try await dispatcher.register(store: store, persisted: form())
      return (dispatcher, persistence)
    }
    let (first, persistence) = try await start(makeStore(), "first")
    await first.send(MoveAll(shape: 1, by: 42))
    try await persistence.close()
    let store = makeStore()
    let history = UndoHistory(of: store)
    store.updateModel { $0.title = "before it was loaded" }
    let (second, _) = try await start(store, "second")
    #expect(!history.canUndo)
    await second.send(MoveAll(shape: 1, by: 1))
    await history.undo().ended()
    #expect(store.model.shapes[1]?.x == 42 && !history.canUndo)
    await history.redo().ended()
    #expect(store.model.shapes[1]?.x == 43)
  }

  /// There is nothing to load, but from now on the store undoes changes of its dictionary in place.
  @Test(arguments: [true, false])
  func aHistoryOfAStoreBeginsAnewWhenADictionaryIsNamed(isSaved: Bool) async throws {
    let store = makeStore(undoesInPlace: false)
    let history = UndoHistory(of: store)
    store.updateModel { $0.title = "before" }
    #expect(history.canUndo)
    let dispatcher =
      isSaved ? Dispatcher(name: "studio") : Dispatcher(name: "studio", persistence: nil)
    if isSaved { try await MemoryDatabase().open(for: dispatcher) }
    try await dispatcher.register(store: store, persisted: .elements(\.shapes))
    #expect(!history.canUndo)
    await dispatcher.send(Edit { $0.shapes[1] = Shape(x: 1) })
    #expect(await history.undo().result.isSuccess)
    #expect(store.model.shapes.isEmpty && store.model.title == "before")
    #expect(await history.redo().result.isSuccess)
    #expect(store.model.shapes[1]?.x == 1)
  }

  private func run(
    _ database: MemoryDatabase, _ dispatcher: Dispatcher, edits: Int,
    _ body: ([DrawingStore], UndoHistory) async throws -> Void
  ) async throws {
    let persistence = try await database.open(for: dispatcher)
    var stores: [DrawingStore] = []
    for name in ["a", "b", "c"] {
      stores.append(
        try await dispatcher.register(store: makeStore(name), persisted: .elements(\.shapes)))
    }
    let history = UndoHistory(of: stores[0], stores[1], stores[2])
    for _ in 0..<edits { await dispatcher.send(MoveAll(shape: 1, by: 1)) }
    try await body(stores, history)
    await dispatcher.drain()
    try await persistence.close()
  }
}

private final class Token: Sendable {}
