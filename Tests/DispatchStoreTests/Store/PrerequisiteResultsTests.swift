import DispatchStore
import Foundation
import Testing

/// A store that runs regardless reads how those ended that it waits for.
@Suite(.timeLimit(.minutes(10)))
struct PrerequisiteResultsTests {
  private let dispatcher = Dispatcher()
  private let read = Recorder<String>()

  /// Registers "first", which finishes, "second", which fails, and "audit", which reads how both ended.
  private func register(_ style: OperationStyle) {
    let read = read
    for (identifier, fails) in [("first", false), ("second", true)] {
      dispatcher.register(
        store: ProbeStore(
          identifier: identifier, model: 0,
          reducer: ApplyingReducer { _, _ in if fails { throw StageFright() } }))
    }
    let reducer = style.reducer { store in
      for result in store.prerequisiteResults {
        read.record("\(result.storeIdentifier) \(result.outcome.isFinished)")
      }
    }
    dispatcher.register(
      store: ProbeStore(identifier: "audit", model: 0, reducer: reducer),
      waitFor: WaitFor(["first", "second"], runsRegardless: true))
  }

  @Test(arguments: Dispatcher.Mode.everyMode, OperationStyle.allCases)
  func areThoseOfThePresentDispatch(_ mode: Dispatcher.Mode, _ style: OperationStyle) async {
    register(style)
    for _ in 0..<2 {
      let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
      #expect(result["audit"].isFinished == true)
    }
    let expected = ["first true", "second false"]
    #expect(read.all == expected + expected)
  }

  @Test func areEmptyOutsideAndForAnotherStore() async {
    register(.returning)
    #expect((dispatcher.store(with: "audit") as? ProbeStore)?.prerequisiteResults.isEmpty == true)
  }
}
