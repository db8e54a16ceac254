import DispatchStore
import Foundation
import Testing

/// Waits that block all threads that the system has for tasks.
///
/// In processes of their own, from which they take these threads.
@Suite("Waits on threads for tasks", .serialized, .timeLimit(.minutes(1)))
struct TaskThreadWaitTests {
  @Test func throughAHandleForALaneThatASentDispatchHoldsAreRefused() async {
    await #expect(processExitsWith: .success) {
      await TaskThreads().block {
        $0.wait()
      } inner: {
        waitBlocking(for: $0)
      }
    }
    await #expect(processExitsWith: .success) {
      await TaskThreads().block {
        $0.wait()
      } inner: {
        await $0.result
      }
    }
  }

  @Test func throughASyncDispatchForALaneThatASentDispatchHoldsAreRefused() async {
    await #expect(processExitsWith: .success) {
      let threads = TaskThreads()
      await threads.block {
        threads.runAfter($0)
      } inner: {
        threads.runAfter($0)
      }
    }
    await #expect(processExitsWith: .success) {
      let threads = TaskThreads()
      await threads.block {
        threads.runAfter($0)
      } inner: {
        await $0.result
      }
    }
  }

  @Test func throughADispatchThatIsScheduledLaterAreRefused() async {
    await #expect(processExitsWith: .success) {
      await TaskThreads().block(options: .delayed(by: .milliseconds(1))) {
        $0.wait()
      } inner: {
        await $0.result
      }
    }
  }

  @Test func throughADispatchThatComesToItsGateAreRefused() async {
    await #expect(processExitsWith: .success) {
      await TaskThreads().block(isGated: true) {
        $0.wait()
      } inner: {
        await $0.result
      }
    }
  }
}

/// As synchronous code in a block does.
private func waitBlocking(for handle: DispatchHandle) -> DispatchResult { handle.wait() }

private struct TaskThreads {
  let dispatcher = Dispatcher()

  init() {
    dispatcher.addStage()
    dispatcher.addStage("other")
  }

  /// Waits by a `.sync` dispatch that is to run after another one.
  func runAfter(_ handle: DispatchHandle) -> DispatchResult {
    dispatcher.dispatch(
      action: Script.adds("after"), mode: .sync, options: .after(handle)
    ).resultIfEnded!
  }

  /// While a task has a lane, or a key, more tasks than there are threads for them wait for blocks that wait for it.
  func block(
    isGated: Bool = false, options: DispatchOptions = [],
    outer: @escaping @Sendable (DispatchHandle) -> DispatchResult,
    inner: @escaping @Sendable (DispatchHandle) async -> DispatchResult
  ) async {
    let (held, free, codes) = (Latch(), Latch(), Recorder<DispatchError.Code?>())
    let (dispatcher, lane) = (dispatcher, Dispatcher.Mode.serial(lane: "held"))
    let holder = Task {
      let holds = Script.holds(opening: held, until: free)
      return await dispatcher.send(
        holds, to: "stage", mode: isGated ? .async : lane,
        options: isGated ? .exclusive("key") : .after())
    }
    await held.opened()
    let waits = Script.suspends { _ in
      // Once all threads are blocked.
      let handle = dispatcher.dispatch(
        storeIdentifier: "other", action: Script.adds("inner"), mode: isGated ? .async : lane,
        options: [options, isGated ? .exclusive("key") : .after()])
      codes.record(await inner(handle).errorCode)
    }
    let count = 2 * ProcessInfo.processInfo.activeProcessorCount
    await withTaskGroup { group in
      for _ in 0..<count {
        group.addTask {
          codes.record(
            outer(dispatcher.dispatch(storeIdentifier: "other", action: waits)).errorCode)
        }
      }
    }
    precondition(codes.all.contains(.wouldDeadlock), "\(codes.all)")
    free.open()
    let result = await holder.value
    precondition(result.isSuccess)
  }
}
