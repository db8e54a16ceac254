import DispatchStore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10)))
struct AtomicDeliveryTests {
  @Test(arguments: Way.all)
  func anObserverMayDispatchToAnotherStoreOfTheAction(way: Way) async {
    let (ledger, seen) = (AtomicLedger(), Recorder<String>())
    let dispatcher = ledger.dispatcher
    let tokens = ledger.stores.map { store in
      store.observe(.model) { change in
        seen.record("\(store.identifier) \(change.version)")
        guard store.identifier == "a" else { return }
        dispatcher.dispatch(Shift(amount: 10), to: "b", mode: .sync)
        dispatcher.dispatch(Shift(amount: 10), to: "c", mode: .sync, options: .atomic)
      }
    }
    #expect(await ledger.shift(Shift(), .option, way).isSuccess)
    #expect(seen.all == ["a 1", "b 1", "b 2", "c 1", "c 2"])
    #expect(ledger.models == [1, 11, 11])
    withExtendedLifetime(tokens) {}
  }

  /// A thread notifies the observers of the first store, and has not returned.
  @Test(arguments: [Dispatcher.Mode.async, .serial, .serial(lane: 1)], [false, true])
  func anActionWhoseChangesAreLeftEndsAfterTheirDelivery(mode: Dispatcher.Mode, sends: Bool) async {
    let (ledger, steps) = (AtomicLedger(), Recorder<String>())
    let held = HeldObserver(of: ledger.stores[0])
    await held.begin()
    let token = ledger.stores[0].observe(.model) { steps.record("a \($0.value)") }
    let other = ledger.stores[1].observe(.model) { steps.record("b \($0.value)") }
    ledger.dispatcher.register(middleware: RecordingMiddleware(to: steps))
    let result = Task { await ledger.shift(Shift(), .option, Way(mode: mode, sends: sends)) }
    await steps.untilRecorded { $0 == "b 1" }
    #expect(!steps.all.contains("m did a") && !steps.all.contains("m did b"))
    held.end()
    #expect(await result.value.isSuccess)
    #expect(
      steps.all.suffix(4) == ["a 8", "m did a", "m did b", "m did c"], "\(steps.all)")
    withExtendedLifetime((token, other)) {}
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .serial(lane: 1)], [false, true])
  func anActionThatIsHeldBackByAStoreEntersNoSection(mode: Dispatcher.Mode, sends: Bool) async {
    for fails in [nil, "c"] {
      let reduced = Recorder<String>()
      let ledger = AtomicLedger { store, _, shift in if shift.amount == 1 { reduced.record(store) }
      }
      let held = HeldObserver(of: ledger.stores[1])
      await held.begin()
      // Its change is left, and holds others back.
      let left = ledger.dispatcher.dispatch(Shift(amount: 0), to: "b", mode: .serial(lane: "left"))
      while ledger.stores[1].version < 2 { await Task.yield() }
      let result = Task {
        await ledger.shift(
          Shift(failsIn: fails), .option, Way(mode: mode, sends: sends), options: .named("atomic"))
      }
      while ledger.dispatcher.dispatches(named: "atomic").isEmpty { await Task.yield() }
      ledger.stores[0].updateModel { $0 += 100 }
      #expect(reduced.count == 0)
      held.end()
      #expect(await result.value.isSuccess == (fails == nil))
      #expect(await left.result.isSuccess)
      #expect(ledger.models == (fails == nil ? [101, 8, 1] : [100, 7, 0]))
    }
  }

  @Test(arguments: Way.all)
  func aSuspendingStreamGetsEachCommit(way: Way) async {
    let ledger = AtomicLedger()
    let streams = ledger.stores.map { $0.stream(.model, buffering: .suspending(1)) }
    let readers = streams.map { stream in
      Task {
        var models: [Int] = []
        for await change in stream {
          models.append(change.value)
          if change.version == 5 { break }
        }
        return models.count
      }
    }
    for _ in 0..<5 { #expect(await ledger.shift(Shift(), .option, way).isSuccess) }
    for reader in readers { #expect(await reader.value == 5) }
  }

  @Test func actionsInOppositeOrdersDoNotDeadlock() async {
    let dispatcher = Dispatcher()
    struct Forth: AtomicAction {}
    struct Back: AtomicAction { let fails: Bool }
    let names = ["a", "b", "c", "d"]
    let stores = names.enumerated().map { index, name in
      dispatcher.register(
        store: Store(identifier: name, model: 0) {
          On(withoutReply: Forth.self) { model, _ in model += 1 }
          On(withoutReply: Back.self) { model, back in
            model -= 1
            if back.fails, name == "a" { throw ShiftFailure() }
          }
        }, waitFor: [])
    }
    let tokens = stores.map { store in
      store.observe(.model) { change in
        if change.value == 100 { dispatcher.dispatch(Back(fails: true), mode: .sync) }
      }
    }
    await onOwnThreads(4) { index in
      for round in 0..<500 {
        if index % 2 == 0 {
          dispatcher.dispatch(Forth(), mode: .sync)
        } else {
          dispatcher.dispatch(Back(fails: round % 3 == 0), mode: .sync)
        }
        let snapshot = dispatcher.snapshot(stores[0], stores[1], stores[2], stores[3])
        let (a, b, c, d) = snapshot.models
        precondition(a == b && b == c && c == d, "\(snapshot.models)")
      }
    }
    let models = stores.map(\.model)
    #expect(models == Array(repeating: 2 * 167, count: 4))
    withExtendedLifetime(tokens) {}
  }

  /// Commits an action while another thread has the turn of one of its stores.
  private func shift(
    _ ledger: AtomicLedger, whileAnotherHasTheTurnOf store: Store<Int, HandledAction>
  ) async {
    let held = HeldObserver(of: store)
    await held.begin()
    async let shifted: Void = onOwnThread {
      _ = ledger.dispatcher.dispatch(Shift(), mode: .sync, options: .atomic)
    }
    while store.version < 2 { await Task.yield() }
    held.end()
    await shifted
  }

  /// Another thread has the turn of the store when the section's end calls the hook or the completion.
  @Test(arguments: [false, true])
  func codeAtTheSectionsEndMayChangeAStoreOfTheAction(isCompletion: Bool) async {
    struct Note: ActionType {}
    let (dispatcher, stray) = (Dispatcher(), CounterStore.counter("stray"))
    @Sendable func change() { dispatcher.dispatch(Shift(amount: 10), to: "a", mode: .sync) }
    let ledger = AtomicLedger(dispatcher: dispatcher) { store, _, shift in
      guard store == "a", shift.amount == 1 else { return }
      if isCompletion {
        stray.dispatch(.add(1)) { _ in change() }
      } else {
        dispatcher.dispatch(Note())
      }
    }
    dispatcher.register(
      store: Store(identifier: "notes", model: 0) {
        On(withoutReply: Note.self) { notes, _ in notes += 1 }
      })
    dispatcher.register(
      .before(Note.self) { _, _ in
        change()
        return .pass
      })
    await shift(ledger, whileAnotherHasTheTurnOf: ledger.stores[0])
    #expect(ledger.models == [18, 1, 1])
  }

  /// Another thread has the turn of the store when the action commits.
  @Test func anObserverMayWaitForACommitToAnotherStoreOfTheAction() async {
    let ledger = AtomicLedger()
    let dispatcher = ledger.dispatcher
    let token = ledger.stores[0].observe(.model) { _ in
      dispatcher.dispatch(Shift(amount: 10), to: "b", mode: .serial).wait()
    }
    await shift(ledger, whileAnotherHasTheTurnOf: ledger.stores[1])
    #expect(ledger.models == [1, 18, 1])
    withExtendedLifetime(token) {}
  }

  @Test func reducersThatHideTheirCommitsAreObeyed() async {
    let (dispatcher, seen) = (Dispatcher(), Recorder<Int>())
    let store = dispatcher.registerQuiet()
    let token = store.observe(.model) { seen.record($0.value) }
    let way = Way(mode: .async, sends: false)
    for isHidden in [false, true, false] {
      await dispatcher.add(1, isHidden: isHidden, by: way, isAtomic: true)
    }
    #expect(seen.all == [1, 3] && store.version == 3)
    withExtendedLifetime(token) {}
  }
}

/// An observer that a thread of its own notifies of a first commit, until it may return.
private final class HeldObserver: Sendable {
  private let store: Store<Int, HandledAction>
  private let (begun, mayEnd, hasEnded) = (Latch(), Latch(), Latch())
  private let token = Recorder<ObserverToken>()

  init(of store: Store<Int, HandledAction>) {
    self.store = store
    token.record(
      store.observe(.model) { [begun, mayEnd] change in
        if change.version > 1 { return }
        begun.open()
        mayEnd.wait()
      })
  }

  func begin() async {
    Thread.detachNewThread { [store, hasEnded] in
      store.updateModel { $0 = 7 }
      hasEnded.open()
    }
    await begun.opened()
  }

  func end() { mayEnd.open() }
}
