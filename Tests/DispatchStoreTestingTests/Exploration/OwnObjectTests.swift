import DispatchStore
import DispatchStoreTesting
import Synchronization
import Testing

/// Races between a call of the library and an object of the program that is used next.
@Suite("Own objects beside stores", .timeLimit(.minutes(5)))
struct OwnObjectTests {
  struct Missed: Error {}

  enum Race: CaseIterable {
    case dispatchThenKeepTheHandle, commitThenMark, sendThenMark, readThenWait

    func run(_ dispatcher: Dispatcher) async throws {
      let (own, missed) = (Mark(), Mark())
      let store = dispatcher.register(
        store: Store(identifier: "stock", model: 0) {
          On(Put.self) { stock, _ in stock += 1 }
          Perform(Look.self) { _, _ in if !own.isSet { missed.set() } }
          Perform(Commit.self) { _, context in
            try context.updateModel { $0 += 1 }
            own.set()
          }
        })
      switch self {
      case .dispatchThenKeepTheHandle:
        let handle = dispatcher.dispatch(Look())
        own.set()
        await handle.ended()
      case .commitThenMark, .sendThenMark:
        async let reader: Void = { if store.model > 0, !own.isSet { missed.set() } }()
        if self == .commitThenMark {
          await dispatcher.send(Commit())
        } else {
          await dispatcher.send(Put())
          own.set()
        }
        await reader
      case .readThenWait:
        let waits = Mark()
        async let waiter: Void = {
          if store.model == 0 {
            own.set()
            waits.set()
          }
        }()
        await dispatcher.send(Put())
        let isWoken = own.isSet
        await waiter
        if waits.isSet, !isWoken { missed.set() }
      }
      if missed.isSet { throw Missed() }
    }
  }

  /// A switch between the return of a call and the program's next access shows them.
  @Test(arguments: Race.allCases)
  func aRaceOfAnOwnObjectWithACallThatHasReturnedIsFound(race: Race) async throws {
    let failure = await #expect(throws: ExplorationFailure.self) {
      try await explore(seeds: 0..<1_000) { try await race.run($0) }
    }
    #expect(failure?.failure.message == "Missed()")
  }
}

private struct Put: ActionType {}
private struct Look: ActionType {}
private struct Commit: ActionType {}

private final class Mark: Sendable {
  private let value = Mutex(false)

  var isSet: Bool { value.withLock { $0 } }
  func set() { value.withLock { $0 = true } }
}
