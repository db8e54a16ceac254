import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// No thread of a lane, or of the concurrent queue, waits for a delivery turn: changes are left to the notifier.
///
/// Each test runs in a separate process, which an alarm ends where a thread did wait.
@Suite(.timeLimit(.minutes(10)))
struct LeftChangeTests {
  /// With one thread, an action of another store runs while the first one's change is not delivered.
  @Test(arguments: 0..<3)
  func anotherStoresActionsRunMeanwhile(mode: Int) async {
    await #expect(processExitsWith: .success) { [mode] in
      alarm(60)
      let (mode, held) = (scheduledModes[mode], HeldStore(width: 1))
      let other = held.dispatcher.register(store: .counter("other"))
      await held.begin()
      let handles = (0..<10).map { _ in held.dispatch(mode) }
      let ends = Recorder<Bool>()
      for number in 0..<10 {
        other.dispatch(.add(1), mode: number % 2 == 0 ? .async : .serial(lane: number)) {
          ends.record($0.isSuccess)
        }
      }
      #expect(await ends.first(10) == Array(repeating: true, count: 10))
      #expect(!handles.contains { $0.hasEnded })
      held.end()
      for handle in handles { #expect(await handle.result.isSuccess) }
      #expect(held.delivered.all == Array(1...11))
    }
  }

