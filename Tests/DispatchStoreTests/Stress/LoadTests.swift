import DispatchStore
import Foundation
import Testing

@Suite("Load", .serialized, .timeLimit(.minutes(10)))
struct LoadTests {
  private final class Tally: Middleware {
    let will = Recorder<TransactionID>()
    let did = Recorder<TransactionID>()

    func willDispatch(
      transaction: DispatchTransaction, action: AnyAction, in store: AnyStore
    ) -> MiddlewareVerdict {
      will.record(transaction.id)
      return .pass
    }

    func didDispatch(
      transaction: DispatchTransaction, action: AnyAction, in store: AnyStore
    ) {
      did.record(transaction.id)
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func tenThousandFromEightThreadsOverEightStoresLoseNothing(_ mode: Dispatcher.Mode) async {
    let t0 = ContinuousClock.now; let (threads, actions, stores) = (8, 1_250, 8)
    let (dispatcher, tally) = (Dispatcher(), Tally())
    dispatcher.register(middleware: tally)
    let counters = (0..<stores).map { index in
      // Each waits for the one after it, or for the last one: registered later.
      dispatcher.register(
        store: .counter("\(index)"),
        waitFor: index == stores - 1 ? .none : ["\(index + 1)", "\(stores - 1)"])
    }
    let heard = counters.map { _ in Recorder<UInt64>() }
    let tokens = zip(counters, heard).map { counter, heard in
      counter.observe { heard.record($0.version) }
    }
    let completions = Recorder<TransactionID>()
    await onOwnThreads(threads) { _ in
      for _ in 0..<actions {
        dispatcher.dispatch(action: CounterAction.add(1), mode: mode) { result in
          #expect(result.isSuccess)
          completions.record(result.transaction)
        }
      }
    }
    print("ISSUED", mode, ContinuousClock.now - t0)
    let total = threads * actions
    let ended = await completions.first(total); print("ENDED", mode, ContinuousClock.now - t0)
    #expect(Set(ended).count == total)
    #expect(completions.count == total)
    #expect(counters.map(\.model.count) == Array(repeating: total, count: stores))
    for versions in heard { #expect(versions.all == (1...UInt64(total)).map { $0 }) }
    for told in [tally.will, tally.did] {
      #expect(told.count == total * stores)
      #expect(Set(told.all) == Set(ended))
    }
    for token in tokens { token.cancel() }
  }
}
