import DispatchStore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10)))
struct LastReferenceTests {
  private struct Reading: ActionType, Equatable { var value: Double }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anActionThatDoesNotEqualItselfIsAccepted(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let reducer = ClosureReducer<[Double], Reading> { action, store in
      ActionOperation(action: action, store: store) { action, store in
        store.updateModel { $0.append(action.value) }
      }
    }
    let store = dispatcher.register(store: Store(model: [], reducer: reducer))
    let result = await dispatcher.dispatch(action: Reading(value: .nan), mode: mode).result
    #expect(result.isSuccess)
    #expect(store.model.count == 1)
  }

  /// Cancels a dispatch when it is released.
  private final class CancelsLast: @unchecked Sendable {  // because it is set before it is used
    var handle: DispatchHandle?
    let hasCancelled: Latch

    init(_ hasCancelled: Latch) {
      self.hasCancelled = hasCancelled
    }

    deinit {
      handle?.cancel()
      hasCancelled.open()
    }
  }

  /// The operation holds the last reference to a weakly registered store, and so to its reducer's captures.
  @Test func whatGoesWithAnOperationMayCancelItsDispatch() async {
    await #expect(processExitsWith: .success) {
      alarm(20)
      let (dispatcher, hasCancelled) = (Dispatcher(), Latch())
      let (hasBegun, mayEnd) = (Latch(), Latch())
      let handle = Self.dispatch(
        through: dispatcher, CancelsLast(hasCancelled), hasBegun: hasBegun, mayEnd: mayEnd)
      mayEnd.open()
      await hasCancelled.opened()
      #expect(await handle.result.isSuccess)
    }
  }

  private static func dispatch(
    through dispatcher: Dispatcher, _ last: CancelsLast, hasBegun: Latch, mayEnd: Latch
  ) -> DispatchHandle {
    let reducer = ClosureReducer<Int, Ping> { action, store in
      ActionOperation(action: action, store: store) { _, _ in
        hasBegun.open()
        mayEnd.wait()
        withExtendedLifetime(last) {}
      }
    }
    let store = ProbeStore(identifier: "weak", model: 0, reducer: reducer)
    dispatcher.register(store: store, ownership: .weak)
    let handle = dispatcher.dispatch(action: Ping(), mode: .async)
    last.handle = handle
    hasBegun.wait()
    return withExtendedLifetime(store) { handle }
  }
}
