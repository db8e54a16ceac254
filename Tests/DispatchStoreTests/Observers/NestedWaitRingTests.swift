import DispatchStore
import Foundation
import Testing

/// Rings of turns and handles that close through something third: a sequence, a `waitFor`, a lane.
///
/// Each test runs in its own process, which an alarm ends where a ring did close.
@Suite(.timeLimit(.minutes(10)))
struct NestedWaitRingTests {
  /// The change of a nested sequence is left to the thread that then waits for the sequence.
  @Test func aNotifierMayWaitForASequenceThatLeftItsChangeToIt() async {
    await #expect(processExitsWith: .success) {
      alarm(20)
      let (dispatcher, outcomes) = (Dispatcher(), Recorder<Bool>())
      let store = dispatcher.addProbe("s", to: Recorder())
      let token = store.observe(.model) { change in
        guard change.version == 1 else { return }
        let handle = dispatcher.dispatch(actions: [Ping()], mode: .sync)
        dispatcher.dispatch(Ping(), mode: .sync, options: .after(handle)) {
          outcomes.record($0.isSuccess)
        }
      }
      dispatcher.dispatch(action: Ping(), mode: .sync)
      #expect(await outcomes.first(1) == [true])
      #expect(store.model == 3)
      withExtendedLifetime(token) {}
    }
  }

  /// Another store waits for the one whose change was left, and the notifier for both.
  @Test func aNotifierMayWaitForStoresBehindAChangeThatWasLeftToIt() async {
    await #expect(processExitsWith: .success) {
      alarm(20)
      let (dispatcher, outcomes) = (Dispatcher(), Recorder<Bool>())
      let store = dispatcher.addProbe("s", to: Recorder())
      let behind = dispatcher.addProbe("behind", waitFor: ["s"], to: Recorder())
      let token = store.observe(.model) { change in
        guard change.version == 1 else { return }
        let handle = dispatcher.dispatch(action: Ping(), mode: .sync)
        store.dispatch(Ping(), mode: .sync, options: .after(handle)) {
          outcomes.record($0.isSuccess)
        }
      }
      dispatcher.dispatch(action: Ping(), mode: .sync)
      #expect(await outcomes.first(1) == [true])
      #expect((store.model, behind.model) == (3, 2))
      withExtendedLifetime(token) {}
    }
  }

  /// A lane is held by a dispatch whose change is left to a thread that waits for the next in the lane.
  @Test func aNotifierMayWaitForWhatStandsBehindAChangeThatIsLeftToIt() async {
    await #expect(processExitsWith: .success) {
      alarm(20)
      let (dispatcher, outcomes) = (Dispatcher(), Recorder<Bool>())
      let (isNotifying, stage) = (Latch(), dispatcher.addStage("observed"))
      let other = dispatcher.addProbe("other", to: Recorder())
      // Holds the lane until the notifier has its turn, then leaves its change to it.
      let holder = Script.suspends("holder") { store in
        await isNotifying.opened()
        store.updateModel { $0.append("left") }
      }
      stage.dispatch(holder, mode: .serial)
      let next = other.dispatch(Ping(), mode: .serial)
      let token = stage.observe(.model) { change in
        guard change.version == 1 else { return }
        isNotifying.open()
        other.dispatch(Ping(), mode: .sync, options: .after(next)) {
          outcomes.record($0.isSuccess)
        }
      }
      stage.updateModel { $0.append("observed") }
      #expect(await outcomes.first(1) == [true])
      #expect(stage.model == ["observed", "left"])
      withExtendedLifetime(token) {}
    }
  }
}
