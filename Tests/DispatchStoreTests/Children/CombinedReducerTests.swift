import DispatchStore
import Testing

/// Says that it changes nothing where its name is in the action's; fails where the action's begins with that.
private final class NamedReducer: Reducer<[String], Ping> {
  private let name: String
  private let helper: Reducer<[String], Ping>?

  init(_ name: String, calling helper: Reducer<[String], Ping>? = nil) {
    self.name = name
    self.helper = helper
  }

  override func reduce(into model: inout [String], action: Ping) throws {
    try helper?.reduce(into: &model, action: action)
    if action.name.contains(name) { unchanged() } else { model.append(name) }
    if action.name.hasPrefix("!" + name) { throw PingFailure() }
  }
}

@Suite("Combined and wrapped reducers", .timeLimit(.minutes(10)))
struct CombinedReducerTests {
  private typealias NamedStore = Store<[String], Ping>
  private let dispatcher = Dispatcher()

  private func store(_ reducer: sending Reducer<[String], Ping>) -> NamedStore {
    dispatcher.register(store: NamedStore(model: [], reducer: reducer))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func runInOrderAsOneCommit(mode: Dispatcher.Mode) async {
    let store = store(
      CombinedReducer(
        NamedReducer("a"), CombinedReducer(NamedReducer("b"), NamedReducer("c")), NamedReducer("d"))
    )
    let models = Recorder<[String]>()
    let token = store.observe(.model) { models.record($0.value) }
    #expect(await store.dispatch(Ping(), mode: mode).result.isSuccess)
    #expect(models.all == [["a", "b", "c", "d"]])
    #expect(store.version == 1)
    withExtendedLifetime(token) {}
  }

  @Test(arguments: [false, true])
  func changeNothingWhereEachOfThemSaysSo(isObserved: Bool) {
    let store = store(
      CombinedReducer(
        NamedReducer("a"), CombinedReducer(NamedReducer("b"), CombinedReducer()), NamedReducer("c"))
    )
    let models = Recorder<[String]>()
    let token = isObserved ? store.observe(.model) { models.record($0.value) } : nil
    for name in ["abc", "ab", "bc", "ac", "abc", "c"] {
      store.dispatch(Ping(name: name), mode: .sync)
    }
    #expect(store.version == 4)
    #expect(store.model == ["c", "a", "b", "a", "b"])
    #expect(models.count == (isObserved ? 4 : 0))
    withExtendedLifetime(token) {}
  }

  @Test func countWhatEachSaysOfItsOwnCallAlone() {
    // What the first's helper says is not about the second, which is the same.
    let helper = NamedReducer("h")
    let store = store(CombinedReducer(NamedReducer("a", calling: helper), helper))
    store.dispatch(Ping(name: "h"), mode: .sync)
    #expect(store.version == 1)
    store.dispatch(Ping(name: "a"), mode: .sync)
    #expect(store.version == 2)
    store.dispatch(Ping(name: "ah"), mode: .sync)
    #expect(store.version == 2)
    #expect(store.model == ["a", "h", "h"])
  }

  @Test func endWithTheFirstThatThrows() {
    let store = store(CombinedReducer(NamedReducer("a"), NamedReducer("b"), NamedReducer("c")))
    let result = store.dispatch(Ping(name: "!b"), mode: .sync).resultIfEnded
    #expect(result?.error is PingFailure)
    #expect(store.model == ["a"])
    #expect(store.version == 1, "What was changed before is committed.")
    let unchanged = store.dispatch(Ping(name: "!ba"), mode: .sync).resultIfEnded
    #expect(unchanged?.error is PingFailure)
    #expect(store.version == 1, "Both have said that they changed nothing.")
  }

  @Test func notifyObserversUnlessOneOfThemSaysNo() {
    final class Discreet: Reducer<[String], Ping> {
      override func reduce(into model: inout [String], action: Ping) { model.append("d") }
      override func shouldNotifyObservers(for action: Ping, in store: NamedStore) -> Bool {
        action.name != "secret"
      }
    }
    let store = store(
      WrappedReducer(CombinedReducer(NamedReducer("a"), Discreet())) { try $2(&$0, $1) })
    let models = Recorder<[String]>()
    let token = store.observe(.model) { models.record($0.value) }
    store.dispatch(Ping(name: "secret"), mode: .sync)
    store.dispatch(Ping(name: "a"), mode: .sync)
    #expect(models.all == [["a", "d", "d"]])
    withExtendedLifetime(token) {}
  }

  @Test func wrappedOnesAreCalledByTheClosureAroundThem() {
    let store = store(
      WrappedReducer(NamedReducer("a")) { model, action, reduce in
        if action.name == "reset" {
          model = []
          return true
        }
        let before = model
        guard try reduce(&model, action) else { return false }
        if action.name == "twice" { _ = try reduce(&model, action) }
        model.append("\(before.count)")
        return true
      })
    for name in ["", "a", "twice"] { store.dispatch(Ping(name: name), mode: .sync) }
    #expect(store.model == ["a", "0", "a", "a", "2"])
    #expect(store.version == 2)
    store.dispatch(Ping(name: "reset"), mode: .sync)
    #expect(store.model == [])
    #expect(store.version == 3)
  }

  @Test func wrappedOnesThatThrowCommitUnlessTheReducerHasThrownAndChangedNothing() {
    let store = store(
      WrappedReducer(CombinedReducer(NamedReducer("a"), NamedReducer("b"))) {
        model, action, reduce in
        if action.name == "throw" { throw PingFailure() }
        if action.name.hasSuffix("twice") { _ = try reduce(&model, Ping()) }
        let isChanged = try reduce(&model, action)
        if action.name.hasSuffix("throw") { throw PingFailure() }
        return isChanged
      })
    for (name, isCommit) in [
      ("!a", false), ("!ba", false), ("!b", true), ("!a twice", true), ("throw", true),
      ("ab throw", true),
    ] {
      let version = store.version
      #expect(store.dispatch(Ping(name: name), mode: .sync).resultIfEnded?.error is PingFailure)
      #expect(store.version == version + (isCommit ? 1 : 0), "\(name)")
    }
  }

  @Test func wrappedOnesOfAPartThatIsGoneCommitNothing() {
    let shop = dispatcher.register(
      store: ShopStore(
        model: Shop(),
        reducer: WrappedReducer<Shop, ShopAction>(
          PartReducer(unwrapping: \.session, action: \.session, reducer: SessionReducer())
        ) { try $2(&$0, $1) }))
    let result = shop.dispatch(.session(.rename("ann")), mode: .sync).resultIfEnded
    #expect(result?.dispatchError?.code == .partMissing)
    #expect(shop.version == 0)
  }
}