  @Test(arguments: 0..<4)
  func whatFollowsIsAfterTheDelivery(mode: Int) async {
    await #expect(processExitsWith: .success) { [mode] in
      alarm(60)
      let modes = scheduledModes + [.mainThread]
      let (mode, held, steps) = (modes[mode], HeldStore(), Recorder<String>())
      held.dispatcher.register(
        middleware: RecordingMiddleware(did: { _, _, _ in steps.record("did") }))
      let token = held.store.observe(.model) { if $0.version == 2 { steps.record("delivered") } }
      let returned = Latch()
      held.afterCommit { returned.open() }
      await held.begin()
      let handle = held.dispatch(mode) { _ in steps.record("completion") }
      await returned.opened()
      #expect(steps.all.isEmpty && !handle.hasEnded)
      held.end()
      #expect(await handle.result.isSuccess)
      #expect(steps.all == ["delivered", "did", "completion"])
      token.cancel()
    }
  }

  /// The changes of those that have begun are left, and no other begins.
  @Test(arguments: 0..<3)
  func noFurtherActionOfTheStoreStartsMeanwhile(mode: Int) async {
    await #expect(processExitsWith: .success) { [mode] in
      alarm(60)
      let (mode, held) = (scheduledModes[mode], HeldStore(width: 1))
      let first = await held.leaveOne(mode)
      let others = (0..<20).map { _ in held.dispatch(.serial(lane: UUID())) }
      // Behind them all on the one thread.
      await held.runAnother(.async)
      await held.runAnother(.serial(lane: "x"))
      #expect(held.store.version == 2)
      // One that is cancelled does not wait either.
      others[0].cancel()
      #expect(await others[0].result.isSuccess == false)
      held.end()
      for handle in [first] + others[1...] { #expect(await handle.result.isSuccess) }
      #expect(held.delivered.all == Array(1...21))
    }
  }

  @Test(arguments: [false, true], [false, true])
  func theTimeForWhichAnActionIsHeldBackCountsAsQueued(isInLane: Bool, hasStoreHooks: Bool) async {
    await #expect(processExitsWith: .success) { [isInLane, hasStoreHooks] in
      alarm(60)
      let clock = VirtualClock()
      let held = HeldStore(width: 1, clock: clock)
      let first = await held.leaveOne(.serial)
      let infos = Recorder<DispatchInfo>()
      held.dispatcher.register(
        middleware: EndHook(hasStoreHooks ? .all : .dispatches) { info, _ in infos.record(info) })
      let handle = held.dispatch(isInLane ? .serial(lane: "behind") : .async)
      // Behind it on the one thread.
      await held.runAnother(.async)
      await held.runAnother(.serial(lane: "x"))
      clock.advance(by: .seconds(1))
      held.end()
      for handle in [first, handle] { #expect(await handle.result.isSuccess) }
      let own = infos.all.first { $0.id == handle.dispatchID }
      #expect(own?.timeQueued == Duration.seconds(1) && own?.duration == Duration.zero)
    }
  }

  /// Its thread is not missing meanwhile.
  @Test(arguments: 0..<3)
  func anOperationThatHasLeft64Waits(mode: Int) async {
    await #expect(processExitsWith: .success) { [mode] in
      alarm(60)
      let (mode, held) = (scheduledModes[mode], HeldStore(width: 1))
      let other = held.dispatcher.register(store: .counter("other"))
      let commits = Recorder<Int>()
      held.commits = 100
      held.afterCommit { commits.record(0) }
      await held.begin()
      let handle = held.dispatch(mode)
      _ = await commits.first(64)
      #expect(await other.dispatch(.add(1), mode: .async).result.isSuccess)
      #expect(await other.dispatch(.add(1), mode: .serial(lane: "other")).result.isSuccess)
      #expect(commits.count == 64)
      held.end()
      #expect(await handle.result.isSuccess)
      #expect(held.delivered.all == Array(1...101))
    }
  }

  /// Each commit is left, and held back.
  @Test(arguments: 0..<3)
  func anOperationDoesNotWaitForChangesThatAStreamHoldsBack(mode: Int) async {
    await #expect(processExitsWith: .success) { [mode] in
      alarm(60)
      let (mode, held, commits) = (scheduledModes[mode], HeldStore(), Recorder<Int>())
      var changes = held.store.stream(.model, initial: true, buffering: .suspending(0))
        .makeAsyncIterator()
      _ = await changes.next()
      held.commits = 60
      held.afterCommit { commits.record(0) }
      await held.begin()
      let handle = held.dispatch(mode)
      _ = await commits.first(60)
      held.end()
      for _ in 0...60 { _ = await changes.next() }
      #expect(await handle.result.isSuccess)
    }
  }

  /// It returns although more was left than it delivers for others; a job delivers the rest.
  @Test func aNotifierThatHasDelivered64OfOthersHandsTheRestOver() async {
    await #expect(processExitsWith: .success) {
      alarm(60)
      let (held, more) = (HeldStore(width: 2), Latch())
      let commits = Recorder<Int>()
      held.commits = 60
      held.afterCommit { commits.record(0) }
      let token = held.store.observe(.model) { if $0.version == 66 { more.wait() } }
      // Both have begun before the first leaves a change.
      let (begun, proceed) = (Recorder<Int>(), Latch())
      held.beforeCommits {
        begun.record(0)
        proceed.wait()
      }
      let handles = (0..<2).map { held.dispatch(.serial(lane: $0)) }
      _ = await begun.first(2)
      await held.begin()
      proceed.open()
      _ = await commits.first(120)
      held.end()
      await held.returned.opened()
      #expect(held.delivered.count == 65 || held.delivered.count == 66)
      more.open()
      for handle in handles { #expect(await handle.result.isSuccess) }
      #expect(held.delivered.all == Array(1...121))
      token.cancel()
    }
  }

  /// Behind what was left to it; two hundred are more than start in one batch, and the commits of the first ones are
  /// left to the notifier as well.
  @Test(arguments: 0..<3, [1, 200])
  func aNotifierMayWaitForTheLastOfTheActionsThatAreHeldBack(mode: Int, count: Int) async {
    await #expect(processExitsWith: .success) { [mode, count] in
      alarm(60)
      await waitInTheNotifier(forTheLastOf: count, behind: scheduledModes[mode])
    }
  }

  /// As on the thread that made the change, had that been the notifier.
  @Test(arguments: 0..<3)
  func anObserverThatWaitsForTheDispatchWhoseChangeItGetsIsRefused(mode: Int) async {
    await #expect(processExitsWith: .success) { [mode] in
      alarm(60)
      let (mode, held) = (scheduledModes[mode], HeldStore())
      let other = held.dispatcher.register(store: .counter("other"))
      let (returned, handle) = (Latch(), Recorder<DispatchHandle>())
      let ends = Recorder<DispatchError.Code?>()
      held.afterCommit { returned.open() }
      let token = held.store.observe(.model) { change in
        guard change.version == 2 else { return }
        other.dispatch(.add(1), mode: .sync, options: .after(handle.all[0])) {
          ends.record($0.dispatchError?.code)
        }
      }
      await held.begin()
      handle.record(held.dispatch(mode))
      await returned.opened()
      held.end()
      #expect(await ends.first(1) == [.wouldDeadlock])
      #expect(await handle.all[0].result.isSuccess)
      token.cancel()
    }
  }

  /// What is held back is an action that has not started.
  @Test(arguments: 0..<3)
  func whatIsHeldBackDoesNotStartWhileTheQueueIsSuspended(mode: Int) async {
    await #expect(processExitsWith: .success) { [mode] in
      alarm(60)
      let (mode, held) = (scheduledModes[mode], HeldStore(width: 1))
      let first = await held.leaveOne(mode)
      let behind = (0..<3).map { _ in held.dispatch(.serial(lane: UUID())) }
      // The thread comes to this one after those.
      await held.runAnother(.serial(lane: UUID()))
      held.dispatcher.queue.isSuspended = true
      held.end()
      #expect(await first.result.isSuccess)
      for _ in 0..<20 { await held.runAnother(.mainThread) }
      #expect(held.store.version == 2)
      held.dispatcher.queue.isSuspended = false
      for handle in behind { #expect(await handle.result.isSuccess) }
    }
  }

  /// Its turn has come, so that only the suspended queue still holds its start back.
  @Test(arguments: 0..<3)
  func whatIsHeldBackAndCancelledEndsWhileTheQueueIsSuspended(mode: Int) async {
    await #expect(processExitsWith: .success) { [mode] in
      alarm(60)
      let (mode, held) = (scheduledModes[mode], HeldStore(width: 1))
      let first = await held.leaveOne(mode)
      let behind = (0..<3).map { _ in held.dispatch(.serial(lane: UUID())) }
      // Parked once this returns.
      let sent = Task.immediate {
        await held.dispatcher.send(Ping(), to: "held", mode: .serial(lane: "sent")).isSuccess
      }
      // The thread comes to this one after those.
      await held.runAnother(.serial(lane: UUID()))
      held.dispatcher.queue.isSuspended = true
      held.end()
      #expect(await first.result.isSuccess)
      await held.returned.opened()
      for handle in behind { handle.cancel() }
      for handle in behind { #expect(await handle.result.isSuccess == false) }
      sent.cancel()
      #expect(await sent.value == false)
      #expect(held.store.version == 2)
      held.dispatcher.queue.isSuspended = false
      await held.runAnother(.async)
      #expect(await held.dispatch(.serial(lane: "sent")).result.isSuccess)
    }
  }

  /// Its end needs no place of the queue.
  @Test func whatIsHeldBackAndCancelledEndsWhileAHandlerBlocksAllPlaces() async {
    await #expect(processExitsWith: .success) {
      alarm(60)
      let (held, began, free) = (HeldStore(width: 1), Latch(), Latch())
      held.dispatcher.addStage()
      let first = await held.leaveOne(.async)
      let behind = held.dispatch(.async)
      // The thread comes to this one after that.
      let script = Script.blocks(opening: began, until: free)
      let blocking = held.dispatcher.dispatch(script, mode: .async)
      await began.opened()
      behind.cancel()
      #expect(await behind.result["held"].isCancelled == true)
      free.open()
      held.end()
      #expect(await first.result.isSuccess)
      #expect(await blocking.result.isSuccess)
      #expect(held.store.version == 2)
    }
  }

  /// None of its stores has started: the other one was vetoed.
  @Test(arguments: 0..<3)
  func whatIsHeldBackAndCancelledRunsNoStoreThatRunsRegardless(mode: Int) async {
    await #expect(processExitsWith: .success) { [mode] in
      alarm(60)
      let mode = scheduledModes[mode]
      let held = HeldStore(width: 1, waitFor: WaitFor(["vetoed"], runsRegardless: true))
      held.dispatcher.addProbe("vetoed", to: Recorder<String>())
      held.dispatcher.register(
        middleware: RecordingMiddleware(will: { _, _, store in
          store.identifier == "vetoed" ? .veto(reason: "closed") : .pass
        }))
      let first = await held.leaveOne(mode)
      let behind = held.dispatcher.dispatch(action: Ping(), mode: .serial(lane: UUID()))
      // The thread comes to this one after that.
      await held.runAnother(.serial(lane: UUID()))
      behind.cancel()
      #expect(await behind.result["held"].isCancelled == true)
      held.end()
      #expect(await first.result.isSuccess)
      #expect(held.store.version == 2)
    }
  }

  /// Thousands that are held back start as others have started, and none is forgotten.
  @Test func allThatAreHeldBackStartAfterwards() async {
    await #expect(processExitsWith: .success) {
      alarm(60)
      let held = HeldStore()
      let first = await held.leaveOne(.async)
      let behind = (0..<2_000).map { held.dispatch($0 % 2 == 0 ? .async : .serial(lane: $0)) }
      for handle in behind.prefix(500) { handle.cancel() }
      held.end()
      #expect(await first.result.isSuccess)
      for handle in behind[500...] { #expect(await handle.result.isSuccess) }
    }
  }

  /// None of them takes the next one inside its own call: the thread's stack would not hold so many.
  @Test func anyNumberOfThoseThatAreHeldBackMayBeCancelled() async {
    await #expect(processExitsWith: .success) {
      alarm(60)
      let held = HeldStore(width: 1)
      let first = await held.leaveOne(.async)
      let behind = (0..<20_000).map { held.dispatch(.serial(lane: $0)) }
      let last = held.dispatch(.serial(lane: "last"))
      // The thread comes to this one after those.
      await held.runAnother(.serial(lane: "x"))
      for handle in behind { handle.cancel() }
      for handle in behind { #expect(await handle.result.isSuccess == false) }
      held.end()
      #expect(await first.result.isSuccess)
      #expect(await last.result.isSuccess)
      #expect(held.store.version == 3)
    }
  }

  /// What an observer dispatches is caused by the change that it was notified of.
  @Test(arguments: 0..<3)
  func anObserverIsCalledInTheContextOfTheChange(mode: Int) async {
    await #expect(processExitsWith: .success) { [mode] in
      alarm(60)
      let (mode, held, parents) = (scheduledModes[mode], HeldStore(), Recorder<DispatchID?>())
      let other = held.dispatcher.register(store: .counter("other"))
      held.dispatcher.register(
        middleware: RecordingMiddleware(will: { context, action, _ in
          if action is CounterAction { parents.record(context.parent) }
          return .pass
        }))
      let token = held.store.observe(.model) { change in
        if change.version == 2 { other.dispatch(.add(1), mode: .sync) }
      }
      let handle = await held.leaveOne(mode)
      held.end()
      #expect(await handle.result.isSuccess)
      #expect(parents.all == [handle.dispatchID])
      token.cancel()
    }
  }

  /// Callers from outside, and of `.sync`, have their changes delivered when they return.
  @Test func callersThatWaitAnywayWaitForTheTurn() async {
    await #expect(processExitsWith: .success) {
      alarm(60)
      let (held, committed) = (HeldStore(), Recorder<Int>())
      held.afterCommit { committed.record(held.delivered.count) }
      await held.begin()
      async let synchronous: Void = onOwnThread { _ = held.dispatch(.sync) }
      async let outside: Int = onOwnThread {
        held.store.updateModel { $0 += 1 }
        return held.delivered.count
      }
      while held.store.version < 3 { await Task.yield() }
      held.end()
      #expect(await outside >= 2)
      await synchronous
      #expect(committed.all[0] >= 2)
    }
  }
}

