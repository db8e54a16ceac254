import Testing

@testable import DispatchStore

@Suite("Identifiers of stores that are gone", .timeLimit(.minutes(10)))
struct ForgottenIdentifierTests {
  private let dispatcher = Dispatcher()

  private var identifierCount: Int { dispatcher.registry.withLock { $0.identifierCount } }

  @Test func areForgotten() {
    let count = Load.count(10_000)
    for index in 0..<count {
      let store = dispatcher.register(store: .counter("\(index)"))
      dispatcher.unregister(store: store)
    }
    #expect(identifierCount == 0)
  }

  /// Also where nothing is dispatched to them, or registered under their identifiers again.
  @Test func areForgottenAfterAReleaseOnceOthersAreRegistered() {
    let kept = (0..<100).map {
      dispatcher.register(store: .counter("kept \($0)"), ownership: .weak)
    }
    let count = Load.count(10_000)
    for index in 0..<count { dispatcher.register(store: .counter("\(index)"), ownership: .weak) }
    #expect(identifierCount <= 2 * kept.count + 65)
    for store in kept { #expect(dispatcher.store(with: store.identifier) === store) }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func areRememberedWhileAStoreDeclaresThem(mode: Dispatcher.Mode) async {
    let steps = Recorder<String>()
    let gone = dispatcher.addProbe("gone", to: steps)
    let a = dispatcher.addProbe("a", waitFor: ["gone"], to: steps)
    dispatcher.unregister(store: gone)
    #expect(await dispatcher.dispatch(action: Ping(), mode: mode).result.isSuccess)
    dispatcher.unregister(store: a)
    #expect(identifierCount == 0)
    dispatcher.register(store: a, waitFor: ["gone"])
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(result.errorCode == .unknownStore)
  }
}
