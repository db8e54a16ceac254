import DispatchStore
import Foundation
import Testing

/// A notifier that waits inside the library holds up no thread: no ring of turns and handles closes.
///
/// Each test runs in its own process, which an alarm ends where a ring did close.
@Suite(.timeLimit(.minutes(10)))
struct NotifierRingTests {
  /// The observer's `.sync` dispatch waits for a callback, or runs the jobs of an `async` block, that commits to its store.
  @Test(arguments: [OperationStyle.callback, .suspending])
  func anOperationMayCommitToTheStoreWhoseNotifierWaitsForIt(style: OperationStyle) async {
    await #expect(processExitsWith: .success) { [style] in
      alarm(20)
      let dispatcher = Dispatcher()
      let steps = Recorder<String>()
      let store = dispatcher.addProbe("s", style: style, to: steps)
      let (before, after) = (Recorder<Int>(), Recorder<Int>())
      let results = Recorder<DispatchResult>()
      let tokens = [
        store.observe(.model) { before.record($0.value) },
        store.observe(.model) { change in
          guard change.value == 100 else { return }
          dispatcher.dispatch(Ping(), mode: .sync) { results.record($0) }
        },
        store.observe(.model) { after.record($0.value) },
      ]
      store.updateModel { $0 = 100 }
      #expect(before.all == [100, 101])
      #expect(after.all == [100, 101])
      #expect(await results.first(1)[0].isSuccess)
      #expect(steps.all == ["+s", "-s"])
      withExtendedLifetime(tokens) {}
    }
  }

  /// The observer of what a callback commits waits for the operation, which that callback finishes afterwards.
  @Test(arguments: 0..<4)
  func anObserverOfACallbacksChangeThatWaitsForItsOperationIsRefused(mode: Int) async {
    await #expect(processExitsWith: .success) { [mode] in
      alarm(20)
      let mode = Dispatcher.Mode.queuedModes[mode]
      let dispatcher = Dispatcher()
      let store = dispatcher.addProbe("s", style: .callback, to: Recorder())
      let other = dispatcher.register(store: .counter("other"))
      let (handles, ends) = (Recorder<DispatchHandle>(), Recorder<DispatchError.Code?>())
      let token = store.observe(.model) { _ in
        handles.waitFor(1)
        other.dispatch(.add(1), mode: .sync, options: .after(handles.all[0])) {
          ends.record($0.dispatchError?.code)
        }
      }
      handles.record(dispatcher.dispatch(action: Ping(), mode: mode))
      #expect(await ends.first(1) == [.wouldDeadlock])
      #expect(await handles.all[0].result.isSuccess)
      token.cancel()
    }
  }

  /// A thread that waits for the turn when the notifier begins to wait leaves its change and returns.
  @Test func aThreadThatWaitsForTheTurnLeavesWhenTheNotifierWaits() async {
    await #expect(processExitsWith: .success) {
      alarm(20)
      let dispatcher = Dispatcher()
      let store = CounterStore.counter("s")
      let reducer = ClosureReducer<Int, Ping> { action, other in
        ActionOperation(action: action, store: other) { operation, _, _ in
          // Its commit to the observer's store, then the end, are on another thread.
          Thread {
            store.updateModel { $0.count += 1 }
            operation.finish()
          }.start()
        }
      }
      dispatcher.register(store: ProbeStore(model: 0, reducer: reducer))
      let received = Recorder<Int>()
      let tokens = [
        store.observe(.model) { change in
          guard change.value.count == 100 else { return }
          dispatcher.dispatch(action: Ping(), mode: .sync)
          #expect(store.model.count == 101)
        },
        store.observe(.model) { received.record($0.value.count) },
      ]
      await onOwnThread { store.updateModel { $0.count = 100 } }
      #expect(received.all == [100, 101])
      withExtendedLifetime(tokens) {}
    }
  }

  /// Two notifiers, each of which dispatches `.sync` to the other's store, meet.
  @Test func twoNotifiersMayDispatchToEachOthersStores() async {
    await #expect(processExitsWith: .success) {
      alarm(20)
      let dispatcher = Dispatcher()
      let a = dispatcher.register(store: .counter("a"))
      let b = dispatcher.register(store: .counter("b"))
      let met = Recorder<String>()
      let (receivedA, receivedB) = (Recorder<Int>(), Recorder<Int>())
      let ends = Recorder<Bool>()
      let tokens = [
        a.observe(.model) { change in
          guard change.version == 1 else { return }
          met.record("a")
          met.waitFor(2)
          b.dispatch(.add(10), mode: .sync) { ends.record($0.isSuccess) }
          #expect(b.model.count == 11)
        },
        b.observe(.model) { change in
          guard change.version == 1 else { return }
          met.record("b")
          met.waitFor(2)
          a.dispatch(.add(10), mode: .sync) { ends.record($0.isSuccess) }
          #expect(a.model.count == 11)
        },
        a.observe(.model) { receivedA.record($0.value.count) },
        b.observe(.model) { receivedB.record($0.value.count) },
      ]
      await onOwnThreads(2) { ($0 == 0 ? a : b).updateModel { $0.count = 1 } }
      #expect(await receivedA.first(2) == [1, 11])
      #expect(await receivedB.first(2) == [1, 11])
      #expect(await ends.first(2) == [true, true])
      withExtendedLifetime(tokens) {}
    }
  }

  /// The dispatch that the notifier waits for commits to the notifier's store.
  @Test(arguments: [false, true])
  func waitingForADispatchThatLeavesItsChangeHereEnds(commitsFirst: Bool) async {
    await #expect(processExitsWith: .success) { [commitsFirst] in
      alarm(20)
      let dispatcher = Dispatcher()
      let entered = Latch()
      let proceed = Latch()
      let reducer = ClosureReducer<Int, Ping> { action, store in
        ActionOperation(action: action, store: store) { _, store in
          if !commitsFirst { proceed.wait() }
          store.updateModel {
            $0 += 1
            entered.open()
          }
        }
      }
      let store = dispatcher.register(
        store: ProbeStore(identifier: "s", model: 0, reducer: reducer))
      dispatcher.register(store: .counter("other"))
      let received = Recorder<Int>()
      let ends = Recorder<String>()
      let tokens = [
        store.observe(.model) { change in
          guard change.version == 1 else { return }
          let handle = dispatcher.dispatch(action: Ping(), mode: .async) { ends.record("left") }
          if commitsFirst { entered.wait() } else { proceed.open() }
          dispatcher.dispatch(
            action: CounterAction.add(1), mode: .sync, options: .after(handle)
          ) { ends.record("waiter") }
        },
        store.observe(.model) { received.record($0.value) },
      ]
      await onOwnThread { store.updateModel { $0 = 100 } }
      #expect(await received.first(2) == [100, 101])
      #expect(Set(await ends.first(2)) == ["left", "waiter"])
      withExtendedLifetime(tokens) {}
    }
  }

  /// Each of two notifiers waits for a dispatch whose change is left to the other one.
  @Test func notifiersMayWaitForDispatchesThatLeaveTheirChangesToEachOther() async {
    await #expect(processExitsWith: .success) {
      alarm(20)
      let dispatcher = Dispatcher()
      dispatcher.queue.maxConcurrentOperationCount = 2
      let a = dispatcher.register(store: .counter("a"))
      let b = dispatcher.register(store: .counter("b"))
      dispatcher.addProbe("other", to: Recorder())
      let met = Recorder<String>()
      let ends = Recorder<String>()
      let (receivedA, receivedB) = (Recorder<Int>(), Recorder<Int>())
      let meet: @Sendable (CounterStore) -> Void = { store in
        met.record("here")
        met.waitFor(2)
        let handle = store.dispatch(.add(10), mode: .async) { _ in ends.record("left") }
        dispatcher.dispatch(action: Ping(), mode: .sync, options: .after(handle)) {
          ends.record("waiter")
        }
      }
      let tokens = [
        a.observe(.model) { if $0.version == 1 { meet(b) } },
        b.observe(.model) { if $0.version == 1 { meet(a) } },
        a.observe(.model) { receivedA.record($0.value.count) },
        b.observe(.model) { receivedB.record($0.value.count) },
      ]
      await onOwnThreads(2) { ($0 == 0 ? a : b).updateModel { $0.count = 1 } }
      #expect(await receivedA.first(2) == [1, 11])
      #expect(await receivedB.first(2) == [1, 11])
      #expect(await ends.first(4).sorted() == ["left", "left", "waiter", "waiter"])
      withExtendedLifetime(tokens) {}
    }
  }
}
