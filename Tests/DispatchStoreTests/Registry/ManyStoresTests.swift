import DispatchStore
import Testing

@Suite("Many stores", .timeLimit(.minutes(10)))
struct ManyStoresTests {
  /// One action type for each three digits: a thousand.
  private struct Numbered<A: Digit, B: Digit, C: Digit>: ActionType {}

  private final class NumberedReducer<A: Digit, B: Digit, C: Digit>:
    Reducer<Int, Numbered<A, B, C>>
  {
    override func reduce(into model: inout Int, action: Numbered<A, B, C>) { model += 1 }
  }

  private static func name(_ a: Int, _ b: Int, _ c: Int) -> String { "\(a)\(b)\(c)" }

  private static func register(
    _ a: some Digit, _ b: some Digit, _ c: some Digit, in dispatcher: Dispatcher
  ) {
    let name = name(a.value, b.value, c.value)
    dispatcher.register(store: makeStore(a, b, c, name))
  }

  private static func makeStore<A: Digit, B: Digit, C: Digit>(
    _ a: A, _ b: B, _ c: C, _ name: String
  ) -> Store<Int, Numbered<A, B, C>> {
    Store(identifier: name, model: 0, reducer: NumberedReducer<A, B, C>())
  }

  private static func dispatch<A: Digit, B: Digit, C: Digit>(
    _ a: A, _ b: B, _ c: C, in dispatcher: Dispatcher, mode: Dispatcher.Mode
  ) -> DispatchHandle {
    dispatcher.dispatch(action: Numbered<A, B, C>(), mode: mode)
  }

  private static func forEachNumber(_ body: (any Digit, any Digit, any Digit) -> Void) {
    for a in digits { for b in digits { for c in digits { body(a, b, c) } } }
  }

  /// More than a thread keeps routes of; each time with an identifier made anew, and in another order.
  @Test func namedStoresAreEachReachedAndReleasedWhereTheyAreUnregistered() {
    let (dispatcher, count) = (Dispatcher(), Load.count(10_000))
    var order = Array(0..<count)
    for index in order {
      dispatcher.register(store: .counter("the store of the account with number \(index)"))
    }
    var random = SystemRandomNumberGenerator()
    for _ in 0..<3 {
      order.shuffle(using: &random)
      for index in order {
        dispatcher.dispatch(
          storeIdentifier: "the store of the account with number \(index)",
          action: CounterAction.add(index), mode: .sync)
      }
    }
    weak var last: CounterStore?
    var wrong = 0
    for index in 0..<count {
      let store =
        dispatcher.unregister(
          storeIdentifier: "the store of the account with number \(index)") as? CounterStore
      if store?.model.count != 3 * index { wrong += 1 }
      last = store
    }
    #expect(wrong == 0)
    #expect(last == nil)
  }

  /// Strings are equal by what they show, whatever their bytes.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func aStoreIsGoneForEachWayToWriteItsIdentifier(_ mode: Dispatcher.Mode) async {
    let (dispatcher, ways) = (Dispatcher(), ["caf\u{E9}", "cafe\u{301}"])
    for registered in ways {
      dispatcher.register(store: CounterStore.counter(registered))
      for way in ways + ways {
        let handle = dispatcher.dispatch(
          storeIdentifier: way, action: CounterAction.add(1), mode: mode)
        #expect(await handle.result.isSuccess)
      }
      weak let store = dispatcher.unregister(storeIdentifier: registered) as? CounterStore
      // In other modes a thread of the queue may be about to release it.
      if mode == .sync { #expect(store == nil) }
      for way in ways {
        let handle = dispatcher.dispatch(
          storeIdentifier: way, action: CounterAction.add(1), mode: mode)
        #expect(await handle.result.errorCode == .unknownStore)
      }
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func ofAsManyActionTypesAreEachReachedByTheirOwn(_ mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    Self.forEachNumber { a, b, c in Self.register(a, b, c, in: dispatcher) }
    #expect(dispatcher.stores.count == 1_000)
    var handles: [(String, DispatchHandle)] = []
    Self.forEachNumber { a, b, c in
      let name = Self.name(a.value, b.value, c.value)
      handles.append((name, Self.dispatch(a, b, c, in: dispatcher, mode: mode)))
    }
    for (name, handle) in handles {
      let result = await handle.result
      #expect(result.isSuccess)
      #expect(result.stores.map(\.storeIdentifier) == [name])
    }
    #expect(dispatcher.stores.allSatisfy { $0.version == 1 })
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func ofOneActionTypeAreReachedByNameOrAllTogether(_ mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let stores = (0..<1_000).map { dispatcher.register(store: .counter("\($0)")) }
    let stage = dispatcher.addStage()
    for index in stride(from: 0, to: 1_000, by: 10) {
      let result = await dispatcher.dispatch(
        storeIdentifier: "\(index)", action: CounterAction.add(index), mode: mode
      ).result
      #expect(result.stores.map(\.storeIdentifier) == ["\(index)"])
    }
    for (index, store) in stores.enumerated() {
      #expect(store.model.count == (index.isMultiple(of: 10) ? index : 0))
    }
    let result = await dispatcher.dispatch(action: CounterAction.note("all"), mode: mode).result
    #expect(result.isSuccess)
    #expect(result.stores.map(\.storeIdentifier) == (0..<1_000).map { "\($0)" })
    #expect(stores.allSatisfy { $0.model.notes == ["all"] })
    #expect(stage.version == 0)
  }
}

/// A type for each digit.
private protocol Digit: Sendable {
  var value: Int { get }
}

private struct D0: Digit { let value = 0 }
private struct D1: Digit { let value = 1 }
private struct D2: Digit { let value = 2 }
private struct D3: Digit { let value = 3 }
private struct D4: Digit { let value = 4 }
private struct D5: Digit { let value = 5 }
private struct D6: Digit { let value = 6 }
private struct D7: Digit { let value = 7 }
private struct D8: Digit { let value = 8 }
private struct D9: Digit { let value = 9 }

private let digits: [any Digit] = [D0(), D1(), D2(), D3(), D4(), D5(), D6(), D7(), D8(), D9()]