private let scheduledModes = Dispatcher.Mode.offMainModes

/// Lets a notifier wait for the last of so many actions, which are held back behind one that has left it a change.
private func waitInTheNotifier(forTheLastOf count: Int, behind mode: Dispatcher.Mode) async {
  let held = HeldStore(width: 1)
  let other = held.dispatcher.register(store: .counter("other"))
  let (returned, behind) = (Latch(), Recorder<DispatchHandle>())
  held.afterCommit { returned.open() }
  let ends = Recorder<Bool>()
  let token = held.store.observe(.model) { change in
    guard change.version == 1 else { return }
    other.dispatch(.add(1), mode: .sync, options: .after(behind.all[count - 1])) {
      ends.record($0.isSuccess)
    }
  }
  await held.begin()
  let first = held.dispatch(mode)
  await returned.opened()
  for _ in 0..<count { behind.record(held.dispatch(.serial(lane: UUID()))) }
  // All have been held back by the time that the one thread comes to this one.
  await held.runAnother(.serial(lane: "x"))
  held.end()
  #expect(await ends.first(1) == [true])
  #expect(await first.result.isSuccess)
  for handle in behind.all { #expect(await handle.result.isSuccess) }
  await held.returned.opened()
  #expect(await held.delivered.first(count + 2) == Array(1...count + 2))
  token.cancel()
}

/// A store whose notifier, an outside thread, is held in its first delivery.
private final class HeldStore: @unchecked Sendable {
  // because what changes is set before anything is dispatched
  let dispatcher: Dispatcher
  let delivered = Recorder<Int>()
  let returned = Latch()
  var commits = 1
  private(set) var store: ProbeStore!
  private var tokens: [ObserverToken] = []
  private let (entered, proceed) = (Latch(), Latch())
  private var before: @Sendable () -> Void = {}
  private var after: @Sendable () -> Void = {}

  init(width: Int? = nil, waitFor: WaitFor = [], clock: (any Clock<Duration>)? = nil) {
    dispatcher = Dispatcher(clock: clock)
    if let width { dispatcher.queue.maxConcurrentOperationCount = width }
    let reducer = ApplyingReducer { [unowned self] action, store in
      guard action.name.isEmpty else { return }
      before()
      for _ in 0..<commits {
        store.updateModel { $0 += 1 }
        after()
      }
    }
    store = dispatcher.register(
      store: ProbeStore(identifier: "held", model: 0, reducer: reducer), waitFor: waitFor)
    dispatcher.register(store: .counter("counter"))
    tokens = [
      store.observe(.model) { [entered, proceed, delivered] change in
        if change.version == 1 {
          entered.open()
          proceed.wait()
        }
        delivered.record(change.value)
      }
    ]
  }

  func beforeCommits(_ body: @escaping @Sendable () -> Void) { before = body }
  func afterCommit(_ body: @escaping @Sendable () -> Void) { after = body }

  /// Another thread commits, and is held.
  func begin() async {
    let thread = Thread { [store, returned] in
      store!.updateModel { $0 += 1 }
      returned.open()
    }
    thread.start()
    await entered.opened()
  }

  /// The same, and an action leaves it a change.
  func leaveOne(_ mode: Dispatcher.Mode) async -> DispatchHandle {
    let committed = Latch()
    afterCommit { committed.open() }
    await begin()
    let handle = dispatch(mode)
    await committed.opened()
    return handle
  }

  /// Lets it go on.
  func end() { proceed.open() }

  /// Runs an action of another store.
  func runAnother(_ mode: Dispatcher.Mode) async {
    _ = await dispatcher.dispatch(action: CounterAction.add(1), mode: mode).result
  }

  func dispatch(
    _ mode: Dispatcher.Mode, then completion: (@Sendable (DispatchResult) -> Void)? = nil
  ) -> DispatchHandle {
    store.dispatch(Ping(), mode: mode, then: completion)
  }
}
